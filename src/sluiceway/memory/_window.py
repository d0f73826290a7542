"""Which stored messages go into a prompt, and how a client's resend of them is recognised."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sluiceway.memory._codec import decode, is_edited
from sluiceway.memory._port import MessageRow
from sluiceway.messages import FilePart, Message, Part, StepStartPart, ToolPart

__all__ = ["Remembered", "from_user_on", "loadable", "messages_of", "recognise", "trimmed"]


@dataclass(slots=True)
class Remembered:
    """A stored message, and its row."""

    row: MessageRow
    message: Message


def messages_of(rows: Sequence[MessageRow], resource_id: str | None) -> list[Remembered]:
    """Return the messages of rows, whose times never go back from one to the next.

    A message list sorts what it remembers by time; the clock of one machine may have been behind.
    """
    found: list[Remembered] = []
    newest: datetime | None = None
    for row in rows:
        newest = row.created_at if newest is None else max(newest, row.created_at)
        found.append(Remembered(row, decode(row, resource_id, newest)))
    return found


def loadable(message: Message, wanted_calls: Collection[str], *, is_last: bool) -> bool:
    """Take out what no provider accepts, the calls without a result; say whether anything is left.

    Args:
        message: A copy; it is changed.
        wanted_calls: Calls whose results the new input brings.
        is_last: Whether it is the last message and no user message follows, so that a
            provider's own open call may still be answered.
    """
    if message.role != "assistant":
        return True
    parts = message.parts
    kept = [part for part in parts if not _is_dead(part, wanted_calls, is_last=is_last)]
    if len(kept) != len(parts):
        message.parts = trimmed(kept)
    return bool(message.parts or message.attachments)


def _is_dead(part: Part, wanted_calls: Collection[str], *, is_last: bool) -> bool:
    if not isinstance(part, ToolPart) or part.state != "call":
        return False
    return not (part.tool_call_id in wanted_calls or (part.provider_executed and is_last))


def trimmed(parts: Sequence[Part]) -> list[Part]:
    """Return the parts of a reply without the boundaries of steps that have nothing in them."""
    out: list[Part] = []
    for part in parts:
        if not isinstance(part, StepStartPart) or (out and not isinstance(out[-1], StepStartPart)):
            out.append(part)
    while out and isinstance(out[-1], StepStartPart):
        out.pop()
    return out


def from_user_on(messages: Sequence[Message]) -> list[Message]:
    """Return the messages from the first one of a user on: no provider begins with another."""
    for index, message in enumerate(messages):
        if message.role == "user":
            return list(messages[index:])
    return []


def recognise(given: Sequence[Message], stored: Sequence[Remembered]) -> dict[str, Remembered]:
    """Return which given messages are stored ones that a client sends again without their ids.

    A stretch of the input, up to before its newest message, has to agree with the end of the
    thread in order, in every assistant's text and, unless a processor has changed what was
    stored of it, every user's; and an assistant's message has to be among them, since a user
    may well say the same thing twice.

    Args:
        given: The input's messages, in order, without those known by their id.
        stored: The newest messages of the thread, oldest first, without signals.

    Returns:
        The stored message by the id of the given one.
    """
    for end in range(len(given) - 1, 0, -1):
        count = min(end, len(stored))
        pairs = list(zip(given[end - count : end], stored[len(stored) - count :], strict=True))
        if any(m.role == "assistant" for m, _ in pairs) and all(_agree(m, known) for m, known in pairs):
            return {message.id: known for message, known in pairs}
    return {}


def _agree(message: Message, known: Remembered) -> bool:
    if message.role != known.message.role:
        return False
    if message.role == "user" and is_edited(known.row):
        return True
    return _gist(message) == _gist(known.message)


def _gist(message: Message) -> tuple[object, ...]:
    """Return what a client keeps of a message, whatever API its history went through."""
    text = message.text.strip()
    if text:
        return (text,)
    calls = tuple(part.tool_call_id for part in message.parts if isinstance(part, ToolPart))
    files = tuple(part.data_url() for part in message.parts if isinstance(part, FilePart))
    return (*calls, *files)
