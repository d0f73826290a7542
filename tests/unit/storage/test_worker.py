"""`in_thread`: whoever has left, cancelled or not, knows that the work is over or will never begin."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from sluiceway.memory import SQLiteStore
from sluiceway.storage import SQLite
from sluiceway.storage._worker import in_thread

pytestmark = pytest.mark.anyio


class Work:
    """Takes as long as it is told to."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.ended = False

    def __call__(self) -> str:
        self.begun.set()
        assert self.may_end.wait(20)
        self.ended = True
        return "done"


async def started(work: Work, limiter: anyio.CapacityLimiter | None = None) -> asyncio.Task[str]:
    """Return the task that does the work, under way."""
    task = asyncio.ensure_future(in_thread(work, limiter=limiter))
    await anyio.to_thread.run_sync(work.begun.wait, 20)
    return task


async def test_it_returns_what_the_function_returns_and_raises_what_it_raises() -> None:
    def fail() -> None:
        raise LookupError("none")

    assert await in_thread(lambda a, b: a + b, 1, 2) == 3
    with pytest.raises(LookupError, match="none"):
        await in_thread(fail)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_that_asyncio_cancels_waits_for_work_that_has_begun(anyio_backend: str) -> None:
    work = Work()
    task = await started(work)
    task.cancel()
    await asyncio.sleep(0.02)
    assert not task.done()
    work.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.ended


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cancelled_twice_it_still_waits(anyio_backend: str) -> None:
    work = Work()
    task = await started(work)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0.01)
    assert not task.done()
    work.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_work_that_has_not_begun_never_does(anyio_backend: str) -> None:
    limiter, first, second = anyio.CapacityLimiter(1), Work(), Work()
    busy = await started(first, limiter)
    waits = asyncio.ensure_future(in_thread(second, limiter=limiter))
    await asyncio.sleep(0.01)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    first.may_end.set()
    assert await busy == "done"
    await asyncio.sleep(0.01)
    assert not second.begun.is_set()


async def test_a_scope_that_is_cancelled_waits_too() -> None:
    work = Work()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(in_thread, work)
            await anyio.to_thread.run_sync(work.begun.wait, 20)
            scope.cancel()
            work.may_end.set()
    assert work.ended


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_lease_that_was_asked_for_in_vain_is_not_kept(
    anyio_backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release comes behind the acquisition, however late its thread is."""
    run, slow = SQLite._run, threading.Event()

    def late(self: Any, work: Any, begin: str) -> Any:
        if not slow.is_set():
            slow.set()
            time.sleep(0.05)
        return run(self, work, begin)

    monkeypatch.setattr(SQLite, "_run", late)
    async with SQLiteStore(tmp_path / "memory.db") as store:
        task = asyncio.ensure_future(store.acquire("t1", "one", 60))
        await anyio.to_thread.run_sync(slow.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.release("t1", "one")
        await asyncio.sleep(0.1)
        assert await store.acquire("t1", "two", 60)
