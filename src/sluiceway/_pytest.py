"""The pytest plugin: both event loops by a marker, doubles as fixtures, order reports in a file.

Every run of pytest loads it where the package is installed, also one that has no use for it. So
the library itself is loaded when a test asks for something of it.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final

import pytest

from sluiceway.errors import ConfigurationError

__all__ = [
    "pytest_addoption",
    "pytest_configure",
    "pytest_pycollect_makeitem",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_testnodedown",
    "sluiceway_audit",
    "sluiceway_clock",
    "sluiceway_order",
    "sluiceway_recorder",
]

MARKER: Final = "sluiceway_backends"
_FORMS: Final = {".json": "json", ".html": "html", ".htm": "html", ".txt": "text"}
_KEY: Final = "sluiceway_reports"

_REPORTS: Final = pytest.StashKey["list[str]"]()
"""The reports as JSON, in which form a worker of pytest-xdist can hand them over."""


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


def _kit() -> Any:
    return importlib.import_module("sluiceway.testing")


@pytest.fixture
def sluiceway_clock() -> Generator[Any]:
    """A clock that everything in the test goes by; it passes only by sleeping and by `advance`."""
    fake = _kit().FakeClock()
    with importlib.import_module("sluiceway.engine").use_clock(fake):
        yield fake


@pytest.fixture
def sluiceway_audit() -> Any:
    """A recorder of what processors did, to be passed as `observer`."""
    return _kit().AuditRecorder()


@pytest.fixture
def sluiceway_recorder() -> Any:
    """A processor that records what each of its hooks was shown."""
    return _kit().RecordingProcessor()


@pytest.fixture
def sluiceway_order(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`permutations_of`, of which the report also goes into the file of `--sluiceway-report`."""

    def order(chain: Any, texts: Any = None, *, examples: int = 100, orders: int = 120) -> Any:
        report = _kit().permutations_of(chain, texts, examples=examples, orders=orders)
        request.config.stash[_REPORTS].append(report.to_json())
        return report

    return order


def _reports(config: pytest.Config) -> list[Any]:
    return [_kit().OrderReport.from_json(told) for told in config.stash[_REPORTS]]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the reports of a worker of pytest-xdist."""
    reports = getattr(node, "workeroutput", {}).get(_KEY, ())
    stash = node.config.stash
    stash[_REPORTS] = sorted([*stash[_REPORTS], *reports])  # workers end in any order


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report; a worker of pytest-xdist hands its part to who started it."""
    config: Any = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput[_KEY] = config.stash[_REPORTS]
        return
    path = config.getoption("--sluiceway-report")
    if path is None:
        return
    try:
        Path(path).write_text(_kit().tell_orders(_reports(config), _FORMS[Path(path).suffix]), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"--sluiceway-report {path}: {error.strerror}") from error


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was found, one line for each list."""
    if config.stash[_REPORTS]:
        terminalreporter.section("orders")
        for report in _reports(config):
            terminalreporter.line(report.summary)
