"""Area C: what the caller sees of a tripwire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Agent, Processor, Workflow
from sluiceway.messages import Usage
from sluiceway.models import Reply, ScriptedModel
from tests.support.processors import hooked
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, make_agent
from tests.support.storing import THREAD, new_memory, stored

pytestmark = pytest.mark.anyio


def blocker(word: str, hook: str = "process_output_stream", **abort: Any) -> Processor:
    """Return a guard that aborts where the text of its hook holds a word."""

    def text_of(ctx: Any) -> str:
        if hook == "process_output_stream":
            return ctx.part.text
        if hook in ("process_output_step", "process_output_result"):
            return "".join(m.text for m in ctx.messages if m.role == "assistant")
        return "".join(m.text for m in ctx.messages)

    def run(ctx: Any) -> Any:
        if word in text_of(ctx):
            ctx.abort(f"said {word}", **abort)
        return ctx.part if hook == "process_output_stream" else None

    return hooked("blocker", {hook: run})


@each_entry
async def test_b042_an_input_block_says_why_and_calls_no_model(entry: Entry) -> None:
    """The caller learns who stopped the call, why, and with what metadata."""
    guard = Processor.of("guard", process_input=lambda ctx: ctx.abort("no", metadata={"k": 1}))
    memory = new_memory()
    agent, model = make_agent("never", input_processors=[guard], memory=memory)

    ran = await by(entry, agent, "hi", memory=THREAD)

    trip = ran.result.tripwire
    assert trip is not None
    assert (trip.reason, trip.processor_id, trip.retry, trip.metadata) == ("no", "guard", False, {"k": 1})
    assert await stored(memory) == []
    assert (ran.result.text, ran.result.finish_reason, ran.result.response.messages) == ("", "other", ())
    assert len(model.calls) == 0
    if entry == "stream":
        assert ran.types == ["start", "tripwire", "finish"]
        assert ran.chunks[1].payload["metadata"] == {"k": 1}


@each_entry
async def test_b043_an_abort_before_the_model_is_no_model_failure(entry: Entry) -> None:
    """Neither the model's retries nor its fallback see a tripwire."""
    first, second = ScriptedModel(["a"], max_retries=3), ScriptedModel(["b"], model_id="second")
    guard = Processor.of("guard", process_input_step=lambda ctx: ctx.abort("stop"))
    agent = Agent(id="tested", model=[first, second], input_processors=[guard])

    ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert (len(first.calls), len(second.calls)) == (0, 0)
    if entry == "stream":
        assert ran.types == ["start", "step-start", "tripwire", "finish"]


@each_entry
async def test_b044_after_a_block_in_mid_stream_only_finish_comes(entry: Entry) -> None:
    """What was delivered stays delivered; the result has none of it."""
    agent, _ = make_agent(["good ", "bad ", "more"], output_processors=[blocker("bad")])

    ran = await by(entry, agent, "hi")

    assert ran.result.text == ""
    if entry == "stream":
        assert ran.emitted == "good "
        assert ran.types[-2:] == ["tripwire", "finish"]


@each_entry
async def test_b045_a_block_at_the_end_withholds_the_text_everywhere(entry: Entry) -> None:
    """No accessor of the result holds a text that the last hook refused."""
    memory = new_memory()
    guard = blocker("secret", "process_output_result", metadata={"n": 1})
    agent, _ = make_agent("secret", output_processors=[guard], memory=memory)

    ran = await by(entry, agent, "hi", memory=THREAD)

    result = ran.result
    assert (result.text, result.finish_reason, result.object) == ("", "other", None)
    assert (result.response.messages, result.response.ui_messages) == ((), ())
    assert [step.text for step in result.steps if "secret" in step.text] == []
    assert await stored(memory) == []
    if entry == "stream":
        assert ran.types[-3:] == ["step-finish", "tripwire", "finish"]
        assert ran.chunks[-1].payload.get("text", "") == ""


@each_entry
async def test_b046_a_refused_answer_stays_out_when_the_retries_are_used_up(entry: Entry) -> None:
    """The tripwire says that a retry was asked for, and how many there had been."""
    memory = new_memory()
    agent, model = make_agent(
        "bad",
        output_processors=[blocker("bad", "process_output_step", retry=True)],
        max_processor_retries=1,
        memory=memory,
    )

    ran = await by(entry, agent, "hi", memory=THREAD)

    trip = ran.result.tripwire
    assert trip is not None
    assert (trip.retry, trip.retry_count) == (True, 1)
    assert await stored(memory) == []
    assert len(model.calls) == 2
    assert (ran.result.text, ran.result.response.messages) == ("", ())
    if entry == "stream":
        assert len(ran.of("tripwire")) == 1
        assert ran.of("tripwire")[0].payload["retry_count"] == 1


@each_entry
async def test_b047_a_tripwire_names_the_guard_inside_a_workflow(entry: Entry) -> None:
    """The id is the guard's own; the path says where it stands."""
    first = Processor.of("first", process_output_result=lambda ctx: None)
    second = Processor.of("second", process_output_result=lambda ctx: ctx.abort("no"))
    agent, _ = make_agent("x", output_processors=[Workflow("both").then(first).then(second).commit()])

    ran = await by(entry, agent, "hi")

    trip = ran.result.tripwire
    assert trip is not None
    assert trip.processor_id == "second"
    assert trip.path is not None
    assert trip.path.split(" › ")[0] == "both"
    assert trip.path.split(" › ")[-1] == "processor:second"
    if entry == "stream":
        assert ran.of("tripwire")[0].payload["path"] == trip.path


async def test_b048_a_guard_in_a_workflow_stops_the_stream_like_a_plain_one() -> None:
    """Both forms deliver the same chunks."""
    plain, _ = make_agent(["ok ", "bad ", "more"], output_processors=[blocker("bad")])
    inside, _ = make_agent(["ok ", "bad ", "more"], output_processors=[Workflow("w").then(blocker("bad")).commit()])

    one, two = await collect(plain, "hi"), await collect(inside, "hi")

    assert one.emitted == "ok "
    assert one.types[-2:] == ["tripwire", "finish"]
    assert (two.types, two.emitted) == (one.types, one.emitted)


TRIPS: dict[str, Callable[[Any], Any]] = {
    hook: (lambda ctx: ctx.abort("here"))
    for hook in (
        "process_input",
        "process_input_step",
        "process_llm_request",
        "process_output_stream",
        "finish_output_stream",
        "process_llm_response",
        "process_output_step",
        "process_tool_result",
        "process_output_result",
    )
}
IN_INPUT = {"process_input", "process_input_step", "process_llm_request", "process_llm_response"}


def tripping_agent(hook: str) -> Any:
    """Return an agent with a tool, and a guard that aborts in one hook."""
    guard = hooked("guard", {hook: TRIPS[hook]})

    def t() -> int:
        """Give one."""
        return 1

    where = "input_processors" if hook in IN_INPUT else "output_processors"
    script = [Reply(text="look", tool_calls=[calls_tool("t")]), "done"]
    return make_agent(*script, tools=[t], **{where: [guard]})[0]


@each_entry
@pytest.mark.parametrize("hook", TRIPS)
async def test_b049_every_field_of_a_tripped_result_is_there_at_once(entry: Entry, hook: str) -> None:
    """Nothing of a tripped result waits for something that will not come."""
    with anyio.fail_after(1):
        ran = await by(entry, tripping_agent(hook), "hi")
        result = ran.result

        assert result.tripwire is not None
        assert (result.text, result.finish_reason, result.object) == ("", "other", None)
        assert (result.response.messages, result.response.ui_messages) == ((), ())
        assert result.edited_after_stream is False
        assert result.usage.total_tokens >= 0


@pytest.mark.parametrize("hook", TRIPS)
async def test_b051_a_tripped_stream_ends_with_one_finish(hook: str) -> None:
    """Whichever hook trips, the reader gets the tripwire, then finish, then the end."""
    ran = await collect(tripping_agent(hook), "hi")

    assert ran.types[-2:] == ["tripwire", "finish"]
    assert (ran.types.count("tripwire"), ran.types.count("finish")) == (1, 1)
    assert ran.chunks[-1].payload["reason"] == "other"


async def chat(agent: Any) -> list[str]:
    """Render a run as a chat window does: text as it comes, and why a call was stopped."""
    shown = [""]
    async with agent.stream("hi", hold="step") as stream:
        async for chunk in stream:
            if chunk.type == "text-delta":
                shown[-1] += chunk.text
            elif chunk.type == "tripwire":
                shown.append(f"stopped: {chunk.payload['reason']}")
    return shown


async def test_b052_a_chat_shows_the_reason_once_and_no_rejected_answer() -> None:
    """With `hold` a plain reader of text and tripwires shows the right thing."""
    blocked, _ = make_agent("bad", output_processors=[blocker("bad", "process_output_step")])
    retried, _ = make_agent(
        "bad",
        "good",
        output_processors=[blocker("bad", "process_output_step", retry=True)],
        max_processor_retries=1,
    )

    assert await chat(blocked) == ["", "stopped: said bad"]
    assert await chat(retried) == ["good"]


@each_entry
async def test_b056_a_guard_runs_again_after_it_has_tripped(entry: Entry) -> None:
    """A tripped call leaves nothing behind that would let the next one through."""
    seen: list[str] = []

    def check(ctx: Any) -> None:
        seen.append(ctx.text)
        if "bad" in ctx.text:
            ctx.abort("bad")

    agent, _ = make_agent("bad", "bad", "good", output_processors=[Processor.of("guard", process_output_step=check)])

    turns = [(await by(entry, agent, "hi")).result for _ in range(3)]

    assert [turn.tripwire is not None for turn in turns] == [True, True, False]
    assert [turn.text for turn in turns] == ["", "", "good"]
    assert seen == ["bad", "bad", "good"]


@each_entry
async def test_b057_a_trip_wins_over_siblings_that_fail_or_hang(entry: Entry) -> None:
    """The tripwire of one branch is the outcome; the others are cancelled and awaited."""
    ended: list[str] = []

    async def trips(ctx: Any) -> None:
        await anyio.lowlevel.checkpoint()
        ctx.abort("g1")

    async def fails(ctx: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("g2")
            raise ValueError("late")

    async def hangs(ctx: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("g3")

    guards = [Processor.of(name, process_input=hook) for name, hook in (("g1", trips), ("g2", fails), ("g3", hangs))]
    flow = Workflow("guards").parallel(guards).map("processor:g1").commit()
    agent, model = make_agent("never", input_processors=[flow])

    with anyio.fail_after(5):
        ran = await by(entry, agent, "hi")

    trip = ran.result.tripwire
    assert trip is not None
    assert (trip.processor_id, trip.reason) == ("g1", "g1")
    assert sorted(ended) == ["g2", "g3"]
    assert len(model.calls) == 0


@each_entry
async def test_b057_a_sibling_that_fails_first_lets_nothing_through(entry: Entry) -> None:
    """An error in one branch ends the run although another would have tripped later."""

    async def trips(ctx: Any) -> None:
        await anyio.sleep_forever()
        ctx.abort("never said")

    async def fails(ctx: Any) -> None:
        raise ValueError("first")

    guards = [Processor.of("g1", process_input=trips), Processor.of("g2", process_input=fails)]
    flow = Workflow("guards").parallel(guards).map("processor:g1").commit()
    agent, model = make_agent("never", input_processors=[flow])

    with anyio.fail_after(5):
        ran = await by(entry, agent, "hi")

    assert ran.ended_with is None
    assert str(getattr(ran.error, "__cause__", None)) == "first"
    assert len(model.calls) == 0


@each_entry
async def test_b058_the_usage_of_a_blocked_answer_is_booked(entry: Entry) -> None:
    """What the model has used is reported, whether or not the answer was let out."""
    reply = Reply(text="bad", usage=Usage(7, 5))
    blocked, _ = make_agent(reply, output_processors=[blocker("bad", "process_output_step")])
    refused, _ = make_agent(reply, input_processors=[blocker("hi", "process_input")])

    assert (await by(entry, blocked, "hi")).result.usage == Usage(7, 5, 12)
    assert (await by(entry, refused, "hi")).result.usage == Usage(0, 0, 0)
