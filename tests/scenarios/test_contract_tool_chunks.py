"""Tool-call chunks that stream hooks drop or change."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Processor, Tool
from sluiceway.models import Reply
from tests.support.processors import hooked
from tests.support.runs import Entry, by, calls_tool, each_entry, lines, make_agent, parts_of, reply_parts

pytestmark = pytest.mark.anyio


def mailing(ran: list[Any], *, calls: int = 1) -> tuple[list[Any], list[Tool]]:
    """Return a script that calls `send`, and the tool, which notes its arguments."""

    async def send(**args: Any) -> str:
        ran.append(args)
        return "sent"

    script = [
        Reply(
            text="look",
            tool_calls=[
                calls_tool("send", {"to": f"ann{n}@corp.test", "urgent": True}, id=f"c{n}") for n in range(calls)
            ],
        ),
        "done",
    ]
    return script, [Tool("send", "Send.", {"type": "object"}, send)]


def on_calls(change: Any) -> Processor:
    """Return a processor that does something with tool-call chunks."""
    return Processor.of(
        "p", process_output_stream=lambda ctx: change(ctx.part) if ctx.part.type == "tool-call" else ctx.part
    )


@each_entry
async def test_a_dropped_call_is_not_run_and_leaves_no_trace(entry: Entry) -> None:
    """Neither in the stream, nor in the reply, the steps or the next prompt; the others run."""
    ran_with: list[Any] = []
    seen: list[list[str]] = []
    script, tools = mailing(ran_with, calls=2)
    drop = on_calls(lambda part: None if part.payload["tool_call_id"] == "c0" else part)
    watch = Processor.of(
        "w", process_output_step=lambda ctx: seen.append([call.tool_call_id for call in ctx.tool_calls])
    )
    agent, model = make_agent(*script, tools=tools, output_processors=[drop, watch])

    ran = await by(entry, agent, "hi")

    assert [args["to"] for args in ran_with] == ["ann1@corp.test"]
    assert seen == [["c1"], []]
    assert parts_of(ran.result) == [["text:look", "tool:send:result", "step-start", "text:done"]]
    assert [call.tool_call_id for call in ran.result.steps[0].tool_calls] == ["c1"]
    assert "ann0" not in "".join(lines(model.prompts[1]))
    if entry == "stream":
        assert [c.payload["tool_call_id"] for c in ran.of("tool-call", "tool-result")] == ["c1", "c1"]


@each_entry
@pytest.mark.parametrize("hook", ["process_output_stream", "process_output_step"])
async def test_where_the_only_call_was_taken_out_nobody_is_told_to_wait_for_one(entry: Entry, hook: str) -> None:
    """A client that reads `tool-calls` looks for calls: the reason is `stop`, in step, result and chunks."""

    def take_out(ctx: Any) -> Any:
        if hook == "process_output_stream":
            return None if ctx.part.type == "tool-call" else ctx.part
        reply = ctx.messages[-1]
        reply.parts[:] = [part for part in reply.parts if part.type != "tool"]
        return None

    ran_with: list[Any] = []
    script, tools = mailing(ran_with)
    agent, model = make_agent(*script, tools=tools, output_processors=[hooked("p", {hook: take_out})])

    ran = await by(entry, agent, "hi")

    assert (ran_with, len(model.calls)) == ([], 1)
    assert (ran.result.finish_reason, [s.finish_reason for s in ran.result.steps]) == ("stop", ["stop"])
    assert {c.payload["reason"] for c in ran.chunks if c.type in ("step-finish", "finish")} <= {"stop"}


@each_entry
async def test_a_step_whose_only_call_was_dropped_ends_the_loop(entry: Entry) -> None:
    """There is nothing to tell the model."""
    ran_with: list[Any] = []
    script, tools = mailing(ran_with)
    agent, model = make_agent(*script, tools=tools, output_processors=[on_calls(lambda part: None)])

    ran = await by(entry, agent, "hi")

    assert (ran_with, len(model.calls), ran.result.text) == ([], 1, "look")


@each_entry
@pytest.mark.parametrize("execute", [False, True])
async def test_edited_arguments_are_what_everyone_sees(entry: Entry, execute: bool) -> None:
    """The tool gets the model's own, unless the processor says that it shall get the edited ones."""
    ran_with: list[Any] = []
    hooked: list[Any] = []
    script, tools = mailing(ran_with)
    edited = {"to": "[EMAIL]", "urgent": True}
    original = {"to": "ann0@corp.test", "urgent": True}

    def edit(part: Any) -> Any:
        return part.replace(args=edited, execute=True) if execute else part.replace(args=edited)

    watch = Processor.of(
        "w",
        process_output_step=lambda ctx: hooked.extend(dict(call.args) for call in ctx.tool_calls),
        process_tool_result=lambda ctx: hooked.append(dict(ctx.args)),
    )
    agent, model = make_agent(*script, tools=tools, output_processors=[on_calls(edit), watch])

    ran = await by(entry, agent, "hi")

    assert ran_with == [edited if execute else original]
    assert hooked == [edited, edited]
    assert dict(reply_parts(ran.result)[1].args) == edited
    assert dict(ran.result.steps[0].tool_calls[0].args) == edited
    assert lines(model.prompts[1])[2] == 'assistant: look + send({"to":"[EMAIL]","urgent":true})#c0'
    if entry == "stream":
        assert [dict(chunk.payload["args"]) for chunk in ran.of("tool-call")] == [edited]


@each_entry
async def test_execute_said_once_lasts_through_later_processors(entry: Entry) -> None:
    """A processor behind that changes the arguments again does not bring the model's own back."""
    ran_with: list[Any] = []
    script, tools = mailing(ran_with)
    first = Processor.of(
        "first",
        process_output_stream=lambda ctx: (
            ctx.part.replace(args={"to": "[EMAIL]"}, execute=True) if ctx.part.type == "tool-call" else ctx.part
        ),
    )
    second = on_calls(lambda part: part.replace(args={**part.payload["args"], "note": "seen"}))
    agent, _ = make_agent(*script, tools=tools, output_processors=[first, second])

    await by(entry, agent, "hi")

    assert ran_with == [{"to": "[EMAIL]", "note": "seen"}]


@each_entry
async def test_arguments_edited_in_the_message_are_not_what_the_tool_gets(entry: Entry) -> None:
    """The step hook may redact the reply; the tool still works with what the model said."""
    ran_with: list[Any] = []
    script, tools = mailing(ran_with)

    def redact(ctx: Any) -> None:
        for part in ctx.messages[-1].parts:
            if part.type == "tool":
                part.args["to"] = "[EMAIL]"

    agent, model = make_agent(*script, tools=tools, output_processors=[Processor.of("p", process_output_step=redact)])

    ran = await by(entry, agent, "hi")

    assert ran_with == [{"to": "ann0@corp.test", "urgent": True}]
    assert reply_parts(ran.result)[1].args["to"] == "[EMAIL]"
    assert "ann0" not in "".join(lines(model.prompts[1]))


@each_entry
async def test_a_tool_that_changes_its_arguments_changes_nothing_else(entry: Entry) -> None:
    """The reply keeps what the model said."""

    async def spoil(items: list[int]) -> int:
        """Empty the list."""
        items.clear()
        return 0

    agent, model = make_agent(Reply(tool_calls=[calls_tool("spoil", {"items": [1, 2]})]), "done", tools=[spoil])

    await by(entry, agent, "hi")

    assert lines(model.prompts[1])[2] == 'assistant: spoil({"items":[1,2]})#c1'
