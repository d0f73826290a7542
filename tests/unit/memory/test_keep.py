"""What of a turn is saved."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Message, MessageList
from sluiceway.memory._keep import answer_calls, is_transient, kept_parts, open_calls
from sluiceway.messages import DataPart, StepStartPart, TextPart, ToolPart


def names(message: Message, **options: Any) -> list[str]:
    return [part.tool_call_id if isinstance(part, ToolPart) else part.type for part in kept_parts(message, **options)]


def test_transient_data_and_memory_traffic_go() -> None:
    message = Message(
        role="assistant",
        parts=[
            TextPart("a"),
            DataPart("data-x", 1),
            DataPart("data-y", 1, transient=True),
            ToolPart("update_working_memory", "w1", {}, "result", "ok"),
            StepStartPart(),
            ToolPart("update_working_memory", "w2", {}, "error", error="no"),
        ],
    )
    assert names(message) == ["text", "data-x"]


@pytest.mark.parametrize(("awaits_client", "kept"), [(False, ["c1", "step-start", "p1"]), (True, None)])
def test_a_call_without_a_result_is_kept_only_if_one_may_come(awaits_client: bool, kept: list[str] | None) -> None:
    """The client's calls of the last step, where the run ended for them; and the provider's own."""
    message = Message(
        role="assistant",
        parts=[
            ToolPart("t", "c0", {}),
            ToolPart("t", "c1", {}, "result", 1),
            StepStartPart(),
            ToolPart("t", "c2", {}),
            ToolPart("s", "p1", {}, provider_executed=True),
        ],
    )
    assert names(message, awaits_client=awaits_client) == (kept or ["c1", "step-start", "c2", "p1"])
    assert open_calls(message) == ["c0", "c2", "p1"]


def test_parts_of_a_user_are_kept_as_they_are() -> None:
    message = Message(parts=[TextPart(""), DataPart("data-x", 1, transient=True)])
    assert kept_parts(message) == list(message.parts)


def test_a_signal_says_whether_it_lasts() -> None:
    messages = MessageList("hi")
    assert not is_transient(messages.add_signal("a"))
    assert is_transient(messages.add_signal("b", transient=True))
    assert not is_transient(Message("x", metadata={"signal": {"transient": True}}))
    assert not is_transient(Message("x", role="signal"))


def test_results_join_the_stored_calls() -> None:
    def stored() -> Message:
        return Message(role="assistant", parts=[ToolPart("t", f"c{n}", {"n": n}) for n in range(4)])

    messages = MessageList(stored())
    messages.set_tool_result("c0", {"r": 1})
    messages.set_tool_result("c1", {"r": 2}, "two")
    messages.set_tool_error("c2", "broke")
    full = stored()

    assert answer_calls(full, ["c0", "c1", "c2", "c3"], messages)

    assert [(p.state, p.result, p.error, p.args) for p in full.parts if isinstance(p, ToolPart)] == [
        ("result", {"r": 1}, None, {"n": 0}),
        ("result", {"r": 2}, None, {"n": 1}),
        ("error", None, "broke", {"n": 2}),
        ("call", None, None, {"n": 3}),
    ]
    assert full.parts[1].model_output == "two"  # pyright: ignore[reportAttributeAccessIssue]
    assert not answer_calls(stored(), ["c3"], messages)
    assert not answer_calls(stored(), ["c0"], MessageList("hi"))
