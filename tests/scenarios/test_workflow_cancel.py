"""Cancelling a run at every point where it can be: the store is as before, nothing is left running."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Workflow, step
from sluiceway.engine import RunStore
from tests.support.workflows import asks

pytestmark = pytest.mark.anyio


class Interrupt:
    """Counts the waits of everything it is put around; at the n-th it cancels the scope."""

    def __init__(self, scope: anyio.CancelScope, at: int) -> None:
        self.scope = scope
        self.at = at
        self.waits = 0

    def around(self, awaited: Awaitable[Any]) -> Awaitable[Any]:
        return _Counted(self, awaited)


class _Counted:
    def __init__(self, interrupt: Interrupt, awaited: Awaitable[Any]) -> None:
        self.interrupt = interrupt
        self.awaited = awaited

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self.awaited.__await__()
        interrupt = self.interrupt
        try:
            waited = next(inner)
            while True:
                interrupt.waits += 1
                if interrupt.waits == interrupt.at:
                    interrupt.scope.cancel()
                try:
                    sent = yield waited
                except BaseException as error:  # noqa: BLE001 - thrown in where it belongs
                    waited = inner.throw(error)
                else:
                    waited = inner.send(sent)
        except StopIteration as stop:
            return stop.value


CURRENT: list[Interrupt] = []
"""The one that the steps count for as well."""


def tasks() -> int:
    """How many tasks there are, on either backend."""
    if "trio" in sys.modules:
        import trio

        if trio.lowlevel.in_trio_run():
            return trio.lowlevel.current_statistics().tasks_living
    import asyncio

    return len(asyncio.all_tasks())


async def at_every_wait(call: Callable[[], Awaitable[Any]], check: Callable[[], Awaitable[None]]) -> int:
    """Cancel a call at its first wait, at its second, … until it comes through; check after each."""
    for at in range(1, 200):
        before = tasks()
        with anyio.CancelScope() as scope:
            CURRENT[:] = [Interrupt(scope, at)]
            await CURRENT[0].around(call())
        await anyio.lowlevel.checkpoint()
        assert tasks() == before
        if not scope.cancelled_caught:
            return at
        await check()
    raise AssertionError("the call waits without end")


def build() -> Any:
    async def slow(data: Any) -> Any:
        for _ in range(2):
            await CURRENT[0].around(anyio.lowlevel.checkpoint())
        return data

    return (
        Workflow("w")
        .parallel([asks(), slow])
        .map("ask")
        .then(step(slow, id="after"))
        .foreach(step(slow, id="each"), concurrency=2)
        .commit()
    )


async def test_a_resume_that_is_cancelled_leaves_the_run_waiting(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.db")
    workflow = build()
    CURRENT[:] = [Interrupt(anyio.CancelScope(), 0)]
    first = await workflow.run("q", run_id="r", store=store)
    assert first.status == "suspended"
    before = await store.load("r")

    async def unchanged() -> None:
        assert await store.load("r") == before
        await store.release(await store.claim_suspended("r"))  # nobody holds it

    points = await at_every_wait(lambda: workflow.resume("r", data=["a", "b", "c"], store=store), unchanged)

    assert points >= 12
    assert (await workflow.load("r", store=store)).output == ["a", "b", "c"]


async def test_a_run_that_is_cancelled_leaves_no_trace_in_the_store(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.db")
    workflow = build()

    async def nothing() -> None:
        assert await store.load("r") is None

    points = await at_every_wait(lambda: workflow.run("q", run_id="r", store=store), nothing)

    assert points >= 6
    assert (await workflow.load("r", store=store)).status == "suspended"


async def test_a_stream_that_is_cancelled_leaves_no_trace_and_no_task(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.db")
    workflow = build()

    async def follow() -> None:
        async with workflow.stream("q", run_id="r", store=store) as events:
            async for _ in events:
                pass

    async def nothing_half_done() -> None:
        stored = await store.load("r")
        assert stored is None or stored.status == "suspended"
        await store.delete("r")

    points = await at_every_wait(follow, nothing_half_done)
    assert points >= 6


async def test_a_run_without_a_store_leaves_no_task() -> None:

    async def nothing() -> None:
        pass

    workflow = Workflow("w").foreach(step(lambda d: d, id="x"), concurrency=2).sleep(0).commit()
    assert await at_every_wait(lambda: workflow.run([1, 2, 3]), nothing) > 3
