"""`ToolCallFilter`, beyond the cases from practice."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.messages import Message, ReasoningPart, StepStartPart, TextPart, ToolPart
from sluiceway.models import Reply
from sluiceway.processors import ToolCallFilter
from tests.support.runs import calls_tool, lines, make_agent

pytestmark = pytest.mark.anyio


def done(id: str, **fields: Any) -> ToolPart:  # noqa: A002
    return ToolPart("look", id, {}, "result", id, **fields)


def history() -> list[Message]:
    reply = [done("c1"), StepStartPart(), done("c2"), done("c3"), StepStartPart(), TextPart("answer")]
    return [Message("q1"), Message(role="assistant", parts=reply), Message("q2")]


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        (0, []),
        (1, ["assistant: look({})#c4"]),
        (2, ["assistant: look({})#c2 + look({})#c3", "assistant: look({})#c4"]),
        (9, ["assistant: look({})#c1", "assistant: look({})#c2 + look({})#c3", "assistant: look({})#c4"]),
    ],
)
async def test_the_newest_steps_with_calls_stay(steps: int, kept: list[str]) -> None:
    """Whichever turn they are of, each with all its results."""

    def look() -> str:
        """Look."""
        return "seen"

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("look", id="c4")]),
        "done",
        tools=[look],
        input_processors=[ToolCallFilter(filter_after_tool_steps=steps)],
    )

    await agent.generate(history())

    sent = lines(model.prompts[1])
    assert [line for line in sent if "look(" in line] == kept
    results = [line for line in sent if line.startswith("tool")]
    assert len(results) == len(kept)
    assert "assistant: answer" in sent


async def test_only_named_tools_go_beyond_the_newest_steps() -> None:
    reply = [ToolPart("a", "c1", {}, "result", 1), ToolPart("b", "c2", {}, "result", 2)]
    agent, model = make_agent(input_processors=[ToolCallFilter(exclude={"a"}, filter_after_tool_steps=0)])

    await agent.generate([Message("q1"), Message(role="assistant", parts=reply), Message("q2")])

    assert lines(model.prompts[0]) == ["system: sys", "user: q1", "assistant: b({})#c2", "tool: c2 -> 2", "user: q2"]


async def test_a_failed_call_has_no_output_to_preserve() -> None:
    failed = ToolPart("look", "c1", {}, "error", error="no")
    odd = done("c2", model_output={"rows": 3})
    agent, model = make_agent(input_processors=[ToolCallFilter(preserve_model_output=True)])

    await agent.generate([Message("q1"), Message(role="assistant", parts=[failed, odd]), Message("q2")])

    assert lines(model.prompts[0]) == ["system: sys", "user: q1", 'assistant: {"rows": 3}', "user: q2"]


async def test_a_prompt_without_calls_is_sent_as_it_is() -> None:
    agent, model = make_agent(input_processors=[ToolCallFilter()])

    await agent.generate([Message("q1"), Message(role="assistant", parts=[TextPart("a")]), Message("q2")])

    assert lines(model.prompts[0]) == ["system: sys", "user: q1", "assistant: a", "user: q2"]


async def test_what_is_left_of_a_step_loses_the_ids_that_tied_it_together() -> None:
    """A thought without the call that it led to would be refused."""
    thought = ReasoningPart("hm", provider_metadata={"openai": {"item_id": "rs_1", "x": 1}})
    agent, model = make_agent(input_processors=[ToolCallFilter()])

    await agent.generate([Message("q1"), Message(role="assistant", parts=[thought, done("c1")]), Message("q2")])

    assert [item.provider_metadata for item in model.prompts[0].messages[2].content] == [{"openai": {"x": 1}}]


@pytest.mark.parametrize("options", [{}, {"filter_after_tool_steps": 1}])
async def test_an_id_that_comes_again_is_another_call(options: dict[str, Any]) -> None:
    """Some models number their calls anew in each turn."""

    def look() -> str:
        """Look."""
        return "new"

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("look")]), "done", tools=[look], input_processors=[ToolCallFilter(**options)]
    )

    await agent.generate([Message("q1"), Message(role="assistant", parts=[done("c1")]), Message("q2")])

    assert lines(model.prompts[1])[1:] == ["user: q1", "user: q2", "assistant: look({})#c1", 'tool: c1 -> "new"']


async def test_steps_without_a_filtered_call_keep_their_ids() -> None:
    thought = ReasoningPart("hm", provider_metadata={"openai": {"item_id": "rs_1"}})
    reply = [done("c1", model_output="3 rows"), StepStartPart(), thought, TextPart("answer")]
    agent, model = make_agent(input_processors=[ToolCallFilter(preserve_model_output=True)])

    await agent.generate([Message("q1"), Message(role="assistant", parts=reply), Message("q2")])

    assert lines(model.prompts[0])[2:4] == ["assistant: 3 rows", "assistant: (hm) + answer"]
    assert model.prompts[0].messages[3].content[0].provider_metadata == {"openai": {"item_id": "rs_1"}}


@pytest.mark.parametrize(("preserve", "kept"), [(True, ["assistant: short"]), (False, [])])
async def test_what_the_model_saw_of_a_result_stays_if_that_is_wanted(preserve: bool, kept: list[str]) -> None:
    reply = [done("c1", model_output="short")]
    only = ToolCallFilter(filter_after_tool_steps=0, preserve_model_output=preserve)
    agent, model = make_agent(input_processors=[only])
    await agent.generate([Message("q1"), Message(role="assistant", parts=reply), Message("q2")])
    assert [line for line in lines(model.prompts[0]) if line.startswith("assistant")] == kept
