"""`abort(retry=True)`: the same step again, as if the rejected attempt had not been."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Processor
from sluiceway.messages import Usage
from sluiceway.models import Reply
from sluiceway.processors import Retry
from tests.support.processors import INPUT_HOOKS, hooked, replace_text, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent, parts_of

pytestmark = pytest.mark.anyio

STEP_HOOKS = (
    "process_input_step",
    "process_llm_request",
    "process_output_stream",
    "finish_output_stream",
    "process_llm_response",
    "process_output_step",
    "process_tool_result",
)


def retrying(hook: str, times: int = 1) -> Processor:
    """Return a guard that asks for another try in one hook, so many times for each step."""

    def run(ctx: Any) -> Any:
        if hook == "process_output_stream" and ctx.part.type not in ("text-delta", "tool-call"):
            return ctx.part
        if ctx.retry_count < times:
            ctx.abort(f"try {ctx.retry_count}", retry=True)
        return ctx.part if hook == "process_output_stream" else None

    return hooked("guard", {hook: run})


def agent_for(hook: str, guard: Processor, **options: Any) -> Any:
    """Return an agent with a tool and a guard in the list of its hook."""
    where = "input_processors" if hook in INPUT_HOOKS else "output_processors"
    answer = Reply(text="t", tool_calls=[calls_tool("look")])
    return make_agent(answer, answer, "done", tools=[tool_named("look")], **{where: [guard]}, **options)


@each_entry
@pytest.mark.parametrize("hook", STEP_HOOKS)
async def test_a_retry_works_from_every_hook_of_a_step(entry: Entry, hook: str) -> None:
    """The step runs again with the feedback in front of the model; the reply has the second attempt only."""
    agent, model = agent_for(hook, retrying(hook), max_processor_retries=1, max_steps=1)

    ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is None
    assert parts_of(ran.result) == [["text:t", "tool:look:result"]]
    assert len(ran.result.steps) == 1
    last = lines(model.prompts[-1])
    assert (last[0], last[2:], "try 0" in last[1]) == ("system: sys", ["user: hi"], True)
    if entry == "stream":
        reasons = [chunk.payload["reason"] for chunk in ran.of("step-finish")]
        assert reasons == ["retry", "tool-calls"]
        assert [chunk.payload["step_number"] for chunk in ran.of("step-start")] == [0, 0]


@each_entry
@pytest.mark.parametrize("hook", ["process_input", "process_output_result"])
async def test_a_retry_outside_of_a_step_is_an_abort(entry: Entry, hook: str) -> None:
    """There is no step to run again."""
    agent, _ = agent_for(hook, retrying(hook), max_processor_retries=3)

    ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.retry, ran.result.tripwire.processor_id) == (True, "guard")
    if entry == "stream":
        assert "retry" not in [chunk.payload["reason"] for chunk in ran.of("step-finish")]


@each_entry
@pytest.mark.parametrize("budget", [None, 0])
@pytest.mark.parametrize("hook", STEP_HOOKS)
async def test_without_a_budget_a_retry_is_an_abort(entry: Entry, hook: str, budget: int | None) -> None:
    """Unset and 0 are the same."""
    agent, _ = agent_for(hook, retrying(hook), max_processor_retries=budget)

    ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.retry, ran.result.tripwire.retry_count) == (True, 0)


@each_entry
async def test_a_retry_takes_back_every_edit_of_the_attempt(entry: Entry) -> None:
    """Texts edited in place, added and removed messages, metadata, signals: all as before the step."""
    seen: list[list[str]] = []

    async def change(ctx: Any) -> None:
        seen.append([*(m.text for m in ctx.messages), str(ctx.messages[0].metadata.get("tries"))])
        replace_text(ctx.messages, "one", f"edited {ctx.retry_count}")
        ctx.messages[0].metadata["tries"] = ctx.messages[0].metadata.get("tries", 0) + 1
        ctx.message_list.remove_by_ids([ctx.messages[1].id])
        ctx.message_list.add("added")
        await ctx.send_signal("reminder")

    def check(ctx: Any) -> None:
        ctx.message_list.add("more")
        if ctx.retry_count < 2:
            ctx.abort("again", retry=True)

    agent, model = make_agent(
        "ok",
        input_processors=[Processor.of("i", process_input_step=change)],
        output_processors=[Processor.of("o", process_output_step=check)],
        max_processor_retries=2,
    )

    await by(entry, agent, ["one", "two", "three"])

    assert seen == [["one", "two", "three", "None"]] * 3
    assert [lines(prompt)[-4:] for prompt in model.prompts] == [
        [
            f"user: edited {n}",
            "user: three",
            "user: added",
            "user: <system-reminder>reminder</system-reminder>",
        ]
        for n in range(3)
    ]


@each_entry
async def test_the_feedback_is_a_tagged_system_message_of_one_attempt(entry: Entry) -> None:
    """Hooks can find it by its tag; the next step does not have it."""
    seen: list[tuple[int, int, list[bool]]] = []

    def note(ctx: Any) -> None:
        tagged = [m.text for m in ctx.system_messages if m.tag == "retry-feedback"]
        seen.append((ctx.step_number, ctx.retry_count, ["too bad" in text for text in tagged]))

    def check(ctx: Any) -> None:
        if ctx.text == "bad":
            ctx.abort("too bad", retry=True)

    agent, _ = make_agent(
        "bad",
        Reply(tool_calls=[calls_tool("t")]),
        "fine",
        tools=[tool_named("t")],
        input_processors=[Processor.of("i", process_input_step=note)],
        output_processors=[Processor.of("o", process_output_step=check)],
        max_processor_retries=1,
    )

    ran = await by(entry, agent, "hi")

    assert seen == [(0, 0, []), (0, 1, [True]), (1, 0, [])]
    assert ran.result.text == "fine"


@each_entry
async def test_a_rejected_attempt_with_tools_leaves_no_call(entry: Entry) -> None:
    """The tools ran; the reply, the prompt and the steps do not know of it."""
    trace: list[str] = []
    agent, model = make_agent(
        Reply(text="first", tool_calls=[calls_tool("t", id="c1")]),
        Reply(text="second", tool_calls=[calls_tool("t", id="c2")]),
        "done",
        tools=[tool_named("t", trace=trace)],
        output_processors=[retrying("process_tool_result")],
        max_processor_retries=1,
    )

    ran = await by(entry, agent, "hi", stop_when=lambda steps: steps[-1].text == "second")

    assert trace == ["tool:t", "tool:t"]
    assert parts_of(ran.result) == [["text:second", "tool:t:result"]]
    assert [[call.tool_call_id for call in step.tool_calls] for step in ran.result.steps] == [["c2"]]
    assert "c1" not in "".join(lines(model.prompts[1]))


@each_entry
async def test_one_counter_for_rejections_and_api_errors(entry: Entry) -> None:
    """Two of one kind and one of the other are three retries of the step."""
    counts: list[tuple[str, int]] = []

    def error(ctx: Any) -> Retry:
        counts.append(("error", ctx.retry_count))
        return Retry()

    def check(ctx: Any) -> None:
        counts.append((ctx.text, ctx.retry_count))
        if ctx.text != "good":
            ctx.abort("again", retry=True)

    agent, _ = make_agent(
        "bad",
        Reply(error="busy"),
        "worse",
        "good",
        error_processors=[Processor.of("e", process_api_error=error)],
        output_processors=[Processor.of("o", process_output_step=check)],
        max_processor_retries=3,
    )

    ran = await by(entry, agent, "hi")

    assert counts == [("bad", 0), ("error", 1), ("worse", 2), ("good", 3)]
    assert ran.result.text == "good"


@each_entry
async def test_retries_use_no_steps_and_all_their_tokens_count(entry: Entry) -> None:
    """`max_steps=1` allows three attempts; the usage is that of all of them."""
    agent, model = make_agent(
        Reply(text="bad", usage=Usage(3, 1)),
        output_processors=[retrying("process_output_step", times=2)],
        max_processor_retries=5,
        max_steps=1,
    )

    ran = await by(entry, agent, "hi")

    assert (len(model.calls), ran.result.text, len(ran.result.steps)) == (3, "bad", 1)
    assert ran.result.usage == Usage(9, 3, 12)


async def test_held_text_of_a_rejected_attempt_is_dropped() -> None:
    """What a stream hook still held when the attempt was rejected never comes out."""

    def hold(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            ctx.attempt_state.setdefault("held", []).append(ctx.part)
            return None
        return ctx.part

    def finish(ctx: Any) -> Any:
        return ctx.attempt_state.pop("held", [])

    def reject(ctx: Any) -> Any:
        if ctx.part.type == "text-end" and ctx.retry_count == 0:
            ctx.abort("again", retry=True)
        return ctx.part

    agent, _ = make_agent(
        ["bad"],
        ["good"],
        output_processors=[
            Processor.of("hold", process_output_stream=hold, finish_output_stream=finish),
            Processor.of("reject", process_output_stream=reject),
        ],
        max_processor_retries=1,
    )

    ran = await collect(agent, "hi")

    assert (ran.emitted, ran.result.text) == ("good", "good")


@each_entry
@pytest.mark.parametrize(
    ("agents", "calls", "attempts"), [(None, 2, 3), (0, 1, 2), (5, 0, 1), (1, None, 2), (None, None, 1)]
)
async def test_the_budget_of_a_call_wins_over_the_agents(
    entry: Entry, agents: int | None, calls: int | None, attempts: int
) -> None:
    """0 is a budget; None leaves it to the agent."""
    reject = Processor.of("r", process_output_step=lambda ctx: ctx.abort("no", retry=True))
    agent, model = make_agent("bad", output_processors=[reject], max_processor_retries=agents)

    ran = await by(entry, agent, "hi", max_processor_retries=calls)

    assert ran.result.tripwire is not None
    assert len(model.calls) == attempts
