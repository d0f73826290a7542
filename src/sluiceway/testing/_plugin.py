"""The pytest plugin: both event loops by a marker, doubles as fixtures, order reports in a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final

import pytest

from sluiceway.engine import use_clock
from sluiceway.errors import ConfigurationError
from sluiceway.testing._doubles import AuditRecorder, FakeClock, RecordingProcessor
from sluiceway.testing._order_report import OrderFormat, OrderReport
from sluiceway.testing._permutations import permutations_of

__all__ = [
    "pytest_addoption",
    "pytest_configure",
    "pytest_pycollect_makeitem",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "sluiceway_audit",
    "sluiceway_clock",
    "sluiceway_order",
    "sluiceway_recorder",
]

MARKER: Final = "sluiceway_backends"
_FORMS: Final[dict[str, OrderFormat]] = {".json": "json", ".html": "html", ".htm": "html", ".txt": "text"}
_REPORTS: Final = pytest.StashKey[list[OrderReport]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--sluiceway-report`."""
    parser.getgroup("sluiceway").addoption(
        "--sluiceway-report",
        metavar="FILE",
        help="write the order reports of `sluiceway_order` to FILE: text (.txt), .json or .html",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker, and look at the name of the report's file."""
    config.addinivalue_line("markers", f"{MARKER}: run an async test on asyncio and on trio")
    config.stash[_REPORTS] = []
    path = config.getoption("--sluiceway-report")
    if path is not None and Path(path).suffix not in _FORMS:
        raise pytest.UsageError(f"--sluiceway-report {path}: the name has to end in one of {', '.join(_FORMS)}")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(obj: object) -> None:
    """Let anyio run a test that has the marker, once on each event loop."""
    if inspect.iscoroutinefunction(obj) and any(mark.name == MARKER for mark in getattr(obj, "pytestmark", ())):
        pytest.mark.anyio(obj)
        pytest.mark.usefixtures("anyio_backend")(obj)
        pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"], scope="module")(obj)


@pytest.fixture
def sluiceway_clock() -> Generator[FakeClock]:
    """A clock that everything in the test goes by; it passes only by sleeping and by `advance`."""
    fake = FakeClock()
    with use_clock(fake):
        yield fake


@pytest.fixture
def sluiceway_audit() -> AuditRecorder:
    """A recorder of what processors did, to be passed as `observer`."""
    return AuditRecorder()


@pytest.fixture
def sluiceway_recorder() -> RecordingProcessor:
    """A processor that records what each of its hooks was shown."""
    return RecordingProcessor()


@pytest.fixture
def sluiceway_order(request: pytest.FixtureRequest) -> Callable[..., OrderReport]:
    """`permutations_of`, of which the report also goes into the file of `--sluiceway-report`."""

    def order(chain: Any, texts: Any = None, *, examples: int = 100) -> OrderReport:
        report = permutations_of(chain, texts, examples=examples)
        request.config.stash[_REPORTS].append(report)
        return report

    return order


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report."""
    path = session.config.getoption("--sluiceway-report")
    reports = session.config.stash[_REPORTS]
    if path is None:
        return
    form = _FORMS[Path(path).suffix]
    told = [report.to(form) for report in reports]
    text = f"[{','.join(told)}]\n" if form == "json" else "\n".join(told)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"--sluiceway-report {path}: {error.strerror}") from error


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was found, one line for each list."""
    reports = config.stash[_REPORTS]
    if reports:
        terminalreporter.section("orders")
        for report in reports:
            terminalreporter.line(report.summary)
