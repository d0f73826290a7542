"""Cancelling at every await point leaves no task, closes everything, and the next call works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Agent, Processor, Tool, ToolContext, Workflow
from sluiceway.errors import ModelError
from sluiceway.memory import InMemoryStore, Memory, SQLiteStore
from sluiceway.messages import Chunk, Usage
from sluiceway.models import ModelRequest, Reply, ScriptedModel
from sluiceway.processors import Retry
from tests.support.memory import ON, kept
from tests.support.processors import hooked
from tests.support.tasks import CancelAt, living_tasks, settle

pytestmark = pytest.mark.anyio

MOST_WAITS = 500


class WatchedModel(ScriptedModel):
    """A scripted model that waits at every chunk and counts what is open."""

    def __init__(self, replies: Any) -> None:
        super().__init__(replies)
        self.open = 0

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Answer slowly."""
        self.open += 1
        try:
            async with super().stream(request) as chunks:
                slowly = self._slowly(chunks)
                try:
                    yield slowly
                finally:
                    await slowly.aclose()
        finally:
            self.open -= 1

    async def _slowly(self, chunks: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk]:
        async for chunk in chunks:
            await anyio.lowlevel.checkpoint()
            yield chunk


class Bench:
    """An agent that waits in every hook, and counts what it has open and what it has finished."""

    def __init__(self, script: list[Any], *, outputs: Sequence[Processor] = (), **options: Any) -> None:
        self.outputs = outputs
        self.options = options
        self.running = 0
        self.saved: list[str] = []
        self.model = WatchedModel(script)
        self.agent = self.build()

    def build(self) -> Agent:
        """Return the agent."""
        front, back = self.waiting("front", IN), self.waiting("back", OUT)
        flow = Workflow("w").parallel([self.waiting("b1", IN), self.waiting("b2", IN)]).map("processor:b1")
        return Agent(
            id="a",
            model=self.model,
            tools=[self.tool("one"), self.tool("two"), self.helper()],
            input_processors=[front, flow.commit()],
            output_processors=[back, *self.outputs, Processor.of("save", process_output_result=self.save)],
            **self.options,
        )

    def helper(self) -> Agent:
        """Return an agent that is used as a tool."""
        waiting = self.waiting("inner", IN)
        return Agent(id="helper", model=ScriptedModel(["sub"]), input_processors=[waiting])

    def save(self, ctx: Any) -> None:
        """Save the reply, as memory does, at the very end."""
        self.saved.append(ctx.result.text)

    def waiting(self, id: str, hooks: tuple[str, ...]) -> Processor:  # noqa: A002
        """Return a processor that waits in its hooks."""

        def hook(name: str) -> Any:
            async def run(ctx: Any) -> Any:
                self.running += 1
                try:
                    await anyio.lowlevel.checkpoint()
                    return ctx.part if name == "process_output_stream" else None
                finally:
                    self.running -= 1

            return run

        return hooked(id, {name: hook(name) for name in hooks})

    def tool(self, name: str) -> Tool:
        """Return a tool that waits and reports."""

        async def run(ctx: ToolContext) -> str:
            self.running += 1
            try:
                await ctx.writer.custom("data-on", name)
                await anyio.lowlevel.checkpoint()
                return name
            finally:
                self.running -= 1

        return Tool(name, run=run)

    def again(self) -> None:
        """Have the script start over."""
        self.model.calls.clear()
        self.saved.clear()


IN = ("process_input", "process_input_step", "process_llm_request", "process_llm_response")
OUT = (
    "process_output_stream",
    "finish_output_stream",
    "process_output_step",
    "process_tool_result",
    "process_output_result",
)
TOOLS = Reply(
    text=["let ", "me"],
    tool_calls=[{"id": "c1", "name": "one", "args": {}}, {"id": "c2", "name": "two", "args": {}}],
    usage=Usage(1, 1),
)


def reject_once(ctx: Any) -> None:
    """Ask for one more try of the first step."""
    if ctx.step_number == 0 and ctx.retry_count < 2:
        ctx.abort("again", retry=True)


def try_again(ctx: Any) -> Retry:
    """Try again."""
    return Retry()


def holds_with_a_timer() -> Processor:
    """Return a processor that holds all text and asks to be flushed when nothing comes."""

    def stream(ctx: Any) -> Any:
        if ctx.part.type != "text-delta":
            return ctx.part
        ctx.attempt_state.setdefault("held", []).append(ctx.part)
        ctx.flush_after(30)
        return None

    return Processor.of(
        "timer",
        process_output_stream=stream,
        finish_output_stream=lambda ctx: ctx.attempt_state.pop("held", []),
    )


BENCHES: dict[str, Callable[[], Bench]] = {
    "tools": lambda: Bench([TOOLS, "done"]),
    "timer": lambda: Bench([TOOLS, "done"], outputs=[holds_with_a_timer()]),
    "sub-agent": lambda: Bench([Reply(tool_calls=[{"id": "c1", "name": "helper", "args": {"message": "?"}}]), "done"]),
    "retries": lambda: Bench(
        [Reply(error="busy"), TOOLS, TOOLS, "done"],
        error_processors=[Processor.of("e", process_api_error=try_again)],
        max_processor_retries=5,
    ),
}


async def generate(bench: Bench) -> str:
    """Call the agent."""
    return (await bench.agent.generate("hi")).text


async def read(bench: Bench) -> str:
    """Read a stream."""
    async with bench.agent.stream("hi") as stream:
        return "".join([text async for text in stream.text()])


async def read_held(bench: Bench) -> str:
    """Read a stream whose text is held."""
    async with bench.agent.stream("hi", hold="run") as stream:
        return "".join([text async for text in stream.text()])


async def cancelled_at(bench: Bench, call: Callable[[Bench], Coroutine[Any, Any, str]], at: int) -> tuple[bool, bool]:
    """Run a call, cancelled at one of its waits; return whether it came so far, and whether it ended so."""
    scope = anyio.CancelScope()
    watched = CancelAt(call(bench), scope, at)
    with anyio.fail_after(5):
        with scope:
            await watched
        await settle()
    return watched.waits >= at, scope.cancelled_caught


@pytest.mark.parametrize("call", [generate, read, read_held], ids=["generate", "stream", "held"])
@pytest.mark.parametrize("name", BENCHES)
async def test_a_call_can_be_cancelled_at_every_wait(
    name: str, call: Callable[[Bench], Coroutine[Any, Any, str]]
) -> None:
    """Nothing is left open, nothing half saved, and the same agent then works."""
    bench = BENCHES[name]()
    right = await call(bench)
    before = living_tasks()
    bench.again()

    for at in range(1, MOST_WAITS):
        reached, cancelled = await cancelled_at(bench, call, at)
        assert (bench.running, bench.model.open, living_tasks() - before) == (0, 0, 0), at
        assert cancelled or len(bench.saved) == 1, at
        if not reached:
            break
        bench.again()
        if at % 3 == 0:  # a call between any two would double the time
            assert await call(bench) == right, at
            assert len(bench.saved) == 1
            bench.again()
    else:
        raise AssertionError("the call never ended by itself")
    assert at > 20


async def test_a_cancelled_call_saves_nothing_unless_it_had_reached_the_end() -> None:
    """The save is the last hook: cancelled before it, there is none; behind it, there is all of it."""
    bench = BENCHES["tools"]()
    saves: list[list[str]] = []

    for at in range(1, MOST_WAITS):
        bench.again()
        reached, _ = await cancelled_at(bench, read, at)
        saves.append(list(bench.saved))
        if not reached:
            break

    first = saves.index(["let medone"])
    assert saves[:first] == [[]] * first
    assert saves[first:] == [["let medone"]] * (len(saves) - first)


async def test_many_calls_cancelled_at_once_all_come_to_an_end() -> None:
    """Each at another wait, side by side, on one agent: every call ends once and nothing is left."""
    bench = BENCHES["retries"]()
    ends: list[str] = []
    before = living_tasks()

    async def one(at: int) -> None:
        scope = anyio.CancelScope()
        with scope:
            await CancelAt(read(bench), scope, at)
        ends.append("cancelled" if scope.cancelled_caught else "ended")

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for at in range(1, 200):
                group.start_soon(one, at)
        await settle()

    assert len(ends) == 199
    assert (bench.running, bench.model.open, living_tasks() - before) == (0, 0, 0)
    assert "cancelled" in ends


async def test_cancelling_one_call_leaves_another_alone() -> None:
    """Two calls of one agent at once, one of them cancelled at every wait."""
    bench = BENCHES["tools"]()
    texts: list[str] = []

    async def other() -> None:
        texts.append((await bench.agent.generate("hi")).text)

    for at in range(1, 40, 3):
        bench.model.calls.clear()
        own = Bench([TOOLS, "done"])
        own.agent = Agent(id="own", model=WatchedModel([TOOLS, "done"]), tools=[bench.tool("one"), bench.tool("two")])
        async with anyio.create_task_group() as group:
            group.start_soon(other)
            await cancelled_at(own, generate, at)

    assert texts == ["let medone"] * len(range(1, 40, 3))


async def test_a_tool_that_ignores_its_cancellation_is_awaited() -> None:
    """A stream is left only when its tools have ended, however long they take to clean up."""
    ended: list[str] = []

    async def slow_end(ctx: ToolContext) -> None:
        """Wait, and take time to end."""
        await ctx.writer.custom("data-on", None)
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                for _ in range(10):
                    await anyio.lowlevel.checkpoint()
                ended.append("cleaned up")

    model = ScriptedModel([Reply(tool_calls=[{"id": "c1", "name": "slow_end", "args": {}}])])
    agent = Agent(id="a", model=model, tools=[slow_end])

    async with agent.stream("hi") as stream:
        async for chunk in stream:
            if chunk.type == "data-on":
                break
    assert ended == ["cleaned up"]


async def test_a_tool_that_raises_while_it_is_cancelled_breaks_nothing() -> None:
    """Its error is nobody's: the caller has gone, or a tripwire has ended the call."""

    async def fails_late() -> None:
        """Raise on the way out."""
        try:
            await anyio.sleep_forever()
        finally:
            raise ValueError("late")

    async def fast() -> int:
        """Return."""
        return 1

    calls = [{"id": "c1", "name": "fast", "args": {}}, {"id": "c2", "name": "fails_late", "args": {}}]
    agent = Agent(
        id="a",
        model=ScriptedModel([Reply(tool_calls=calls)]),
        tools=[fast, fails_late],
        output_processors=[Processor.of("p", process_tool_result=lambda ctx: ctx.abort("no"))],
    )

    result = await agent.generate("hi")

    assert result.tripwire is not None
    assert result.tripwire.reason == "no"


async def test_the_usage_of_a_cancelled_call_is_booked() -> None:
    """`on_usage` hears of it, so that no ledger forgets what was spent."""

    class Booking(Processor):
        def __init__(self) -> None:
            super().__init__("booking")
            self.booked: list[Usage] = []

        def process_input(self, ctx: Any) -> None: ...

        def on_usage(self, usage: Usage, ctx: Any) -> None:
            self.booked.append(usage)

    booking = Booking()
    agent = Agent(id="a", model=ScriptedModel(["a long answer"]), input_processors=[booking])

    async with agent.stream("hi") as stream:
        async for chunk in stream:
            if chunk.type == "text-delta":
                break

    (usage,) = booking.booked
    assert usage.estimated is True
    assert usage.total_tokens > 0


class SlowBooking(Processor):
    """Waits, as a ledger in a database does, before it has booked."""

    def __init__(self) -> None:
        super().__init__("booking")
        self.booked: list[Usage] = []

    def process_input(self, ctx: Any) -> None: ...

    async def on_usage(self, usage: Usage, ctx: Any) -> None:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        self.booked.append(usage)


@pytest.mark.parametrize("natively", [False, True])
async def test_a_call_is_booked_once_wherever_the_run_is_cancelled(natively: bool, anyio_backend_name: str) -> None:
    """Also while it is being booked, and where asyncio cancels the task itself, as `asyncio.timeout` does."""
    if natively and anyio_backend_name == "trio":
        pytest.skip("trio has no other way to cancel")
    found: set[int] = set()

    for at in range(1, MOST_WAITS):
        booking, model = SlowBooking(), WatchedModel([Reply(text="ok", usage=Usage(3, 2))])
        agent = Agent(id="a", model=model, input_processors=[booking])
        ended, scope = anyio.Event(), anyio.CancelScope()

        async def run(agent: Agent, at: int, scope: anyio.CancelScope, ended: anyio.Event) -> None:
            target: Any = asyncio.current_task() if natively else scope
            with suppress(asyncio.CancelledError) if natively else scope:
                await CancelAt(agent.generate("hi"), target, at)
                ended.set()

        async with anyio.create_task_group() as group:
            group.start_soon(run, agent, at, scope, ended)
        await settle()
        assert len(booking.booked) == len(model.calls), at
        found.update(usage.total_tokens for usage in booking.booked)
        if ended.is_set():
            break
    else:
        raise AssertionError("the call never ended by itself")

    assert 5 in found
    assert len(found) > 1, "no call was cancelled before its usage was known"


@pytest.mark.parametrize(("store", "stride"), [(InMemoryStore, 1), (lambda: SQLiteStore(":memory:"), 4)])
async def test_a_turn_is_stored_whole_or_not_at_all(store: Callable[[], Any], stride: int) -> None:
    """Cancelled at any wait, load and save included; and the thread is free for the next call."""
    undisturbed = Bench([TOOLS, "done"], memory=Memory(InMemoryStore()))
    assert await generate_with_memory(undisturbed) == "let medone"
    whole = await kept(undisturbed.options["memory"])
    found: set[int] = set()

    for at in range(1, MOST_WAITS, stride):
        memory = Memory(store(), thread_wait_s=0)
        bench = Bench([TOOLS, "done"], memory=memory)
        reached, _ = await cancelled_at(bench, generate_with_memory, at)
        turns = await kept(memory)
        assert turns in ([], whole), at
        found.add(len(turns))
        bench.again()
        assert await generate_with_memory(bench) == "let medone", at
        assert await kept(memory) == [*turns, *whole], at
        if not reached:
            break
    else:
        raise AssertionError("the call never ended by itself")

    assert found == {0, 2}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("reply", ["ok", Reply(text="o", stream_error={"status": 400})])
@pytest.mark.parametrize(("store", "stride"), [(InMemoryStore, 1), (lambda: SQLiteStore(":memory:"), 3)])
async def test_the_thread_is_free_wherever_asyncio_cancels_the_task(
    anyio_backend: str, store: Callable[[], Any], stride: int, reply: Any
) -> None:
    """Also while the run is being closed, which no scope can shield from a cancellation of the task itself."""
    task = asyncio.current_task()
    assert task is not None
    for at in range(1, MOST_WAITS, stride):
        memory = Memory(store(), thread_wait_s=0)
        agent = Agent(id="a", model=WatchedModel([reply]), input_processors=[SlowBooking()], memory=memory)
        cancelled = False
        try:
            await CancelAt(agent.generate("hi", memory=ON), task, at)
        except ModelError:
            pass
        except asyncio.CancelledError:
            cancelled = True
            task.uncancel()
        after = Agent(id="a", model=WatchedModel(["ok"]), memory=memory)
        assert (await after.generate("again", memory=ON)).text == "ok", at
        if not cancelled:
            break
    else:
        raise AssertionError("the call never ended by itself")


async def generate_with_memory(bench: Bench) -> str:
    """Call the agent on a thread."""
    return (await bench.agent.generate("hi", memory=ON)).text
