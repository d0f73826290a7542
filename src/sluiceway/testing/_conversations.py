"""Conversations: messages, their parts, and calls of tools that have their results."""

from __future__ import annotations

from typing import Any

from sluiceway.messages import (
    DataPart,
    Message,
    MessageList,
    Part,
    ReasoningPart,
    SourcePart,
    StepStartPart,
    TextPart,
    ToolPart,
)
from sluiceway.testing._source import Generator, Source
from sluiceway.testing._texts import make_text

__all__ = ["make_conversation", "make_message", "make_part", "to_list"]


def make_part(source: Source, text: Generator[str] = make_text, *, call_id: str = "c1") -> Part:
    """Return a part of a reply; a call of a tool has its result or its error."""
    kind = source.pick(("text", "tool", "reasoning", "source", "data"))
    if kind == "text":
        return TextPart(text(source))
    if kind == "tool":
        return _tool_part(source, text, call_id)
    if kind == "reasoning":
        return ReasoningPart(text(source))
    if kind == "source":
        return SourcePart("s1", "https://example.org")
    return DataPart("data-note", {"note": text(source)})


def _tool_part(source: Source, text: Generator[str], call_id: str) -> ToolPart:
    args = {"query": text(source)}
    if source.pick(("result", "error")) == "error":
        return ToolPart("lookup", call_id, args, "error", error=text(source) or "failed")
    result: Any = text(source) if source.integer(0, 1) == 0 else {"found": [text(source)]}
    return ToolPart("lookup", call_id, args, "result", result)


def make_message(source: Source, text: Generator[str] = make_text, *, id: str | None = None) -> Message:  # noqa: A002 - the field's own name
    """Return a message of a user or a reply of one or more steps."""
    if source.pick(("user", "assistant")) == "user":
        return Message(text(source), id=id)
    parts: list[Part] = []
    for step in range(source.integer(1, 2)):
        if step:
            parts.append(StepStartPart())
        number = source.integer(1, 3)
        parts.extend(make_part(source, text, call_id=f"{id or 'm'}-c{step}-{place}") for place in range(number))
    return Message(role="assistant", parts=parts, id=id)


def make_conversation(source: Source, text: Generator[str] = make_text) -> list[Message]:
    """Return a conversation whose last message is the user's; every call has its result."""
    count = source.integer(0, 4)
    earlier = [make_message(source, text, id=f"m{number}") for number in range(count)]
    return [*earlier, Message(text(source), id=f"m{count}")]


def to_list(messages: list[Message], *, recent: int = 1) -> MessageList:
    """Return a list of copies of the messages, the newest `recent` of them as input, the others as remembered."""
    made = MessageList()
    for number, message in enumerate(messages):
        made.add(message.copy(), "input" if number >= len(messages) - recent else "memory")
    made.take_edits()
    return made
