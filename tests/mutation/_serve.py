"""A pytest that runs some of its tests once for each mutant, in a process forked for it."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, FunctionType
from typing import BinaryIO, Literal

import pytest

from tests.mutation._mutants import Mutant

Kind = Literal["killed", "timeout", "survived", "not loaded"]

OPTIONS = ("-q", "-p", "no:cacheprovider", "--no-header", "-W", "ignore::pytest.PytestAssertRewriteWarning")

# How a process that tries a mutant ends; a signal other than that of the clock means killed.
SURVIVED, KILLED, NOT_APPLIED = 0, 1, 9

# A test may take a fixed time, and on top of it this many times what it took on the unchanged code.
LIMIT_FACTOR = 8.0


@dataclass(frozen=True)
class Planted:
    """A mutant and the whole file with it in."""

    mutant: Mutant
    source: str


@dataclass(frozen=True)
class Job:
    """Tests to try, on the code as it was imported or on a mutant of it."""

    id: str
    tests: Sequence[str]
    planted: Planted | None = None


@dataclass(frozen=True)
class Outcome:
    """How a job ended, and by which test."""

    id: str
    kind: Kind
    test: str | None


class Server:
    """A plugin that takes the place of pytest's loop over the tests.

    Args:
        jobs: What to try, one process each.
        durations_s: What each test takes on the unchanged code, in seconds.
        report: Called with each outcome as it comes.
        workers: How many processes at once.
        limit_s: The fixed part of what a test may take, in seconds.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        durations_s: Mapping[str, float],
        report: Callable[[Outcome], None],
        *,
        workers: int,
        limit_s: float,
    ) -> None:
        self._jobs = jobs
        self._durations_s = durations_s
        self._report = report
        self._workers = workers
        self._limit_s = limit_s
        self._running: dict[int, tuple[Job, BinaryIO]] = {}
        self._failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        functions = _functions()
        gc.collect()
        gc.freeze()
        for job in self._jobs:
            if len(self._running) >= self._workers:
                self._wait()
            self._start(job, items, functions)
        while self._running:
            self._wait()
        return True

    def _start(self, job: Job, items: Mapping[str, pytest.Item], functions: Functions) -> None:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            code = NOT_APPLIED
            try:
                os.close(read)
                code = self._try(job, items, functions, write)
            finally:
                os._exit(code)
        os.close(write)
        self._running[child] = (job, os.fdopen(read, "rb"))

    def _try(self, job: Job, items: Mapping[str, pytest.Item], functions: Functions, write: int) -> int:
        if job.planted is not None and not _apply(job.planted, functions):
            return NOT_APPLIED
        known = [name for name in job.tests if name in items]
        for number, name in enumerate(known):
            os.write(write, f"{name}\n".encode())
            # The default action of the signal ends the process, whatever it is busy with.
            signal.setitimer(signal.ITIMER_REAL, self._limit_s + LIMIT_FACTOR * self._durations_s.get(name, 0.0))
            after = items[known[number + 1]] if number + 1 < len(known) else None
            items[name].ihook.pytest_runtest_protocol(item=items[name], nextitem=after)
            if self._failed:
                return KILLED
        return SURVIVED

    def _wait(self) -> None:
        child, status = os.wait()
        job, tried = self._running.pop(child)
        with tried:
            last = tried.read().decode().splitlines()[-1:]
        code = os.waitstatus_to_exitcode(status)
        kind: Kind = "killed"
        if code == -signal.SIGALRM:
            kind = "timeout"
        elif code == SURVIVED:
            kind = "survived"
        elif code == NOT_APPLIED:
            kind = "not loaded"
        self._report(Outcome(job.id, kind, last[0] if last and kind in ("killed", "timeout") else None))


# The functions that are loaded, by file, qualified name and first line.
Functions = Mapping[tuple[str, str, int], list[FunctionType]]


def _functions() -> Functions:
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    for thing in gc.get_objects():
        # By the type itself: some things raise when they are asked for their class.
        if type(thing) is FunctionType:
            code = thing.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(thing)
    return found


def _apply(planted: Planted, functions: Functions) -> bool:
    """Give the loaded function the code of the mutant."""
    mutant = planted.mutant
    key = (str(mutant.path), mutant.function, mutant.function_line)
    loaded = functions.get(key, [])
    for code in _codes(compile(planted.source, str(mutant.path), "exec", dont_inherit=True)):
        if (code.co_filename, code.co_qualname, code.co_firstlineno) == key:
            for function in loaded:
                if function.__code__.co_freevars != code.co_freevars:
                    return False
                function.__code__ = code
            return bool(loaded)
    return False


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


class _Loader(SourceFileLoader):
    """Loads another source than the one in the file."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


class MutantFinder(MetaPathFinder):
    """Imports one module with the mutant in it."""

    def __init__(self, planted: Planted) -> None:
        self._path = planted.mutant.path
        self._source = planted.source

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, path)
        if found is None or found.origin != str(self._path):
            return None
        loader = _Loader(fullname, str(self._path), self._source)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


def run_pytest(args: Sequence[str], server: Server, planted: Planted | None, module: str) -> None:
    """Collect the tests and serve the jobs; what is planted here is in the code from its import on.

    For a process of its own.

    Args:
        args: What pytest is to collect.
        server: Has the jobs.
        planted: Or None: the code as it is.
        module: The name that the planted file is imported by.
    """
    if planted is not None:
        sys.meta_path.insert(0, MutantFinder(planted))
        # pytest has an importer of its own for plugins, among them the package that is tested. It
        # would load the file, so this comes first; what cannot be imported fails once more below.
        with suppress(Exception):
            importlib.import_module(module)
    pytest.main([*OPTIONS, *args], plugins=[server])
