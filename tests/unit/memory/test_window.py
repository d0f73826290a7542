"""What is loaded of a thread, and how a resend is recognised."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluiceway import Message
from sluiceway.memory import MessageRow
from sluiceway.memory._codec import encode
from sluiceway.memory._window import Remembered, from_user_on, loadable, messages_of, recognise, trimmed
from sluiceway.messages import ImagePart, StepStartPart, TextPart, ToolPart

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def stored(*messages: Message, edited: bool = False) -> list[Remembered]:
    rows = [encode(m, "t", parts=m.parts, edited=edited and m.role == "user") for m in messages]
    return messages_of(rows, None)


def user(text: str) -> Message:
    return Message(text)


def reply(text: str, *parts: Any) -> Message:
    return Message(role="assistant", parts=[*parts, TextPart(text)] if text else list(parts))


def recognised(given: list[Message], known: list[Remembered]) -> list[int | None]:
    """Return for each given message the place of the stored one it was taken for."""
    found = recognise(given, known)
    places = {id(item): place for place, item in enumerate(known)}
    return [places[id(found[m.id])] if m.id in found else None for m in given]


def test_a_whole_history_is_recognised() -> None:
    known = stored(user("a"), reply("b"), user("c"), reply("d"))
    assert recognised([user("a"), reply("b"), user("c"), reply("d"), user("e")], known) == [0, 1, 2, 3, None]


def test_the_end_of_a_history_is_recognised() -> None:
    known = stored(user("a"), reply("b"), user("c"), reply("d"))
    assert recognised([user("c"), reply("d"), user("e")], known) == [2, 3, None]
    assert recognised([reply("d"), user("e")], known) == [3, None]


def test_a_history_that_begins_before_the_thread_is_recognised_as_far_as_it_is_stored() -> None:
    known = stored(user("c"), reply("d"))
    assert recognised([user("a"), reply("b"), user("c"), reply("d"), user("e")], known) == [None, None, 0, 1, None]


def test_several_new_messages_may_follow() -> None:
    known = stored(user("a"), reply("b"))
    assert recognised([user("a"), reply("b"), user("c"), user("d")], known) == [0, 1, None, None]


@pytest.mark.parametrize(
    "given",
    [
        [user("a")],
        [user("a"), user("a")],
        [user("a"), reply("other"), user("c")],
        [user("other"), reply("b"), user("c")],
        [reply("b")],
    ],
)
def test_what_only_looks_like_it_is_new(given: list[Message]) -> None:
    known = stored(user("a"), reply("b"))
    assert recognised(given, known) == [None] * len(given)


def test_the_middle_of_a_thread_is_not_its_end() -> None:
    known = stored(user("a"), reply("b"), user("c"), reply("d"))
    assert recognised([user("a"), reply("b"), user("x")], known) == [None, None, None]


def test_a_message_that_processors_changed_is_recognised_by_its_answer() -> None:
    """The client sends the raw text, the thread has the redacted one."""
    known = stored(user("my card is [CARD]"), reply("noted"), edited=True)
    assert recognised([user("my card is 4111"), reply("noted"), user("b")], known) == [0, 1, None]
    assert recognised([user("my card is 4111"), reply("else"), user("b")], known) == [None] * 3


def test_a_reply_is_the_same_without_its_tool_calls_and_blanks() -> None:
    call = ToolPart("t", "c1", {}, "result", 1)
    known = stored(user("a"), Message(role="assistant", parts=[call, StepStartPart(), TextPart("so")]))
    assert recognised([user("a"), reply(" so\n"), user("b")], known) == [0, 1, None]


def test_messages_without_text_are_told_apart_by_what_they_have() -> None:
    one, two = ImagePart(b"\x89PNG\r\n\x1a\n1"), ImagePart(b"\x89PNG\r\n\x1a\n2")
    known = stored(Message(parts=[one]), Message(role="assistant", parts=[ToolPart("t", "c1", {}, "result", 1)]))
    same_call = Message(role="assistant", parts=[ToolPart("t", "c1", {})])
    assert recognised([Message(parts=[one]), same_call, user("b")], known) == [0, 1, None]
    assert recognised([Message(parts=[two]), same_call, user("b")], known) == [None] * 3


def test_nothing_is_recognised_in_an_empty_thread() -> None:
    assert recognise([user("a"), reply("b"), user("c")], []) == {}


def test_times_never_go_back() -> None:
    rows = [MessageRow("t", f"m{n}", "user", NOW + timedelta(seconds=s), "{}") for n, s in enumerate([5, 3, 5, 9, 1])]
    times = [item.message.created_at for item in messages_of(rows, None)]
    assert [(moment - NOW).seconds for moment in times] == [5, 5, 5, 9, 9]


def test_a_call_without_a_result_is_taken_out() -> None:
    answered, open_one, provider = (
        ToolPart("t", "c1", {}, "result", 1),
        ToolPart("t", "c2", {}),
        ToolPart("s", "p1", {}, provider_executed=True),
    )

    def left(wanted: set[str], *, is_last: bool) -> list[str]:
        message = Message(role="assistant", parts=[p.copy() for p in (answered, open_one, provider)])
        assert loadable(message, wanted, is_last=is_last)
        return [part.tool_call_id for part in message.parts if isinstance(part, ToolPart)]

    assert left(set(), is_last=False) == ["c1"]
    assert left({"c2"}, is_last=False) == ["c1", "c2"]
    assert left(set(), is_last=True) == ["c1", "p1"]


def test_a_reply_of_nothing_but_open_calls_is_not_loaded() -> None:
    message = Message(role="assistant", parts=[ToolPart("t", "c1", {}), StepStartPart(), ToolPart("t", "c2", {})])
    assert not loadable(message, (), is_last=True)
    assert not loadable(Message(role="assistant", parts=[]), (), is_last=True)
    assert loadable(Message(parts=[]), (), is_last=False), "of a user, nothing said is something"


def test_empty_steps_go() -> None:
    a, b = TextPart("a"), TextPart("b")

    def types(*parts: Any) -> str:
        return "".join(p.text if isinstance(p, TextPart) else "-" for p in trimmed(parts))

    step = StepStartPart
    assert types(step(), a, step(), step(), b, step()) == "a-b"
    assert types(a, b) == "ab"
    assert types(step()) == ""


def test_a_conversation_begins_with_a_user() -> None:
    messages = [reply("x"), Message("s", role="signal"), user("a"), reply("b")]
    assert [m.text for m in from_user_on(messages)] == ["a", "b"]
    assert from_user_on(messages[:2]) == []
