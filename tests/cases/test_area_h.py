"""Area H: the tool-call filter."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Tool
from sluiceway.messages import Message, StepStartPart, TextPart, ToolPart
from sluiceway.models import Reply
from sluiceway.processors import ToolCallFilter
from tests.support.runs import Entry, by, calls_tool, each_entry, lines, make_agent
from tests.support.storing import THREAD, new_memory, stored

pytestmark = pytest.mark.anyio


def look() -> str:
    """Look."""
    return "seen"


def turn(*parts: Any) -> Message:
    return Message(role="assistant", parts=parts)


def done(name: str, id: str, result: Any = 1, **fields: Any) -> ToolPart:  # noqa: A002
    return ToolPart(name, id, {"q": "x"}, "result", result, **fields)


async def test_b143_stored_calls_stay_as_they_are() -> None:
    """The filter is about a prompt, not about the conversation."""
    memory = new_memory()
    agent, model = make_agent(
        Reply(text="one moment", tool_calls=[calls_tool("look")]),
        "first",
        "second",
        tools=[look],
        memory=memory,
        input_processors=[ToolCallFilter()],
    )
    await agent.generate("q1", memory=THREAD)
    before = await stored(memory)

    await agent.generate("q2", memory=THREAD)

    assert lines(model.prompts[2]) == [
        "system: sys",
        "user: q1",
        "assistant: one moment",
        "assistant: first",
        "user: q2",
    ]
    assert await stored(memory) == [*before, "user: q2", "assistant: second"]
    assert before == ["user: q1", "assistant: one moment + look:result=seen + first"]


@each_entry
async def test_b144_the_calls_of_the_turn_at_work_stay(entry: Entry) -> None:
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("look", id="c2")]), "done", tools=[look], input_processors=[ToolCallFilter()]
    )

    await by(entry, agent, [Message("q1"), turn(done("look", "c1"), StepStartPart(), TextPart("a1")), Message("q2")])

    assert lines(model.prompts[1]) == [
        "system: sys",
        "user: q1",
        "assistant: a1",
        "user: q2",
        "assistant: look({})#c2",
        'tool: c2 -> "seen"',
    ]


async def test_b144_a_result_that_the_client_sends_is_of_the_turn_at_work() -> None:
    """The call is in memory, and its result is all that is new."""
    memory = new_memory()
    asks = Tool("ask", "Ask the user.", {"type": "object", "properties": {}}, run=None)
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("ask")]),
        "thanks",
        tools=[asks],
        memory=memory,
        input_processors=[ToolCallFilter()],
    )
    await agent.generate("q1", memory=THREAD)

    await agent.generate({"role": "tool", "tool_call_id": "c1", "content": "yes"}, memory=THREAD)

    assert lines(model.prompts[1]) == ["system: sys", "user: q1", "assistant: ask({})#c1", 'tool: c1 -> "yes"']


async def test_b146_the_text_next_to_a_call_stays() -> None:
    agent, model = make_agent(input_processors=[ToolCallFilter()])

    await agent.generate(
        [
            Message("q1"),
            turn(TextPart("looking"), done("look", "c1")),
            Message("q2"),
            turn(done("look", "c2")),
            Message("q3"),
        ]
    )

    assert lines(model.prompts[0]) == ["system: sys", "user: q1", "assistant: looking", "user: q2", "user: q3"]


async def test_b148_only_the_tools_that_are_named_go() -> None:
    agent, model = make_agent(input_processors=[ToolCallFilter(exclude=["a"])])

    await agent.generate([Message("q1"), turn(done("a", "c1"), TextPart("and"), done("b", "c2")), Message("q2")])

    assert lines(model.prompts[0]) == [
        "system: sys",
        "user: q1",
        'assistant: and + b({"q":"x"})#c2',
        "tool: c2 -> 1",
        "user: q2",
    ]


async def test_b149_a_call_becomes_its_model_output() -> None:
    """Neither its arguments nor the raw result are sent; what has no model output just goes."""
    agent, model = make_agent(input_processors=[ToolCallFilter(preserve_model_output=True)])
    compact = done("rows", "c1", "r" * 1000, model_output="3 rows")

    await agent.generate(
        [Message("q1"), turn(TextPart("I looked."), compact, done("raw", "c2", "secret")), Message("q2")]
    )

    assert lines(model.prompts[0]) == ["system: sys", "user: q1", "assistant: I looked. + 3 rows", "user: q2"]
