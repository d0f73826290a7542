"""All runs are accounted for: each ended once, and the books balance. The seed is in every failure."""

from __future__ import annotations

import gc
import json
import logging
import os
import random
import resource
import sqlite3
import sys
import threading
import time
from pathlib import Path

import anyio
import pytest
from hypothesis import settings

from tests.soak.books import Ended, audit, live
from tests.soak.fates import fate_of
from tests.soak.world import Logs, World
from tests.support.tasks import living_tasks, settle

DEEP = settings().max_examples > 200
RUNS = int(os.environ.get("SLUICEWAY_SOAK_RUNS", "10000" if DEEP else "120"))
SEED = int(os.environ.get("SLUICEWAY_SOAK_SEED", str(random.randrange(10**6) if DEEP else 4711)))


def open_files() -> int:
    """Return how many descriptors are open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def own_threads() -> list[str]:
    """Return the threads, idle workers of the event loops aside."""
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if not name.startswith(("AnyIO worker", "Trio thread"))]


async def soak(world: World, seed: int, first: int, count: int) -> list[Ended]:
    """Live runs all at once, and see that nothing is left of them."""
    ended: list[Ended] = []

    async def run(number: int) -> None:
        ended.append(await live(world, fate_of(seed, number)))

    before = living_tasks()
    async with anyio.create_task_group() as group:
        for number in range(first, first + count):
            group.start_soon(run, number)
    await settle()
    assert living_tasks() == before, f"tasks are left of the runs of seed {seed}"
    return sorted(ended, key=lambda one: one.fate.number)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_books_balance(backend: str, tmp_path: Path) -> None:
    logs, world = Logs(), World(tmp_path)
    seed, kept = SEED, []

    async def main() -> list[Ended]:
        async with world.open():
            warm = await soak(world, seed, 0, RUNS // 5)
            kept.append(alive())
            rest = await soak(world, seed, RUNS // 5, RUNS - RUNS // 5)
            kept.append(alive())
        return warm + rest

    log = logging.getLogger("sluiceway")
    level = log.level
    log.addHandler(logs)
    log.setLevel(logging.DEBUG)
    files, threads, began = open_files(), own_threads(), time.monotonic()
    try:
        runs = anyio.run(main, backend=backend)
    finally:
        log.removeHandler(logs)
        log.setLevel(level)
    gc.collect()
    found = audit(world, runs)
    found |= {
        "backend": backend,
        "seed": seed,
        "seconds": round(time.monotonic() - began, 1),
        "objects kept for each run": round((kept[1] - kept[0]) / (RUNS - RUNS // 5), 1),
        "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "logged": dict(logs.lines.most_common(8)),
    }
    sys.stdout.write(json.dumps(found | {"wrong": len(found["wrong"])}, indent=1) + "\n")
    wrong = "\n".join(found["wrong"][:20])
    assert not wrong, f"seed {seed}, {len(found['wrong'])} do not balance\n{wrong}"
    assert logs.leaks == [], f"seed {seed}"
    assert len(runs) == RUNS
    assert (open_files(), own_threads()) == (files, threads), f"seed {seed}"
    assert set(found["ended"]) == {"finished", "tripwire", "error", "cancelled"}
    # What the world itself notes of a run is about thirty objects.
    assert found["objects kept for each run"] < 80, f"seed {seed}: something is kept of every run"


def test_the_books_tell_what_is_wrong(tmp_path: Path) -> None:
    """A leak, a turn that is half there, a call that nobody booked, a run that ended twice."""
    world = World(tmp_path, redacting=False)

    async def main() -> list[Ended]:
        async with world.open():
            return await soak(world, 1, 0, 30)

    runs = anyio.run(main)
    finished = [one for one in runs if one.how == ["finished"] and one.tokens is not None and not one.fate.cached]
    with sqlite3.connect(world.memory_file) as connection:
        name = f"in-{finished[0].fate.mark}"
        connection.execute("DELETE FROM memory_messages WHERE id = ?", (name,))
    connection.close()
    with sqlite3.connect(world.ledger_file) as connection:
        connection.execute("DELETE FROM cost_entries WHERE run_id = ?", (finished[1].run_id,))
    connection.close()
    finished[2].how.append("error")

    told = "\n".join(audit(world, runs)["wrong"])

    for what in ("in a prompt", "in a result", "a secret is stored", "is not made of whole turns", "the ledger (0, 0)"):
        assert what in told
    assert f"{finished[2].fate.mark} ended ['finished', 'error']" in told


def alive() -> int:
    """Return how many objects there are that the collector knows."""
    gc.collect()
    return len(gc.get_objects())
