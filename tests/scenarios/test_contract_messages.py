"""Messages that hooks return, system messages, and a call without anything left."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Message, MessageList, Processor
from sluiceway.errors import ConfigurationError, ProcessorError
from sluiceway.messages import SystemMessage, TextPart
from sluiceway.models import Reply
from sluiceway.processors import InputResult, StepOverrides
from tests.support.processors import hooked, replace_text, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent

pytestmark = pytest.mark.anyio

TALK = ["one", {"role": "assistant", "content": "two"}, "three"]


def sources(ctx: Any) -> list[tuple[str, str]]:
    """Return text and source of every message."""
    return [(m.text, ctx.message_list.source_of(m.id)) for m in ctx.message_list.all]


@each_entry
@pytest.mark.parametrize("hook", ["process_input", "process_input_step"])
async def test_what_is_missing_goes_and_the_returned_order_holds(entry: Entry, hook: str) -> None:
    """Messages keep their source; a changed one takes the place of the one with its id."""
    left: list[list[tuple[str, str]]] = []

    def turn_round(ctx: Any) -> list[Message]:
        one, _, three = ctx.messages
        return [three, one.replace(parts=[TextPart("ONE")])]

    agent, model = make_agent(
        "ok",
        input_processors=[
            hooked("p", {hook: turn_round}),
            Processor.of("q", process_llm_request=lambda ctx: left.append(sources(ctx))),
        ],
    )

    await by(entry, agent, TALK)

    assert lines(model.prompts[0]) == ["system: sys", "user: three", "user: ONE"]
    assert left == [[("three", "input"), ("ONE", "input")]]


@each_entry
async def test_what_a_hook_itself_added_stays_though_it_is_not_returned(entry: Entry) -> None:
    """A signal or a message added through the list is not lost by returning the old messages."""

    async def add(ctx: Any) -> Any:
        before = list(ctx.messages)
        ctx.message_list.add("added")
        await ctx.send_signal("mind the gap")
        return before[:1]

    agent, model = make_agent("ok", input_processors=[Processor.of("p", process_input=add)])

    await by(entry, agent, ["one", "two"])

    assert lines(model.prompts[0]) == [
        "system: sys",
        "user: one",
        "user: added",
        "user: <system-reminder>mind the gap</system-reminder>",
    ]


@each_entry
async def test_new_messages_of_a_returned_list_are_added(entry: Entry) -> None:
    """Strings, dicts and messages may stand between the old ones."""

    def add(ctx: Any) -> list[Any]:
        return ["first", *ctx.messages, {"role": "assistant", "content": "then"}, Message("last")]

    agent, model = make_agent("ok", input_processors=[Processor.of("p", process_input=add)])

    await by(entry, agent, "hi")

    assert lines(model.prompts[0]) == [
        "system: sys",
        "user: first",
        "user: hi",
        "assistant: then",
        "user: last",
    ]


@each_entry
async def test_the_lists_own_return_changes_nothing_more(entry: Entry) -> None:
    """Returning the very list that was passed in stands for the edits made to it."""

    def edit(ctx: Any) -> MessageList:
        ctx.message_list.remove_by_ids([ctx.messages[0].id])
        return ctx.message_list

    agent, model = make_agent("ok", input_processors=[Processor.of("p", process_input=edit)])

    await by(entry, agent, ["one", "two"])

    assert lines(model.prompts[0]) == ["system: sys", "user: two"]


@each_entry
@pytest.mark.parametrize("hook", ["process_input", "process_input_step", "process_output_step"])
async def test_another_message_list_is_an_error(entry: Entry, hook: str) -> None:
    """A hook cannot swap the conversation for a list of its own."""
    other = hooked("p", {hook: lambda ctx: MessageList()})
    where = "output_processors" if "output" in hook else "input_processors"
    agent, _ = make_agent("ok", **{where: [other]})

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert (ran.error.processor_id, ran.error.hook) == ("p", hook)


@each_entry
async def test_messages_and_message_list_together_are_an_error(entry: Entry) -> None:
    """Two answers to one question are none."""
    both = Processor.of(
        "p",
        process_input_step=lambda ctx: StepOverrides(messages=ctx.messages, message_list=ctx.message_list),
    )
    agent, model = make_agent("ok", input_processors=[both])

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert isinstance(ran.error.__cause__, ConfigurationError)
    assert len(model.calls) == 0


@each_entry
async def test_an_empty_list_from_the_tool_result_hook_is_no_change(entry: Entry) -> None:
    """Like one from the step hook."""
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("t")]),
        "done",
        tools=[tool_named("t")],
        output_processors=[Processor.of("p", process_tool_result=lambda ctx: [])],
    )

    await by(entry, agent, "hi")

    assert lines(model.prompts[1]) == ["system: sys", "user: hi", "assistant: t({})#c1", "tool: c1 -> 1"]


@each_entry
async def test_the_result_hook_has_the_reply_alone(entry: Entry) -> None:
    """What it returns replaces the reply; the question stays."""
    left: list[list[tuple[str, str]]] = []

    def rewrite(ctx: Any) -> list[Message]:
        (reply,) = ctx.messages
        return [reply.replace(parts=[TextPart("BYE")])]

    agent, _ = make_agent(
        "bye",
        output_processors=[
            Processor.of("p", process_output_result=rewrite),
            Processor.of("q", process_output_result=lambda ctx: left.append(sources(ctx))),
        ],
    )

    ran = await by(entry, agent, "hi")

    assert ran.result.text == "BYE"
    assert left == [[("hi", "input"), ("BYE", "response")]]


@each_entry
async def test_each_hook_has_the_messages_of_its_phase(entry: Entry) -> None:
    """Input hook: input; step, request, response, step and tool hooks: all; result hook: the reply."""
    seen: dict[str, list[str]] = {}

    def note(hook: str) -> Any:
        def run(ctx: Any) -> None:
            if hook not in seen:
                seen[hook] = [f"{m.role}:{m.text}" for m in ctx.messages]

        return run

    inputs = ("process_input", "process_input_step", "process_llm_request", "process_llm_response")
    outputs = ("process_output_step", "process_tool_result", "process_output_result")
    agent, _ = make_agent(
        Reply(text="look", tool_calls=[calls_tool("t")]),
        "done",
        tools=[tool_named("t")],
        input_processors=[hooked("i", {hook: note(hook) for hook in inputs})],
        output_processors=[hooked("o", {hook: note(hook) for hook in outputs})],
    )

    await by(entry, agent, "hi")

    assert seen == {
        "process_input": ["user:hi"],
        "process_input_step": ["user:hi"],
        "process_llm_request": ["user:hi"],
        "process_llm_response": ["user:hi", "assistant:look"],
        "process_output_step": ["user:hi", "assistant:look"],
        "process_tool_result": ["user:hi", "assistant:look"],
        "process_output_result": ["assistant:lookdone"],
    }


@each_entry
async def test_system_messages_of_process_input_hold_for_all_steps(entry: Entry) -> None:
    """And those that a step hook sets hold for its step, however it sets them."""

    def system(ctx: Any) -> InputResult:
        return InputResult(system_messages=[*ctx.system_messages, SystemMessage("for all")])

    def step(ctx: Any) -> None:
        if ctx.step_number == 0:
            ctx.message_list.replace_system([SystemMessage("only here")])
        elif ctx.step_number == 1:
            ctx.message_list.add_system("also here")

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("t", id="c1")]),
        Reply(tool_calls=[calls_tool("t", id="c2")]),
        "done",
        tools=[tool_named("t")],
        input_processors=[Processor.of("p", process_input=system, process_input_step=step)],
    )

    await by(entry, agent, "hi")

    systems = [[line for line in lines(prompt) if line.startswith("system")] for prompt in model.prompts]
    assert systems == [
        ["system: only here"],
        ["system: sys", "system: for all", "system: also here"],
        ["system: sys", "system: for all"],
    ]


@each_entry
async def test_a_system_message_of_the_input_follows_the_instructions(entry: Entry) -> None:
    """It is kept apart from the conversation, and no hook gets it among the messages."""
    seen: list[list[str]] = []
    watch = Processor.of("p", process_input=lambda ctx: seen.append([m.text for m in ctx.messages]))
    agent, model = make_agent("ok", input_processors=[watch])

    await by(entry, agent, [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}])

    assert seen == [["hi"]]
    assert lines(model.prompts[0]) == ["system: sys", "system: be brief", "user: hi"]


@each_entry
@pytest.mark.parametrize("hook", ["process_input", "process_input_step"])
async def test_the_processor_that_removes_the_last_message_ends_the_call(entry: Entry, hook: str) -> None:
    """Nobody asks a model nothing; the caller learns who left nothing."""

    def remove_first(ctx: Any) -> None:
        ctx.message_list.remove_by_ids([ctx.messages[0].id])

    agent, model = make_agent(
        "never",
        input_processors=[
            hooked("p", {hook: remove_first}),
            hooked("q", {hook: remove_first}),
            Processor.of("r", process_llm_request=lambda ctx: None),
        ],
    )

    ran = await by(entry, agent, ["one", "two"])

    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.processor_id, len(model.calls)) == ("q", 0)
    if entry == "stream":
        assert ran.types[-2:] == ["tripwire", "finish"]


@each_entry
async def test_a_message_with_source_context_is_enough_for_a_call(entry: Entry) -> None:
    """Input may be replaced by context; it is in the prompt and not part of the reply."""

    def swap(ctx: Any) -> None:
        ctx.message_list.remove_by_ids([m.id for m in ctx.messages])
        ctx.message_list.add("from a document", source="context")

    agent, model = make_agent("ok", input_processors=[Processor.of("p", process_input=swap)])

    ran = await by(entry, agent, "hi")

    assert (ran.result.text, ran.result.tripwire) == ("ok", None)
    assert lines(model.prompts[0]) == ["system: sys", "user: from a document"]
    assert [m.text for m in ran.result.response.messages] == ["ok"]


async def test_edits_in_place_are_seen_downstream_in_every_later_hook() -> None:
    """A part edited without returning anything is edited for all."""
    seen: list[str] = []

    def edit(ctx: Any) -> None:
        replace_text(ctx.messages, "secret", "public")

    agent, model = make_agent(
        "secret answer",
        input_processors=[Processor.of("p", process_input_step=edit)],
        output_processors=[
            Processor.of("q", process_output_step=edit),
            Processor.of("r", process_output_result=lambda ctx: seen.append(ctx.result.text)),
        ],
    )

    ran = await collect(agent, "secret plan")

    assert lines(model.prompts[0])[-1] == "user: public plan"
    assert seen == [ran.result.text] == ["public answer"]


@each_entry
async def test_the_source_of_an_added_message_is_that_of_its_hook(entry: Entry) -> None:
    """An assistant message of an output hook is part of the reply, one of an input hook is not."""
    found: list[tuple[str, str]] = []

    def adding(name: str) -> Any:
        def run(ctx: Any) -> None:
            if ctx.step_number in (None, 1):
                added = ctx.message_list.add({"role": "assistant", "content": name})
                found.append((name, ctx.message_list.source_of(added.id)))

        return run

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("t")]),
        "done",
        tools=[tool_named("t")],
        input_processors=[Processor.of("i", process_input=adding("input"), process_input_step=adding("step"))],
        output_processors=[
            Processor.of("o", process_output_step=adding("output"), process_output_result=adding("result"))
        ],
    )

    ran = await by(entry, agent, "hi")

    assert found == [("input", "input"), ("step", "input"), ("output", "response"), ("result", "response")]
    # A reply is one message: what a step's hook added is a part of it.
    assert [message.text for message in ran.result.response.messages] == ["doneoutput", "result"]
