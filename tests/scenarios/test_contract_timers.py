"""`flush_after`: what a processor holds goes out when nothing comes for a while."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

from sluiceway import Agent, Processor
from sluiceway.errors import ModelError
from sluiceway.messages import Chunk
from tests.support.models import StallingModel, deltas
from tests.support.processors import noting
from tests.support.runs import collect
from tests.support.tasks import living_tasks, settle

pytestmark = pytest.mark.anyio


def buffering(seconds: float | None) -> Processor:
    """Return a processor that holds all text, and asks to be flushed after so much silence."""

    def stream(ctx: Any) -> Any:
        if ctx.part.type != "text-delta":
            return ctx.part
        ctx.attempt_state.setdefault("held", []).append(ctx.part)
        ctx.flush_after(seconds)
        return None

    def finish(ctx: Any) -> Any:
        return ctx.attempt_state.pop("held", [])

    return Processor.of("buffer", process_output_stream=stream, finish_output_stream=finish)


class TwoPartModel(StallingModel):
    """Sends a part, waits until it is told to go on, and sends the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = anyio.Event()

    async def _chunks(self, run_id: str) -> AsyncGenerator[Chunk]:
        start, one, two, three, end = deltas("a", "b", "c")
        for chunk in (start, one, two):
            yield chunk
        await self.go_on.wait()
        for chunk in (three, end, Chunk("finish", {"reason": "stop"})):
            yield chunk


async def test_a_processor_is_flushed_when_nothing_comes() -> None:
    """While the model is silent what was held goes out; what comes later is held again."""
    trace: list[str] = []
    model = TwoPartModel()
    agent = Agent(id="a", model=model, output_processors=[buffering(0.01), noting("o", trace, "process_output_stream")])
    got: list[str] = []

    with anyio.fail_after(5):
        async with agent.stream("hi") as stream:
            async for chunk in stream:
                if chunk.type == "text-delta":
                    got.append(chunk.text)
                    if len(got) == 2:
                        model.go_on.set()

    assert got == ["a", "b", "c"]
    assert trace == [f"o.process_output_stream:{text}" for text in "abc"]
    assert model.closed == 1


async def test_without_a_timer_nothing_is_flushed_before_the_end() -> None:
    """None switches it off: the silent model keeps the text in."""
    model = TwoPartModel()
    agent = Agent(id="a", model=model, output_processors=[buffering(None)])
    types: list[str] = []

    with anyio.fail_after(5):
        async with agent.stream("hi") as stream:
            with anyio.move_on_after(0.03):
                async for chunk in stream:
                    types.append(chunk.type)  # noqa: PERF401 - until it is cut

    assert "text-delta" not in types


@pytest.mark.parametrize("end", ["left", "cancelled", "error", "tripwire"])
async def test_a_run_with_a_timer_leaves_nothing_behind(end: str) -> None:
    """The task that reads the model meanwhile ends with the run, however that ends."""

    def stop(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            if end == "error":
                raise ValueError("kaput")
            if end == "tripwire":
                ctx.abort("no")
        return ctx.part

    model = TwoPartModel()
    stopping = Processor.of("stop", process_output_stream=stop)
    agent = Agent(id="a", model=model, output_processors=[buffering(0.005), stopping])
    before = living_tasks()

    with anyio.fail_after(5):
        async with agent.stream("hi") as stream:
            if end == "cancelled":
                with anyio.move_on_after(0.02):
                    async for _ in stream:
                        pass
            async for chunk in stream if end != "cancelled" else _nothing():
                if end == "left" and chunk.type == "text-delta":
                    break
        await settle()

    assert (model.opened, model.closed) == (1, 1)
    assert living_tasks() == before


async def _nothing() -> AsyncGenerator[Chunk]:
    """Yield nothing."""
    return
    yield


async def test_a_broken_model_is_an_error_with_a_timer_too() -> None:
    """What was held goes out first, as without one."""

    class Breaking(TwoPartModel):
        async def _chunks(self, run_id: str) -> AsyncGenerator[Chunk]:
            for chunk in deltas("a", "b")[:-1]:
                yield chunk
            raise ModelError("connection lost")

    agent = Agent(id="a", model=Breaking(), output_processors=[buffering(10)])

    ran = await collect(agent, "hi")

    assert ran.emitted == "ab"
    assert ran.types[-2:] == ["error", "finish"]
    assert str(ran.error) == "connection lost"
