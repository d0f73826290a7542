"""`concurrency="auto"`: checks that wait for others run side by side, with the outcome of list order."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway import Agent, Processor, Workflow
from sluiceway.engine import run_plan
from sluiceway.errors import ConfigurationError, ProcessorError, TripWire
from sluiceway.messages import Chunk, Message, MessageList
from sluiceway.models import ScriptedModel
from sluiceway.processors import Effects, HookCall, HookScope, compile_chain
from sluiceway.tools import RequestContext
from tests.support.processors import INPUT_HOOKS, hooked
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, make_agent
from tests.support.tasks import living_tasks, settle

pytestmark = pytest.mark.anyio

WAITS = Effects(reads=("messages",), external=True)


def meeting(number: int, met: list[anyio.Event], *, hook: str = "process_input", effects: Any = WAITS) -> Processor:
    """Return a check that waits for all others: one after the other they would never end."""

    async def run(ctx: Any) -> None:
        met[number].set()
        for other in met:
            await other.wait()

    return hooked(f"meets-{number}", {hook: run}, effects=effects)


@each_entry
@pytest.mark.parametrize(
    "hook",
    [*INPUT_HOOKS, "process_output_step", "process_tool_result", "process_output_result"],
)
async def test_neighbours_that_wait_run_side_by_side(entry: Entry, hook: str) -> None:
    met = [anyio.Event() for _ in range(5)]
    checks = [meeting(number, met, hook=hook) for number in range(5)]
    name = "input_processors" if hook in INPUT_HOOKS else "output_processors"

    def t() -> int:
        """A tool."""
        return 7

    options: dict[str, Any] = {name: checks}
    agent, _ = make_agent({"tool_calls": [calls_tool("t")]}, "done", tools=[t], concurrency="auto", **options)

    with anyio.fail_after(2):
        ran = await by(entry, agent, "hi")

    assert ran.result.text == "done"


async def test_five_checks_take_as_long_as_one() -> None:
    async def run(ctx: Any) -> None:
        await anyio.sleep(0.05)

    checks = [Processor.of(f"c{n}", process_input=run, effects=WAITS) for n in range(5)]
    agent, _ = make_agent("ok", input_processors=checks, concurrency="auto")

    started = anyio.current_time()
    await agent.generate("hi")

    assert 0.05 <= anyio.current_time() - started < 0.15


@each_entry
@pytest.mark.parametrize(
    "effects",
    [None, Effects.none(), Effects(writes=("messages",), external=True), Effects(writes=("state",), external=True)],
    ids=["undeclared", "rules", "writes", "state"],
)
async def test_anything_else_stays_in_order(entry: Entry, effects: Effects | None) -> None:
    at_work: list[int] = [0, 0]

    async def run(ctx: Any) -> None:
        at_work[0] += 1
        at_work[1] = max(at_work)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        at_work[0] -= 1

    checks = [Processor.of(f"c{n}", process_input=run, effects=effects) for n in range(3)]
    agent, _ = make_agent("ok", input_processors=checks, concurrency="auto")

    await by(entry, agent, "hi")

    assert at_work == [0, 1]


@each_entry
async def test_the_default_is_one_after_the_other(entry: Entry) -> None:
    order: list[str] = []

    def check(name: str) -> Processor:
        async def run(ctx: Any) -> None:
            order.append(f"{name} in")
            await anyio.lowlevel.checkpoint()
            order.append(f"{name} out")

        return Processor.of(name, process_input=run, effects=WAITS)

    agent, _ = make_agent("ok", input_processors=[check("a"), check("b")])
    await by(entry, agent, "hi")
    assert order == ["a in", "a out", "b in", "b out"]


def tripping(name: str, *, after: int, does: str = "abort", told: list[str] | None = None) -> Processor:
    """Return a check that waits some turns, warns, and then trips, fails, or passes."""

    async def run(ctx: Any) -> None:
        ctx.warn(f"{name} warns")
        await ctx.writer.custom("data-from", name)
        for _ in range(after):
            await anyio.lowlevel.checkpoint()
        if does == "abort":
            ctx.abort(name)
        if does == "fail":
            raise ValueError(name)

    return Processor.of(
        name,
        process_input=run,
        effects=WAITS,
        on_violation=lambda v: told.append(v.message) if told is not None else None,
    )


@each_entry
async def test_a_later_trip_waits_for_the_earlier_check(entry: Entry) -> None:
    """And what the later ones said is dropped if the earlier trips."""
    told: list[str] = []
    checks = [
        tripping("first", after=0, does="pass", told=told),
        tripping("slow", after=20, told=told),
        tripping("fast", after=0, told=told),
    ]
    agent, model = make_agent("never", input_processors=checks, concurrency="auto")

    ran = await by(entry, agent, "hi")

    trip = ran.result.tripwire
    assert trip is not None
    assert (trip.processor_id, trip.path, len(model.calls)) == ("slow", "processor:slow", 0)
    assert told == ["first warns", "slow warns", "slow"]
    assert [(e.processor_id, e.status) for e in ran.result.audit] == [
        ("first", "flagged"),
        ("slow", "flagged"),
        ("slow", "blocked"),
    ]
    if entry == "stream":
        assert [chunk.data for chunk in ran.of("data-from")] == ["first", "slow"]


@each_entry
async def test_an_earlier_trip_cancels_the_later_checks(entry: Entry) -> None:
    ended: list[str] = []

    async def hangs(ctx: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("hangs")

    checks = [tripping("trips", after=2), Processor.of("hangs", process_input=hangs, effects=WAITS)]
    agent, _ = make_agent("never", input_processors=checks, concurrency="auto")

    with anyio.fail_after(2):
        ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.processor_id, ended) == ("trips", ["hangs"])


@each_entry
async def test_the_first_in_list_order_decides_between_an_error_and_a_trip(entry: Entry) -> None:
    checks = [tripping("fails", after=5, does="fail"), tripping("trips", after=0)]
    agent, _ = make_agent("never", input_processors=checks, concurrency="auto")
    ran = await by(entry, agent, "hi")
    assert isinstance(ran.error, ProcessorError)
    assert ran.error.processor_id == "fails"

    agent, _ = make_agent("never", input_processors=checks[::-1], concurrency="auto")
    ran = await by(entry, agent, "hi")
    assert ran.result.tripwire is not None
    assert ran.result.tripwire.processor_id == "trips"


@each_entry
async def test_one_that_lied_is_named(entry: Entry) -> None:
    async def writes(ctx: Any) -> None:
        await anyio.lowlevel.checkpoint()
        ctx.messages[0].parts[0].text = "other"

    checks = [
        tripping("before", after=9, does="pass"),
        Processor.of("liar", process_input=writes, effects=WAITS),
        tripping("behind", after=9, does="pass"),
    ]
    agent, _ = make_agent("never", input_processors=checks, concurrency="auto")

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert ran.error.processor_id == "liar"


async def test_processors_see_the_data_chunks_of_those_that_passed() -> None:
    """Through the whole list, in their order, though a later check tripped."""
    seen: list[str] = []

    def look(ctx: Any) -> Chunk:
        if ctx.part.type == "data-from":
            seen.append(ctx.part.data)
        return ctx.part

    agent, _ = make_agent(
        "never",
        input_processors=[tripping("passes", after=4, does="pass"), tripping("trips", after=0)],
        output_processors=[Processor.of("look", process_output_stream=look, process_data_parts=True)],
        concurrency="auto",
    )
    ran = await collect(agent, "hi")
    assert seen == ["passes"]
    assert [chunk.data for chunk in ran.of("data-from")] == ["passes"]


async def test_steps_of_a_workflow_are_neighbours_too() -> None:
    met = [anyio.Event() for _ in range(3)]
    workflow = Workflow("w").then(meeting(0, met)).then(meeting(1, met))
    agent, _ = make_agent("ok", input_processors=[workflow, meeting(2, met)], concurrency="auto")
    with anyio.fail_after(2):
        assert (await agent.generate("hi")).text == "ok"


async def test_a_list_of_one_call_runs_as_the_agents_own() -> None:
    met = [anyio.Event() for _ in range(2)]
    agent, _ = make_agent("ok", concurrency="auto")
    with anyio.fail_after(2):
        result = await agent.generate("hi", input_processors=[meeting(0, met), meeting(1, met)])
    assert result.text == "ok"


@pytest.mark.parametrize("trips", [True, False])
async def test_a_plan_that_is_run_without_an_agent_does_the_same(trips: bool) -> None:
    chain = compile_chain(
        [tripping("slow", after=9, does="abort" if trips else "pass"), tripping("fast", after=0, does="pass")],
        "input",
        concurrency="auto",
    )
    scope = HookScope("run", RequestContext())
    call = HookCall("process_input", MessageList([Message("hi")]))
    if trips:
        with pytest.raises(TripWire) as caught:
            await run_plan(chain.for_hook("process_input"), call, scope)
        assert caught.value.processor_id == "slow"
    else:
        assert await run_plan(chain.for_hook("process_input"), call, scope) is call
    told = ["slow warns", "slow"] if trips else ["slow warns", "fast warns"]
    assert [violation.message for violation in scope.violations] == told
    assert len(scope.audit) == 2
    assert [chunk.data for chunk, _ in scope.written] == (["slow"] if trips else ["slow", "fast"])


async def test_cancelling_a_group_leaves_nothing_behind() -> None:
    before = living_tasks()
    hang = [Processor.of(f"h{n}", process_input=lambda ctx: anyio.sleep_forever(), effects=WAITS) for n in range(3)]
    agent, _ = make_agent("never", input_processors=hang, concurrency="auto")
    with anyio.move_on_after(0.02) as scope:
        await agent.generate("hi")
    await settle()
    assert (scope.cancelled_caught, living_tasks()) == (True, before)


def test_another_way_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="concurrency='all'"):
        compile_chain([], "input", concurrency="all")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="concurrency='all'"):
        Agent(id="a", model=ScriptedModel(["x"]), concurrency="all")  # type: ignore[arg-type]
