"""Area D: guards and tool calls."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway import Processor, Tool
from sluiceway.models import Reply
from sluiceway.processors import StepOverrides
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent, reply_parts
from tests.support.storing import THREAD, new_memory, stored

pytestmark = pytest.mark.anyio


class Counter:
    """A tool that counts its runs and returns or raises what it is told."""

    def __init__(self, name: str, result: object = 1, error: str | None = None) -> None:
        self.name = name
        self.result = result
        self.error = error
        self.ran: list[dict[str, Any]] = []

    def tool(self, **more: Any) -> Tool:
        """Return it as a tool that takes any arguments."""

        async def run(**args: Any) -> object:
            self.ran.append(args)
            if self.error is not None:
                raise RuntimeError(self.error)
            return self.result

        return Tool(self.name, "A tool.", {"type": "object"}, run, **more)


@each_entry
async def test_b059_a_blocked_answer_runs_no_tool(entry: Entry) -> None:
    """The step hook stands between the model's wish and the tool."""
    pay = Counter("pay")

    def no_tools(ctx: Any) -> None:
        if ctx.tool_calls:
            ctx.abort("no payments")

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("pay")]),
        "done",
        tools=[pay.tool()],
        output_processors=[Processor.of("guard", process_output_step=no_tools)],
    )

    ran = await by(entry, agent, "hi")

    assert (pay.ran, len(model.calls)) == ([], 1)
    assert ran.result.tripwire is not None
    if entry == "stream":
        assert ran.of("tool-result") == []
        assert ran.types.count("tripwire") == 1


@each_entry
async def test_b062_each_tool_result_is_seen_once_by_each_hook(entry: Entry) -> None:
    """The result hook sees what worked; the stream hook sees one outcome for each call."""
    results: list[str] = []
    outcomes: list[tuple[str, str]] = []

    def count(ctx: Any) -> Any:
        if ctx.part.type in ("tool-result", "tool-error"):
            outcomes.append((ctx.part.type, ctx.part.payload["tool_call_id"]))
        return ctx.part

    counting = Processor.of(
        "counting",
        process_tool_result=lambda ctx: results.append(ctx.tool_call_id),
        process_output_stream=count,
    )
    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("works", id="c1"), calls_tool("fails", id="c2")]),
        "done",
        tools=[Counter("works").tool(), Counter("fails", error="boom").tool()],
        output_processors=[counting],
    )

    await by(entry, agent, "hi")

    assert results == ["c1"]
    assert outcomes == [("tool-result", "c1"), ("tool-error", "c2")]


@each_entry
async def test_b063_a_replaced_tool_result_is_what_everyone_gets(entry: Entry) -> None:
    """Model, reader, result, reply and store hold the replacement, and none of them the raw value."""
    memory = new_memory()

    def redact(ctx: Any) -> None:
        ctx.message_list.update_tool_result(ctx.tool_call_id, {"mail": "[EMAIL]"})

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("who")]),
        "done",
        tools=[Counter("who", {"mail": "ann@corp.test"}).tool()],
        output_processors=[Processor.of("redact", process_tool_result=redact)],
        memory=memory,
    )

    ran = await by(entry, agent, "hi", memory=THREAD)

    assert lines(model.prompts[1])[-1] == 'tool: c1 -> {"mail":"[EMAIL]"}'
    assert (await stored(memory))[1] == "assistant: who:result={'mail': '[EMAIL]'} + done"
    assert reply_parts(ran.result)[0].result == {"mail": "[EMAIL]"}
    assert [outcome.result for outcome in ran.result.steps[0].tool_results] == [{"mail": "[EMAIL]"}]
    assert "ann@" not in repr(ran.result.response.ui_messages)
    if entry == "stream":
        assert [chunk.payload["result"] for chunk in ran.of("tool-result")] == [{"mail": "[EMAIL]"}]


@each_entry
async def test_b064_a_failed_tool_is_an_error_in_reply_and_prompt(entry: Entry) -> None:
    """Failure is a state of the call, not a result that reads like one."""
    memory = new_memory()
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("t")]),
        "sorry",
        tools=[Counter("t", error="boom").tool()],
        memory=memory,
    )

    ran = await by(entry, agent, "hi", memory=THREAD)

    part = reply_parts(ran.result)[0]
    assert (part.state, part.result) == ("error", None)
    assert "boom" in part.error
    assert (await stored(memory))[1] == f"assistant: t:error={part.error} + sorry"
    assert len(model.calls) == 2
    assert lines(model.prompts[1])[-1].startswith("tool: c1 !! ")
    assert "boom" in lines(model.prompts[1])[-1]


async def test_b066_a_cancelled_tool_is_neither_done_nor_kept() -> None:
    """When the caller goes away the tool is cancelled and no end of the run is reached."""
    started, seen, memory = anyio.Event(), list[str](), new_memory()

    async def wait() -> str:
        """Wait."""
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            seen.append("cancelled")
        return "done"

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("wait")]),
        "done",
        tools=[wait],
        output_processors=[
            Processor.of(
                "watch",
                process_tool_result=lambda ctx: seen.append("result"),
                process_output_result=lambda ctx: seen.append("ended"),
            )
        ],
        memory=memory,
    )

    async def call() -> None:
        await agent.generate("hi", memory=THREAD)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await started.wait()
            group.cancel_scope.cancel()

    assert seen == ["cancelled"]
    assert await stored(memory) == []


@each_entry
async def test_b067_an_answer_cut_at_its_limit_runs_no_tool(entry: Entry) -> None:
    """Arguments that may be cut are not acted upon, and the model is not asked again."""
    pay = Counter("pay")
    agent, model = make_agent(Reply(tool_calls=[calls_tool("pay")], finish_reason="length"), "more", tools=[pay.tool()])

    ran = await by(entry, agent, "hi")

    assert (len(model.calls), pay.ran, ran.result.finish_reason) == (1, [], "length")


@each_entry
async def test_b068_no_tools_and_tool_choice_none_reach_the_provider(entry: Entry) -> None:
    """A choice of `none` is sent although there is nothing to choose from."""
    last = Processor.of("last", process_input_step=lambda ctx: StepOverrides(tools=[], tool_choice="none"))
    agent, model = make_agent("text", tools=[Counter("t").tool()], input_processors=[last])

    ran = await by(entry, agent, "hi")

    assert [(call.tool_choice, call.tools) for call in model.calls] == [("none", ())]
    assert ran.result.text == "text"


@each_entry
async def test_b076_calls_of_two_steps_are_two_turns_in_the_prompt(entry: Entry) -> None:
    """One call after the other does not look like two calls at once."""
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("a", id="c1")]),
        Reply(tool_calls=[calls_tool("b", id="c2")]),
        "done",
        tools=[Counter("a", 1).tool(), Counter("b", 2).tool()],
    )

    await by(entry, agent, "hi")

    assert lines(model.prompts[2]) == [
        "system: sys",
        "user: hi",
        "assistant: a({})#c1",
        "tool: c1 -> 1",
        "assistant: b({})#c2",
        "tool: c2 -> 2",
    ]


@pytest.mark.parametrize(("shown", "line"), [(None, '{"rows":3}'), ("3 rows", '"3 rows"')])
async def test_b077_a_mapper_that_returns_nothing_keeps_the_result(shown: str | None, line: str) -> None:
    """None from the mapper means that the model gets the result as it is."""
    table = Counter("table", {"rows": 3})
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("table")]),
        "done",
        tools=[table.tool(to_model_output=lambda result: shown)],
    )

    ran = await collect(agent, "hi")

    assert lines(model.prompts[1])[-1] == f"tool: c1 -> {line}"
    assert [chunk.payload["result"] for chunk in ran.of("tool-result")] == [{"rows": 3}]
