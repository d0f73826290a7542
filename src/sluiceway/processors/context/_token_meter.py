"""How much of an answer is within a limit, chunk by chunk."""

from __future__ import annotations

import json
from typing import Final

from sluiceway.messages import Chunk, jsonable
from sluiceway.processors.context._token_counter import TokenCounter, word_start

__all__ = ["Meter"]

_SHORT_CHARS: Final = 24
_TAIL_CHARS: Final = 400
"""How much of a text without words is counted again with the next delta."""


class _Block:
    """The text of one block: what of it is counted for good, and the end that may still change."""

    __slots__ = ("settled", "tail", "tail_tokens")

    def __init__(self) -> None:
        self.settled = 0
        self.tail = ""
        self.tail_tokens = 0


class Meter:
    """Counts the text and objects of one attempt.

    Tokens go across deltas, so the end of a text is counted again with the delta that
    follows: however a text is cut, it comes to the same.

    Args:
        counter: What is counted with.
        limit: How many tokens may pass.
        before: How many have passed in earlier steps.
        each: Whether every chunk is counted for itself.
    """

    __slots__ = ("_blocks", "_by_word", "_counter", "_each", "_limit", "_object", "before", "over", "said")

    def __init__(self, counter: TokenCounter, limit: int, before: int, *, each: bool) -> None:
        self._counter = counter
        self._by_word = bool(getattr(counter, "by_word", False))
        self._limit = limit
        self._each = each
        self._blocks: dict[str, _Block] = {}
        self._object = 0
        self.before = before
        self.over = False
        """Whether something was too much."""
        self.said = False
        """Whether that was said."""

    @property
    def passed(self) -> int:
        """The tokens that have passed in this attempt."""
        return self._object + sum(block.settled + block.tail_tokens for block in self._blocks.values())

    def take(self, chunk: Chunk) -> Chunk | None:
        """Return what of a chunk is within the limit, or None for nothing; sets `over`."""
        if chunk.type == "object":
            return self._take_object(chunk)
        if self._each:
            return self._cut(chunk, self._counter.cut(chunk.text, self._limit))
        if self.over:
            return None
        block = self._blocks.setdefault(str(chunk.get("id", "")), _Block())
        text = block.tail + chunk.text
        room = self._limit - self.before - self.passed + block.tail_tokens
        tokens = self._counter.count(text)
        if tokens > room:
            fitting = self._counter.cut(text, room)
            passed = self._cut(chunk, fitting[len(block.tail) :])
            if passed is None:
                return None
            text, tokens = fitting, room
        else:
            passed = chunk
        block.tail, block.tail_tokens = text, tokens
        self._settle(block)
        return passed

    def _cut(self, chunk: Chunk, text: str) -> Chunk | None:
        if text == chunk.text:
            return chunk
        self.over = True
        return chunk.replace(text=text) if text else None

    def _take_object(self, chunk: Chunk) -> Chunk | None:
        """Let an object pass or not; one that grows counts with what it has become."""
        if self.over and not self._each:
            return None
        tokens = self._counter.count(json.dumps(jsonable(chunk.get("object")), ensure_ascii=False))
        others = 0 if self._each else self.before + self.passed - self._object
        if others + tokens > self._limit:
            self.over = True
            return None
        self._object = tokens
        return chunk

    def _settle(self, block: _Block) -> None:
        """Count the start of a long tail for good: up to a word, where that comes to the same."""
        tail = block.tail
        if len(tail) <= _SHORT_CHARS:
            return
        at = word_start(tail, 0, len(tail)) if self._by_word else None
        if at is None and len(tail) > _TAIL_CHARS:
            at = _TAIL_CHARS
        if at is not None:
            block.settled += self._counter.count(tail[:at])
            block.tail, block.tail_tokens = tail[at:], self._counter.count(tail[at:])
