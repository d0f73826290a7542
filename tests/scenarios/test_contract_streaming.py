"""Streaming is pull-based: what runs when, what is left behind, and timers."""

from __future__ import annotations

import gc
import itertools
import warnings
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Agent, Processor, ToolContext
from sluiceway.errors import RunError
from sluiceway.messages import Chunk
from sluiceway.models import ModelRequest, Reply
from tests.support.models import StallingModel
from tests.support.processors import noting, tool_named
from tests.support.runs import calls_tool, collect, make_agent
from tests.support.tasks import living_tasks, settle

pytestmark = pytest.mark.anyio


class CountingModel:
    """A model that counts how many chunks have been asked of it."""

    provider = model_id = "counting"
    structured = True

    def __init__(self, count: int) -> None:
        self.count = count
        self.sent = 0
        self.closed = 0

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Send numbered deltas."""
        chunks = self._chunks()
        try:
            yield chunks
        finally:
            self.closed += 1
            await chunks.aclose()

    async def _chunks(self) -> AsyncGenerator[Chunk]:
        for number in range(self.count):
            self.sent += 1
            yield Chunk("text-delta", {"id": "t", "text": f"{number} "})
        yield Chunk("finish", {"reason": "stop"})


async def test_the_model_is_read_as_the_reader_reads() -> None:
    """Nothing is read ahead: a reader that waits makes the model wait."""
    model = CountingModel(50)
    agent = Agent(id="a", model=model)

    async with agent.stream("hi") as stream:
        read = 0
        async for chunk in stream:
            read += chunk.type == "text-delta"
            if chunk.type == "text-delta":
                await settle()
                assert model.sent == read

    assert (read, model.closed) == (50, 1)


async def test_nothing_happens_before_the_stream_is_read() -> None:
    """Making and entering a stream call neither hooks nor model."""
    trace: list[str] = []
    model = CountingModel(1)
    agent = Agent(id="a", model=model, input_processors=[noting("p", trace, "process_input")])

    agent.stream("hi")
    async with agent.stream("hi"):
        await settle()

    assert (trace, model.sent) == ([], 0)


async def test_no_task_is_open_between_two_reads_and_none_is_left() -> None:
    """A plain run needs none; whatever was needed for tools has ended with the stream."""
    agent, _ = make_agent(Reply(text=["a", "b"], tool_calls=[calls_tool("t")]), "done", tools=[tool_named("t")])
    before = living_tasks()
    seen: set[int] = set()

    async with agent.stream("hi") as stream:
        async for chunk in stream:
            if chunk.type in ("start", "text-delta", "step-finish", "finish"):
                seen.add(living_tasks() - before)
    await settle()

    assert seen == {0}
    assert living_tasks() == before


async def test_each_read_may_have_a_scope_of_its_own() -> None:
    """No cancel scope of the library stays open in the reader's task between two reads."""
    agent, _ = make_agent(Reply(text=["a", "b"], tool_calls=[calls_tool("t")]), ["c"], tools=[tool_named("t")])
    texts: list[str] = []

    async with agent.stream("hi") as stream:
        while True:
            with anyio.fail_after(5):
                try:
                    chunk = await anext(stream)
                except StopAsyncIteration:
                    break
            texts.append(chunk.text)

    assert "".join(texts) == "abc"


async def test_after_a_cancelled_read_the_stream_is_over() -> None:
    """A further read says so; leaving the stream closes the model."""
    model = StallingModel("a")
    agent = Agent(id="a", model=model)

    async with agent.stream("hi") as stream:
        with anyio.move_on_after(0.01) as scope:
            async for _ in stream:
                pass
        assert scope.cancelled_caught
        with pytest.raises(RunError, match="cancelled"):
            await anext(stream)
        with pytest.raises(RunError):
            await stream.result()

    assert (model.opened, model.closed) == (1, 1)


async def test_leaving_early_closes_the_model() -> None:
    """Before the block has been left, the call of the model is over; reading on is an error."""
    model = CountingModel(100)
    agent = Agent(id="a", model=model)

    async with agent.stream("hi") as stream:
        async for chunk in stream:
            if chunk.type == "text-delta":
                break

    assert (model.sent, model.closed) == (1, 1)
    with pytest.raises(RunError):
        await anext(stream)
    with pytest.raises(RunError):
        await stream.result()


async def test_the_callers_own_exception_leaves_unchanged() -> None:
    """Raised in the body while a tool runs and the model is open: the same object comes out."""
    ended: list[str] = []

    async def wait(ctx: ToolContext) -> None:
        """Wait."""
        await ctx.writer.custom("data-waiting", None)
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("tool")

    agent, _ = make_agent(Reply(tool_calls=[calls_tool("wait")]), tools=[wait])
    mine = KeyError("mine")

    async def read() -> None:
        async with agent.stream("hi") as stream:
            async for chunk in stream:
                if chunk.type == "data-waiting":
                    raise mine

    with pytest.raises(KeyError) as caught:
        await read()

    assert caught.value is mine
    assert ended == ["tool"]


async def respond(agent: Agent, log: list[str]) -> AsyncIterator[str]:
    """Stream an answer as a web framework does: a generator around the stream."""
    try:
        async with agent.stream("hi") as stream:
            async for text in stream.text():
                yield text
    finally:
        log.append("closed")


@pytest.mark.parametrize("read", [0, 1, 2])
async def test_a_generator_around_a_stream_can_be_closed_in_the_middle(read: int) -> None:
    """The client has gone after so many texts; the model is closed."""
    log: list[str] = []
    model = CountingModel(100)
    body = respond(Agent(id="a", model=model), log)

    for _ in range(read):
        await anext(body)
    await body.aclose()  # type: ignore[attr-defined]

    assert (log, model.sent, model.closed) == (["closed"] if read else [], read, 1 if read else 0)


async def test_a_generator_read_by_one_task_can_be_closed_by_another() -> None:
    """Servers do that; tools that run meanwhile are ended as well."""
    log: list[str] = []

    async def wait(ctx: ToolContext) -> None:
        """Wait."""
        try:
            await anyio.sleep_forever()
        finally:
            log.append("tool ended")

    agent, _ = make_agent(Reply(text="look", tool_calls=[calls_tool("wait")]), tools=[wait])
    body = respond(agent, log)

    async with anyio.create_task_group() as group:

        async def read() -> None:
            assert await anext(body) == "look"
            with anyio.move_on_after(0.01):
                await anext(body)

        group.start_soon(read)
    async with anyio.create_task_group() as group:
        group.start_soon(body.aclose)  # type: ignore[attr-defined]

    assert log[-1] == "closed"
    assert "tool ended" in log


async def test_a_client_that_goes_away_cancels_the_handler() -> None:
    """The task that reads is cancelled while it waits for the model."""
    model = StallingModel("a", "b")
    agent = Agent(id="a", model=model)
    got: list[str] = []

    async def handle() -> None:
        async with agent.stream("hi") as stream:
            async for text in stream.text():
                got.append(text)  # noqa: PERF401 - the reading never ends

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(handle)
            await model.stalled.wait()
            group.cancel_scope.cancel()

    assert (got, model.closed) == (["a", "b"], 1)


async def test_a_stream_that_is_just_dropped_breaks_nothing() -> None:
    """Without having been left, in the middle of a model's answer: collected quietly."""
    model = CountingModel(100)
    agent = Agent(id="a", model=model)

    async def leak() -> None:
        stream = agent.stream("hi")
        await stream.__aenter__()
        while (await anext(stream)).type != "text-delta":
            pass

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        await leak()
        gc.collect()
        await settle()
    again, _ = make_agent("ok")

    assert (await collect(again, "hi")).result.text == "ok"


async def test_a_reader_that_never_waits_lets_others_run() -> None:
    """A long answer of a model that never waits yields to other tasks at least every 64 chunks."""
    model = CountingModel(640)
    agent = Agent(id="a", model=model)
    ticks: list[int] = []

    async def tick() -> None:
        while True:
            ticks.append(model.sent)
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        await anyio.lowlevel.checkpoint()
        await agent.generate("hi")
        group.cancel_scope.cancel()

    steps = [later - earlier for earlier, later in itertools.pairwise(ticks)]
    # On trio the reader may come first in one tick and last in the one before.
    assert max(steps) <= 128


async def test_hooks_run_in_the_readers_task() -> None:
    """All hooks, also those for tools' data chunks, one at a time and in the task that reads."""
    tasks: set[int] = set()

    def here() -> int:
        return anyio.get_current_task().id

    def note(ctx: Any) -> Any:
        tasks.add(here())
        return getattr(ctx, "part", None)

    async def work(ctx: ToolContext) -> int:
        """Report from another task."""
        await ctx.writer.custom("data-x", 1)
        assert here() != me
        return 1

    me = here()
    front = Processor.of("f", process_input=note, process_llm_request=lambda ctx: note(ctx) and None)
    back = Processor.of(
        "b",
        process_output_stream=note,
        process_tool_result=lambda ctx: note(ctx) and None,
        process_output_result=lambda ctx: note(ctx) and None,
        process_data_parts=True,
    )
    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("work")]),
        "done",
        tools=[work],
        input_processors=[front],
        output_processors=[back],
    )

    ran = await collect(agent, "hi")

    assert ran.result.text == "done"
    assert [chunk.type for chunk in ran.of("tool-error")] == []
    assert tasks == {me}
