"""Replies for a `ScriptedModel`: cut as one likes, slow, refused, broken off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sluiceway.models import Reply
from sluiceway.testing._source import Source
from sluiceway.testing._texts import cut, make_cut, make_text

__all__ = ["broken_off", "make_delay_s", "make_script", "refused", "reply_cut"]

_REFUSALS: Sequence[int] = (429, 500, 503, 400, 401)


def reply_cut(text: str, *, at: Iterable[int] | None = None, every: int | None = None, delay_s: float = 0) -> Reply:
    """Return a reply whose text comes in pieces.

    Args:
        text: The text.
        at: Where it is cut.
        every: How many characters each piece has; without `at` and `every` one.
        delay_s: Seconds before each piece.

    Examples:
        >>> reply_cut("abcde", every=2).text
        ('ab', 'cd', 'e')
    """
    places = range(0, len(text), every or 1) if at is None else at
    return Reply(text=tuple(cut(text, places)), delay_s=delay_s)


def broken_off(text: str, *, after: int, status: int | None = None) -> Reply:
    """Return a reply that breaks off after so many characters, inside its text block.

    Args:
        text: What the whole text would be.
        after: How many characters of it come.
        status: The HTTP status of the error; None: a broken connection.
    """
    fault = {"status": status, "message": "the stream broke off"}
    return Reply(text=tuple(text[:after]), stream_error=fault)


def refused(status: int = 429, message: str = "the model refused") -> Reply:
    """Return a refusal by the provider, before anything is sent.

    Args:
        status: The HTTP status.
        message: What the provider says.
    """
    return Reply(error={"status": status, "message": message})


def make_delay_s(source: Source, most_s: float = 0.01) -> float:
    """Return seconds to wait; none more often than not."""
    return source.integer(1, 10) * most_s / 10 if source.integer(0, 2) == 2 else 0.0


def make_script(source: Source) -> list[Reply]:
    """Return a script: replies, calls of tools, refusals and broken streams; the last is a reply."""
    return [*source.many(_reply, 0, 3), Reply(text=tuple(make_cut(source, make_text(source) or "ok")))]


def _reply(source: Source) -> Reply:
    kind = source.pick(("text", "tool", "refused", "broken"))
    text = make_text(source)
    if kind == "text":
        return Reply(text=tuple(make_cut(source, text)))
    if kind == "tool":
        return Reply(text=text, tool_calls=[{"name": "lookup", "args": {"query": text}}])
    if kind == "refused":
        return refused(source.pick(_REFUSALS))
    return broken_off(text, after=source.integer(0, len(text)))
