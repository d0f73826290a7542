"""From a project and a sample size to what became of each mutant."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path

from tests.mutation._map import AT_IMPORT, TestMap, load, record
from tests.mutation._mutants import Mutant, mutants_of, sample, sources_of
from tests.mutation._serve import Job, Outcome, Planted, Server, run_pytest

# How many tests a mutant has to pass, the most promising of those that reach it first, and how
# long these take on the unchanged code: to begin with, and once more where it has passed them.
EFFORTS = ((100, 6.0), (400, 30.0))


@dataclass(frozen=True)
class Area:
    """A package, and the tests that may notice a fault in it."""

    package: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Settings:
    """Where to work and how much to do.

    Args:
        root: The project, with its code in `src`.
        out: A folder for what was measured.
        size: How many mutants.
        workers: How many processes at once.
        keep_map: Whether to take the map of tests to lines that `out` has.
        only: Ids of mutants; all of the sample when empty.
        limit_s: What a test may take before it counts as one that never ends, in seconds; on top of this 8 times
            what it took on the unchanged code.
    """

    root: Path
    out: Path
    size: int
    workers: int = 1
    keep_map: bool = False
    only: frozenset[str] = field(default_factory=frozenset[str])
    limit_s: float = 5.0


@dataclass(frozen=True)
class Result:
    """What became of a mutant: killed, timeout, survived, or no test (that reaches it)."""

    mutant: Mutant
    kind: str
    test: str | None


def run(area: Area, settings: Settings) -> tuple[int, list[Result]]:
    """Try a sample of the mutants of an area.

    Returns:
        How many mutants there are, and the results of the sample.

    Raises:
        RuntimeError: The tests could not be run at all.
    """
    if not settings.keep_map:
        _in_fork(settings, lambda: record(settings.out, [settings.root / area.package], area.tests))
    tests = load(settings.out)
    mutants = mutants_of(settings.root / area.package, settings.root)
    chosen = [one for one in sample(mutants, settings.size) if not settings.only or one.id in settings.only]
    sources = sources_of(chosen)
    outcomes: dict[str, Outcome] = {}
    left = [Planted(one, sources[one.id]) for one in chosen]
    while left:
        outcomes |= _tried(left, area, settings, tests)
        # A test that fails by itself, under load say, has proved nothing: once more without it.
        unsure = _fail_anyway(settings, area, outcomes, tests)
        tests = tests.without(unsure)
        left = [one for one in left if one.mutant.id in outcomes and outcomes[one.mutant.id].test in unsure]
        for one in left:
            del outcomes[one.mutant.id]
    return len(mutants), [_result(mutant, outcomes.get(mutant.id)) for mutant in chosen]


def _tried(mutants: Sequence[Planted], area: Area, settings: Settings, tests: TestMap) -> dict[str, Outcome]:
    """The outcome of each mutant that a test reaches."""
    ranked = {one.mutant.id: _tests_for(one.mutant, tests) for one in mutants}
    fresh = {one.mutant.id for one in mutants if _runs_at_import(one.mutant, tests)}
    outcomes: dict[str, Outcome] = {}
    known: dict[str, int] = {}
    for most, most_s in EFFORTS:
        jobs = [Job(one.mutant.id, _first(ranked[one.mutant.id], most, most_s, tests), one) for one in mutants]
        jobs = [job for job in jobs if len(job.tests) > known.get(job.id, 0)]
        jobs = [job for job in jobs if job.id not in outcomes or outcomes[job.id].kind == "survived"]
        known |= {job.id: len(job.tests) for job in jobs}
        outcomes |= _serve(settings, area.tests, [job for job in jobs if job.id not in fresh], tests)
        # The function could not take the new code, or has done its work while it was imported.
        for job in jobs:
            if job.id in fresh or outcomes[job.id].kind == "not loaded":
                outcomes |= _serve_fresh(settings, job, tests)
    return outcomes


def _result(mutant: Mutant, outcome: Outcome | None) -> Result:
    return Result(mutant, "no test", None) if outcome is None else Result(mutant, outcome.kind, outcome.test)


def _tests_for(mutant: Mutant, tests: TestMap) -> list[str]:
    """The tests that reach the mutant, the most promising first."""
    by_line = tests.tests_by_line(mutant.path)
    reached: set[str] = set()
    for first, last in [mutant.body] if mutant.in_header else [mutant.lines, mutant.statement]:
        reached = reached or {name for line in range(first, last + 1) for name in by_line.get(line, ())}
    return _ranked(reached & tests.durations_s.keys(), mutant.path, tests)


def _ranked(names: set[str], path: Path, tests: TestMap) -> list[str]:
    """First the tests of the module itself, then one case of each of the others, then their further cases.

    The quickest of each first; the same tests on a second event loop last of all.
    """
    mirror = f"/test_{path.stem.lstrip('_')}.py::"
    seen: set[str] = set()
    keys: dict[str, tuple[bool, int, float]] = {}
    for name in sorted(names, key=lambda name: (tests.durations_s[name], name)):
        case = name.partition("[")[0]
        rank = 0 if mirror in name else 1 + (case in seen)
        keys[name] = ("trio" in name.partition("[")[2], rank, tests.durations_s[name])
        seen.add(case)
    return sorted(keys, key=lambda name: keys[name])


def _first(ranked: Sequence[str], most: int, most_s: float, tests: TestMap) -> list[str]:
    """As many of the first tests as there is time for."""
    chosen: list[str] = []
    spent_s = 0.0
    for name in ranked[:most]:
        chosen.append(name)
        spent_s += tests.durations_s[name]
        if spent_s > most_s:
            break
    return chosen


def _runs_at_import(mutant: Mutant, tests: TestMap) -> bool:
    lines = range(mutant.lines[0], mutant.lines[1] + 1)
    return mutant.in_header or any(AT_IMPORT in tests.tests_by_line(mutant.path).get(line, ()) for line in lines)


def _serve(settings: Settings, args: Sequence[str], jobs: Sequence[Job], tests: TestMap) -> dict[str, Outcome]:
    """Try the jobs in forks of one pytest that has collected all the tests."""
    return _collected(settings, args, jobs, tests, None)


def _serve_fresh(settings: Settings, job: Job, tests: TestMap) -> dict[str, Outcome]:
    """Try a job in a pytest that imports the code with the mutant in it."""
    files = list(dict.fromkeys(name.partition("::")[0] for name in job.tests))
    plain = [Job(job.id, job.tests)]
    found = _collected(settings, files, plain, tests, job.planted)
    if not found:
        # Nothing could be imported or collected, which is the mutant's doing if it can be without.
        _collected(settings, files, plain, tests, None)
        found = {job.id: Outcome(job.id, "killed", None)}
    return found


def _collected(
    settings: Settings, args: Sequence[str], jobs: Sequence[Job], tests: TestMap, planted: Planted | None
) -> dict[str, Outcome]:
    kept = settings.out / "outcomes.jsonl"
    kept.unlink(missing_ok=True)
    kept.touch()

    def report(outcome: Outcome) -> None:
        with kept.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(outcome)) + "\n")

    if jobs:
        server = Server(jobs, tests.durations_s, report, workers=settings.workers, limit_s=settings.limit_s)
        module = "" if planted is None else _module(planted.mutant.path, settings)
        _in_fork(settings, lambda: run_pytest(args, server, planted, module))
    found = [Outcome(**json.loads(line)) for line in kept.read_text(encoding="utf-8").splitlines()]
    if jobs and planted is None and not found:
        raise RuntimeError(f"pytest cannot collect the tests: see {settings.out / 'log'}")
    return {outcome.id: outcome for outcome in found}


def _module(path: Path, settings: Settings) -> str:
    parts = path.relative_to(settings.root / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _fail_anyway(settings: Settings, area: Area, outcomes: dict[str, Outcome], tests: TestMap) -> set[str]:
    """The tests that have killed a mutant and fail on the unchanged code too, when they are started in the same way."""
    killers = sorted({one.test for one in outcomes.values() if one.test is not None})
    control = _serve(settings, area.tests, [Job(name, [name]) for name in killers], tests)
    return {name for name in killers if control[name].kind != "survived"}


def _in_fork(settings: Settings, work: Callable[[], None]) -> None:
    """Do something in a process of its own, which this one stays clean of; its output goes to `out/log`."""
    settings.out.mkdir(parents=True, exist_ok=True)
    process = get_context("fork").Process(target=_apart, args=(settings, work))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"what runs the tests ended with {process.exitcode}: see {settings.out / 'log'}")


def _apart(settings: Settings, work: Callable[[], None]) -> None:
    log = os.open(settings.out / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(settings.root)
    sys.path[:0] = [str(settings.root / "src"), str(settings.root)]
    work()
