"""Tokens of calls whose provider did not say, or that did not get to the end."""

from __future__ import annotations

from collections.abc import Iterable

from sluiceway.messages import Chunk, Prompt, Usage

__all__ = ["estimate_usage"]

_CHARS_PER_TOKEN = 4


def estimate_usage(prompt: Prompt, chunks: Iterable[Chunk]) -> Usage:
    """Return a guess of what a call used, marked as such: a token per four characters."""
    sent = sum(len(message.text) for message in prompt.messages)
    got = sum(len(text) for text in (chunk.get("text") for chunk in chunks) if isinstance(text, str))
    return Usage(-(-sent // _CHARS_PER_TOKEN), -(-got // _CHARS_PER_TOKEN), estimated=True)
