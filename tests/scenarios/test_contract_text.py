"""The text of a run: streamed, held, in the result, in the reply."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from sluiceway import Agent, Processor
from sluiceway.messages import Chunk, TextPart
from sluiceway.models import Reply
from tests.support.models import ChunkModel, deltas
from tests.support.processors import TailHolder, hooked, noting, replace_text, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, make_agent, parts_of

pytestmark = pytest.mark.anyio

HOLDS = pytest.mark.parametrize("hold", ["step", "run"])


def edits(hook: str, old: str, new: str) -> Processor:
    """Return a processor that replaces text in the reply from a hook."""
    return hooked("edits", {hook: lambda ctx: replace_text(ctx.messages, old, new)})


@each_entry
async def test_text_that_nobody_edited_later_is_the_same_everywhere(entry: Entry) -> None:
    """Stream hooks edit what is streamed, so that nothing differs."""

    def mask(ctx: Any) -> Any:
        part = ctx.part
        return part.replace(text="***") if part.text == "secret" else part

    agent, _ = make_agent(["a ", "secret"], output_processors=[Processor.of("m", process_output_stream=mask)])

    ran = await by(entry, agent, "hi")

    assert (ran.result.text, ran.result.edited_after_stream) == ("a ***", False)
    assert ran.result.steps[0].text == "a ***"
    assert parts_of(ran.result) == [["text:a ***"]]
    if entry == "stream":
        assert ran.emitted == "a ***"


@each_entry
@pytest.mark.parametrize("hook", ["process_output_step", "process_output_result"])
async def test_a_later_edit_is_said(entry: Entry, hook: str) -> None:
    """The result has the edited text and says that it is not what was streamed."""
    agent, _ = make_agent("hello", output_processors=[edits(hook, "hello", "bye")])

    ran = await by(entry, agent, "hi")

    assert (ran.result.text, parts_of(ran.result)) == ("bye", [["text:bye"]])
    if entry == "stream":
        assert ran.emitted == "hello"
        assert ran.result.edited_after_stream is True


@HOLDS
async def test_held_text_is_what_the_step_hooks_made_of_it(hold: str) -> None:
    """One delta per block, as edited; stream, result and reply agree."""
    agent, _ = make_agent(["hel", "lo"], output_processors=[edits("process_output_step", "hello", "bye")])

    ran = await collect(agent, "hi", hold=hold)

    assert [chunk.text for chunk in ran.of("text-delta")] == ["bye"]
    assert (ran.result.text, ran.result.edited_after_stream) == ("bye", False)
    assert ran.types == [
        "start",
        "step-start",
        "text-start",
        "text-delta",
        "text-end",
        "step-finish",
        "finish",
    ]


def edit_second(message: Any) -> None:
    """Change the second text of a reply."""
    [part for part in message.parts if part.type == "text"][1].text = "B"


def add_third(message: Any) -> None:
    """Add a text to a reply."""
    message.parts.append(TextPart("c"))


def drop_first(message: Any) -> None:
    """Take the first text out of a reply."""
    message.parts.remove(next(part for part in message.parts if part.type == "text"))


def drop_all(message: Any) -> None:
    """Leave a reply without text."""
    message.parts[:] = [part for part in message.parts if part.type != "text"]


@HOLDS
@pytest.mark.parametrize("hook", ["process_output_step", "process_output_result"])
@pytest.mark.parametrize(
    ("edit", "deltas_", "text"),
    [
        (edit_second, ["a", "B"], "aB"),
        (add_third, None, "abc"),
        (drop_first, None, "b"),
        (drop_all, None, ""),
    ],
)
async def test_held_text_fits_the_reply_however_its_parts_changed(
    hold: str, hook: str, edit: Any, deltas_: list[str] | None, text: str
) -> None:
    """Two blocks, one of them edited, one more, one less, none: what is read is what is in the result."""
    model = ChunkModel([*deltas("a"), *deltas("b", block="text-2"), Chunk("finish", {"reason": "stop"})])
    change = hooked("p", {hook: lambda ctx: edit(ctx.messages[-1])})
    agent = Agent(id="a", model=model, output_processors=[change])

    ran = await collect(agent, "hi", hold=hold)

    late = hook == "process_output_result" and hold == "step"
    assert ran.result.text == text
    assert ran.emitted == ("ab" if late else text)
    assert ran.result.edited_after_stream is late
    if deltas_ is not None and not late:
        assert [chunk.text for chunk in ran.of("text-delta")] == deltas_


@HOLDS
async def test_holding_keeps_the_order_of_all_chunks(hold: str) -> None:
    """But for deltas that become one, a held stream is the same stream later."""
    script = [
        Reply(reasoning="hm", text=["look ", "there"], tool_calls=[calls_tool("t")]),
        Reply(text=["do", "ne"]),
    ]
    agent, _ = make_agent(*script, *script, tools=[tool_named("t")])

    shown, held = await collect(agent, "hi"), await collect(agent, "hi", hold=hold)

    assert [type_ for type_, _ in itertools.groupby(shown.types)] == held.types
    assert [c.payload["reason"] for c in held.of("step-finish")] == ["tool-calls", "stop"]


async def test_hold_run_waits_for_the_result_hooks_and_hold_step_does_not() -> None:
    """What is edited at the very end is delivered so by `hold="run"` only."""
    agent, _ = make_agent(["hel", "lo"], output_processors=[edits("process_output_result", "hello", "bye")])

    by_step, by_run = await collect(agent, "hi", hold="step"), await collect(agent, "hi", hold="run")

    assert (by_step.emitted, by_step.result.text, by_step.result.edited_after_stream) == (
        "hello",
        "bye",
        True,
    )
    assert (by_run.emitted, by_run.result.text, by_run.result.edited_after_stream) == ("bye", "bye", False)


async def test_hold_step_delivers_a_step_when_its_hooks_have_passed() -> None:
    """The first step is out before the second one is asked for."""
    trace: list[str] = []
    watch = noting("o", trace, "process_output_step")
    agent, _ = make_agent(
        Reply(text="one", tool_calls=[calls_tool("t")]),
        "two",
        tools=[tool_named("t", trace=trace)],
        output_processors=[watch],
    )

    async with agent.stream("hi", hold="step") as stream:
        async for chunk in stream:
            if chunk.type in ("text-delta", "tool-call", "tool-result"):
                trace.append(chunk.text or chunk.type)  # noqa: PERF401 - in between the hooks

    assert trace.index("o.process_output_step") < trace.index("one") < trace.index("two")
    assert [entry for entry in trace if not entry.startswith(("o.", "tool:"))] == [
        "one",
        "tool-call",
        "tool-result",
        "two",
    ]
    assert trace.index("one") < len(trace) - 1 - trace[::-1].index("o.process_output_step")


async def test_hold_run_delivers_nothing_of_the_answer_before_the_end() -> None:
    """All text, reasoning and tool chunks come behind the result hooks, in their order."""
    trace: list[str] = []
    watch = noting("o", trace, "process_output_result")
    agent, _ = make_agent(
        Reply(reasoning=["hm", "m"], text="one ", tool_calls=[calls_tool("t")]),
        ["t", "wo"],
        tools=[tool_named("t")],
        output_processors=[watch],
    )

    async with agent.stream("hi", hold="run") as stream:
        async for chunk in stream:
            if chunk.type in ("reasoning-delta", "text-delta", "tool-call", "tool-result"):
                trace.append(chunk.text or chunk.type)  # noqa: PERF401 - in between the hooks

    assert trace == ["o.process_output_result", "hm", "m", "one ", "tool-call", "tool-result", "two"]


@HOLDS
async def test_a_rejected_attempt_delivers_nothing_when_held(hold: str) -> None:
    """Neither its text, nor its reasoning, nor its tool chunks."""

    def reject(ctx: Any) -> None:
        if ctx.retry_count == 0:
            ctx.abort("again", retry=True)

    agent, _ = make_agent(
        Reply(reasoning="bad", text="bad", tool_calls=[calls_tool("t", {"q": "bad"})]),
        Reply(reasoning="good", text="good"),
        tools=[tool_named("t", "bad")],
        output_processors=[Processor.of("p", process_tool_result=reject)],
        max_processor_retries=1,
    )

    ran = await collect(agent, "hi", hold=hold)

    assert "bad" not in repr([dict(chunk.payload) for chunk in ran.chunks if chunk.type != "step-finish"])
    assert [chunk.text for chunk in ran.of("text-delta", "reasoning-delta")] == ["good", "good"]
    assert [chunk.payload["reason"] for chunk in ran.of("step-finish")] == ["retry", "stop"]


@HOLDS
@pytest.mark.parametrize("hook", ["process_output_step", "process_output_stream", "process_llm_response"])
async def test_a_tripped_attempt_delivers_nothing_when_held(hold: str, hook: str) -> None:
    """The reader gets the tripwire and no text before it."""

    def trip(ctx: Any) -> Any:
        if hook != "process_output_stream" or ctx.part.type == "text-end":
            ctx.abort("no")
        return ctx.part

    where = "input_processors" if hook == "process_llm_response" else "output_processors"
    agent, _ = make_agent(Reply(reasoning="bad", text="bad"), **{where: [hooked("p", {hook: trip})]})

    ran = await collect(agent, "hi", hold=hold)

    assert ran.types == ["start", "step-start", "tripwire", "finish"]


async def test_a_result_that_trips_delivers_nothing_when_the_run_is_held() -> None:
    """With `hold="run"` even the last hook can keep everything in."""
    agent, _ = make_agent(
        "bad", output_processors=[Processor.of("p", process_output_result=lambda ctx: ctx.abort("no"))]
    )

    ran = await collect(agent, "hi", hold="run")

    assert ran.emitted == ""
    assert ran.types[-2:] == ["tripwire", "finish"]


@HOLDS
async def test_data_of_a_rejected_attempt_is_delivered_in_its_place(hold: str) -> None:
    """What is withheld of it is its text, reasoning and tool chunks; data says what is going on."""

    async def step(ctx: Any) -> None:
        await ctx.writer.custom("data-try", ctx.retry_count)
        if ctx.retry_count == 0:
            ctx.abort("again", retry=True)

    agent, _ = make_agent("x", output_processors=[Processor.of("p", process_output_step=step)], max_processor_retries=1)

    ran = await collect(agent, "hi", hold=hold)

    wanted = ran.of("data-try", "text-delta", "step-finish")
    assert [chunk.data if chunk.type == "data-try" else chunk.type for chunk in wanted] == [
        0,
        "step-finish",
        "text-delta",
        1,
        "step-finish",
    ]


async def test_text_of_several_blocks_is_joined_in_order() -> None:
    """Held text of one block stays in its block."""
    agent, _ = make_agent(
        Reply(text=["one ", "two "], tool_calls=[calls_tool("t")]),
        ["three ", "four"],
        tools=[tool_named("t")],
        output_processors=[TailHolder("hold", 3)],
    )

    ran = await collect(agent, "hi")

    assert ran.emitted == ran.result.text == "one two three four"
    assert [step.text for step in ran.result.steps] == ["one two ", "three four"]


@each_entry
async def test_metadata_of_the_reply_is_in_the_ui_messages(entry: Entry) -> None:
    """Set in the result hook, it reaches whoever renders the reply."""

    def label(ctx: Any) -> None:
        ctx.messages[-1].metadata["label"] = {"safe": True}

    agent, _ = make_agent("ok", output_processors=[Processor.of("p", process_output_result=label)])

    ran = await by(entry, agent, "hi")

    assert [m["metadata"]["label"] for m in ran.result.response.ui_messages] == [{"safe": True}]
    assert [m.metadata["label"] for m in ran.result.response.messages] == [{"safe": True}]
    if entry == "stream":
        response = ran.chunks[-1].payload["response"]
        assert [m["metadata"]["label"] for m in response.ui_messages] == [{"safe": True}]


async def test_a_wrong_hold_is_refused() -> None:
    """The error says what is allowed."""
    agent, _ = make_agent("ok")

    with pytest.raises(ValueError, match=r"hold.*step.*run"):
        await collect(agent, "hi", hold="forever")
