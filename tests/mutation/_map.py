"""Which tests reach which lines, and how long each of them takes."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pytest
from coverage import Coverage, CoverageData

# No test in particular: what a line does while modules are imported and tests collected.
AT_IMPORT = ""


@dataclass(frozen=True)
class TestMap:
    """What a run of the unchanged code has shown."""

    __test__ = False

    coverage: Path
    durations_s: dict[str, float]
    _by_line: dict[Path, dict[int, set[str]]] = field(default_factory=dict[Path, dict[int, set[str]]])

    @cached_property
    def _data(self) -> CoverageData:
        data = CoverageData(str(self.coverage))
        data.read()
        return data

    def tests_by_line(self, path: Path) -> dict[int, set[str]]:
        """The ids of the tests that run each line of a file; `AT_IMPORT` stands for its import."""
        if path not in self._by_line:
            found = self._data.contexts_by_lineno(str(path))
            self._by_line[path] = {line: set(ids) for line, ids in found.items()}
        return self._by_line[path]

    def without(self, names: set[str]) -> TestMap:
        """The same, but for some tests."""
        left = {name: took for name, took in self.durations_s.items() if name not in names}
        return TestMap(self.coverage, left, self._by_line)


class _Recorder:
    """Gives each test a context of its own in the coverage data."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self.durations_s: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context(AT_IMPORT)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.durations_s[report.nodeid] = self.durations_s.get(report.nodeid, 0.0) + report.duration
        if report.failed or report.skipped:
            self.failed.add(report.nodeid)


def record(out: Path, measured: Iterable[Path], tests: Sequence[str]) -> None:
    """Run tests under coverage and keep what they reach. For a process of its own: it imports the code.

    Args:
        out: A folder, which gets `coverage` and `tests.json`.
        measured: The folders whose lines count.
        tests: What pytest is given: files, folders, node ids.

    Raises:
        SystemExit: pytest could not run, as with an error in a test file.
    """
    out.mkdir(parents=True, exist_ok=True)
    data = out / "coverage"
    data.unlink(missing_ok=True)
    coverage = Coverage(data_file=str(data), source=[str(folder) for folder in measured], config_file=False)
    recorder = _Recorder(coverage)
    coverage.start()
    code = pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", "-rN", *tests], plugins=[recorder])
    coverage.stop()
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit(f"pytest ended with {code}: the tests have to run on the unchanged code first")
    coverage.save()
    # A test that fails or skips on the unchanged code says nothing about a mutant.
    kept = {name: round(took, 4) for name, took in recorder.durations_s.items() if name not in recorder.failed}
    (out / "tests.json").write_text(json.dumps(kept), encoding="utf-8")


def load(out: Path) -> TestMap:
    """What `record` has kept in a folder."""
    return TestMap(out / "coverage", json.loads((out / "tests.json").read_text(encoding="utf-8")))
