"""A `parallel` in the stream of an agent: who holds what back from whom."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway import Processor, Workflow
from sluiceway.errors import MergeConflict
from sluiceway.messages import Chunk
from sluiceway.processors import HookCall, HookEvent, PIIDetector, run_on
from tests.support.runs import calls_tool, collect, make_agent
from tests.support.streams import Pass, Window, chunks_of, redacts, texts_of

pytestmark = pytest.mark.anyio


def refuses(ctx: Any, text: str) -> None:
    if "bad" in text:
        ctx.abort("refused")


async def test_nothing_of_a_piece_that_a_check_refuses_goes_out() -> None:
    """Not even as the redactor that was picked made it."""
    window = Window("window", 10, looks=refuses)
    gate = Workflow("w").parallel([redacts("mail", r"\w+@\w+"), window]).map("processor:mail")
    agent, _ = make_agent(["all well ", "a@b ", "is bad ", "and more"], output_processors=[gate])

    ran = await collect(agent, "hi")

    assert ran.emitted == "all well "
    trip = ran.result.tripwire
    assert trip is not None
    assert (trip.reason, trip.path) == ("refused", "w › parallel[0] › processor:window")


async def test_a_redactor_beside_a_window_gives_the_plain_redaction() -> None:
    texts = ["my card is 4111 ", "1111 1111 ", "1111, mail jo", "@example.com", " ok?"]
    gate = Workflow("w").parallel([PIIDetector(), Window("window", 16)]).map("processor:pii-detector")
    gated, _ = make_agent(texts, output_processors=[gate])
    plain, _ = make_agent(texts, output_processors=[PIIDetector()])

    one, other = await collect(gated, "hi"), await collect(plain, "hi")

    assert (one.emitted, one.result.text) == (other.emitted, other.result.text)
    assert "example" not in one.emitted


async def test_a_tool_call_waits_behind_text_that_is_held() -> None:
    """And runs when it has come out, with all of its step's text before it."""
    gate = Workflow("w").parallel([Window("window", 100), Pass("pass")])
    replies = [{"text": ["look", "ing"], "tool_calls": [calls_tool("t")]}, "done"]
    ran_tools: list[str] = []

    def t() -> str:
        """A tool."""
        ran_tools.append("t")
        return "7"

    agent, _ = make_agent(*replies, tools=[t], output_processors=[gate])

    ran = await collect(agent, "hi")

    assert [chunk.type for chunk in ran.of("text-delta", "tool-call", "tool-result")][:4] == [
        "text-delta",
        "text-delta",
        "tool-call",
        "tool-result",
    ]
    assert (ran.result.text, ran_tools) == ("lookingdone", ["t"])


class Hasty(Window):
    """A window that is flushed after a moment of silence."""

    def process_output_stream(self, ctx: Any) -> Any:
        ctx.flush_after(0.01)
        return super().process_output_stream(ctx)


def noting_text(name: str, told: list[str]) -> Processor:
    """Return a processor that notes each text and each end of a block."""

    def run(ctx: Any) -> Any:
        if ctx.part.type in ("text-delta", "text-end"):
            told.append(f"{name} {ctx.part.text or 'end'}")
        return ctx.part

    return Processor.of(name, process_output_stream=run)


@pytest.mark.parametrize("sibling", [Window("sibling", 100), Pass("sibling")], ids=["holds", "passes"])
@pytest.mark.parametrize("nested", [False, True])
async def test_a_timer_flushes_its_own_processor_only(sibling: Processor, nested: bool) -> None:
    """What a sibling holds stays held, in the gate and in the sibling."""
    told: list[str] = []
    gate = Workflow("w").parallel([Hasty("hasty", 100), sibling])
    if nested:
        gate = Workflow("v").parallel([gate, Pass("pass")])
    agent, _ = make_agent(
        {"text": ["first ", "second"], "delay_s": 0.05},
        output_processors=[noting_text("in", told), gate, noting_text("out", told)],
    )

    await collect(agent, "hi")

    if isinstance(sibling, Window):
        assert told == ["in first ", "in second", "in end", "out first ", "out second", "out end"]
    else:
        assert told == ["in first ", "out first ", "in second", "in end", "out second", "out end"]


async def test_data_of_a_branch_that_is_not_picked_is_sent_before_the_chunk_in_hand() -> None:
    async def tells(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            await ctx.writer.custom("data-seen", ctx.part.text)
        return ctx.part

    gate = Workflow("w").parallel([Pass("pass"), Processor.of("tells", process_output_stream=tells)])
    agent, _ = make_agent(["a", "b"], output_processors=[gate.map("processor:pass")])

    ran = await collect(agent, "hi")

    told = [(chunk.type, chunk.data or chunk.text) for chunk in ran.of("data-seen", "text-delta")]
    assert told == [("data-seen", "a"), ("text-delta", "a"), ("data-seen", "b"), ("text-delta", "b")]


async def test_a_condition_is_asked_once_per_step_with_the_messages_of_the_call() -> None:
    asked: list[tuple[str, str]] = []

    def holds(call: HookCall) -> bool:
        asked.append((call.hook, call.messages[0].text))
        return True

    arm = Workflow("arm").parallel([redacts("a", "abc"), Window("window", 3)])
    gate = Workflow("w").parallel([Workflow("z").branch([(holds, arm)]), Pass("pass")])
    agent, _ = make_agent(["x abc", " abc", " end"], output_processors=[gate])

    ran = await collect(agent, "hi")

    assert ran.emitted == "x [A] [A] end"
    assert asked[:-1] == [("process_output_stream", "hi")]
    assert asked[-1][0] == "process_output_result"


async def test_hooks_of_several_branches_run_side_by_side() -> None:
    """Each waits for the other, so one after the other would hang."""
    arrived = [anyio.Event(), anyio.Event()]

    def meets(number: int) -> Processor:
        async def run(ctx: Any) -> Any:
            if ctx.part.type == "text-delta":
                arrived[number].set()
                await arrived[1 - number].wait()
            return ctx.part

        return Processor.of(f"meets-{number}", process_output_stream=run)

    agent, _ = make_agent("hello", output_processors=[Workflow("w").parallel([meets(0), meets(1)])])

    with anyio.fail_after(2):
        ran = await collect(agent, "hi")

    assert ran.emitted == "hello"


async def test_a_branch_that_trips_cancels_its_siblings() -> None:
    """The first in list order goes up, with the inner processor's id."""
    ended: list[str] = []

    async def slow(ctx: Any) -> Any:
        if ctx.part.type != "text-delta":
            return ctx.part
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("slow")

    async def trips(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            await anyio.lowlevel.checkpoint()
            ctx.abort("stop")
        return ctx.part

    branches = [Processor.of("slow", process_output_stream=slow), Processor.of("trips", process_output_stream=trips)]
    agent, _ = make_agent("hello", output_processors=[Workflow("w").parallel(branches)])

    with anyio.fail_after(2):
        ran = await collect(agent, "hi")

    trip = ran.result.tripwire
    assert trip is not None
    assert (trip.processor_id, ended, ran.emitted) == ("trips", ["slow"], "")


@pytest.mark.parametrize("waits", [True, False], ids=["async", "plain"])
async def test_with_wait_all_every_trip_is_known(waits: bool) -> None:
    """The first in list order goes up, and has the others along."""

    def trips(name: str, turns: int) -> Processor:
        def at_once(ctx: Any) -> Any:
            if ctx.part.type == "text-delta":
                ctx.abort(name)
            return ctx.part

        async def later(ctx: Any) -> Any:
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            return at_once(ctx)

        return Processor.of(name, process_output_stream=later if waits else at_once)

    branches = [trips("one", 3), trips("two", 0), Pass("three")]
    call = await Workflow("w").parallel(branches, wait="all").run_on("hello", hook="process_output_stream")

    assert call.tripwire.reason == "one"
    assert [violation.message for violation in call.violations] in (["one", "two"], ["two", "one"])
    assert call.text == ""


async def test_a_trip_of_a_plain_hook_leaves_nothing_unawaited() -> None:
    """A coroutine of a sibling that was made and not begun is closed: no warning tells of it."""
    begun: list[str] = []

    async def waits(ctx: Any) -> Any:
        begun.append(ctx.part.type)
        return ctx.part

    def trips(ctx: Any) -> Any:
        ctx.abort("stop")

    branches = [Processor.of("trips", process_output_stream=trips), Processor.of("waits", process_output_stream=waits)]
    agent, _ = make_agent("hello", output_processors=[Workflow("w").parallel(branches)])

    ran = await collect(agent, "hi")

    assert ran.result.tripwire is not None
    assert ran.result.tripwire.processor_id == "trips"


async def test_a_conflict_in_the_stream_names_branches_and_place() -> None:
    def shouts(name: str) -> Processor:
        def run(ctx: Any) -> Any:
            part = ctx.part
            return part.replace(text=part.text + name) if part.type == "text-delta" else part

        return Processor.of(name, process_output_stream=run)

    agent, _ = make_agent("hello", output_processors=[Workflow("w").parallel([shouts("one"), shouts("two")])])

    ran = await collect(agent, "hi")

    assert isinstance(ran.error, MergeConflict)
    assert (ran.error.keys, ran.error.path) == (("processor:one", "processor:two"), "w › parallel[0]")
    assert ran.emitted == ""


async def test_a_map_makes_of_a_segment_what_it_wants() -> None:
    def louder(results: dict[str, HookCall]) -> HookCall:
        call = results["processor:a"]
        return call.replace(parts=[part.replace(text=part.text.upper()) if part.text else part for part in call.parts])

    gate = Workflow("w").parallel([redacts("a", "abc"), Window("window", 4)]).map(louder)
    agent, _ = make_agent(["x ab", "c y"], output_processors=[gate])

    assert (await collect(agent, "hi")).emitted == "X [A] Y"


async def test_a_map_may_wait() -> None:
    async def picks(results: dict[str, HookCall]) -> HookCall:
        await anyio.lowlevel.checkpoint()
        return results["processor:a"]

    nested = Workflow("n").parallel([redacts("a", "abc"), Pass("pass")]).map(picks)
    agent, _ = make_agent(["x ab", "c y"], output_processors=[Workflow("w").parallel([nested, Window("window", 4)])])

    assert (await collect(agent, "hi")).emitted == "x [A] y"


async def test_blocks_of_reasoning_and_text_each_keep_their_own_text() -> None:
    chunks = chunks_of([("reasoning", "think abc", [3]), ("text", "say abc", [5])], [0, 1, 0, 1, 0, 1, 0, 1])
    gate = Workflow("w").parallel([redacts("a", "abc"), Window("window", 4)])

    ran = await run_on([gate], chunks, hook="process_output_stream")

    texts, others = texts_of(ran.parts)
    assert texts == {"reasoning-0": "think [A]", "text-1": "say [A]"}
    assert others == texts_of(chunks)[1]


async def test_two_redactors_of_one_tool_call_are_merged_by_argument() -> None:
    chunk = Chunk("tool-call", {"tool_call_id": "c", "tool_name": "t", "args": {"q": "abc", "r": "xyz"}})
    gate = Workflow("w").parallel([redacts("a", "abc"), redacts("b", "xyz")])

    ran = await run_on([gate], [chunk], hook="process_output_stream")

    assert [part.get("args") for part in ran.parts] == [{"q": "[A]", "r": "[B]"}]


async def test_an_observer_is_told_of_the_processors_in_the_branches() -> None:
    events: list[HookEvent] = []
    nested = Workflow("n").parallel([redacts("a", "abc"), Pass("pass")])
    gate = Workflow("w").parallel([nested, Window("window", 4)])
    agent, _ = make_agent(["x abc"], output_processors=[gate])

    await collect(agent, "hi", observer=events.append)

    told = {(e.processor_id, e.outcome) for e in events if e.hook == "process_output_stream"}
    assert told == {("a", "edited"), ("pass", "passed"), ("window", "passed")}
