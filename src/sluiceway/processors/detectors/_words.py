"""Sequences of words, found in a text whatever their case and what parts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["WordMatch", "Words"]

_WORD = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"[\W_]{1,8}")
_MOST_BETWEEN = 8


class WordMatch:
    """Where a sequence stands."""

    __slots__ = ("_end", "_start")

    lastgroup: str | None = None

    def __init__(self, start: int, end: int) -> None:
        self._start = start
        self._end = end

    def start(self) -> int:
        """Return the offset of its first character."""
        return self._start

    def end(self) -> int:
        """Return the offset behind its last character."""
        return self._end

    def span(self) -> tuple[int, int]:
        """Return both."""
        return self._start, self._end


class _Node:
    __slots__ = ("children", "ends")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.ends = False


class Words:
    """A tree of sequences of words. Stands in a rule in the place of a pattern.

    Made in a fraction of the time that a pattern of so many words would take, and no text makes
    a search long.

    Args:
        sequences: Words in lower case, of letters and digits only.
    """

    __slots__ = ("_beginnings", "_root")

    def __init__(self, sequences: Iterable[Sequence[str]]) -> None:
        self._root = _Node()
        for words in sequences:
            node = self._root
            for word in words:
                node = node.children.setdefault(word, _Node())
            node.ends = True
        self._beginnings = {word[:n] for word in self._root.children for n in range(1, len(word) + 1)}

    def match(self, text: str, pos: int, *, partial: bool = False, timeout: float | None = None) -> WordMatch | None:
        """Return the longest sequence at a place that is the start of a word.

        Args:
            text: The text.
            pos: The place.
            partial: Answer instead whether more text would decide: a match if so, None if not.
            timeout: Not needed.
        """
        del timeout
        node, at, end = self._root, pos, -1
        size = len(text)
        while True:
            word = _WORD.match(text, at)
            if word is None:  # the text ends before a further word
                return WordMatch(pos, size) if partial and at == size else self._found(pos, end, partial=partial)
            said = word.group().lower()
            if partial and word.end() == size and self._may_begin(node, said):
                return WordMatch(pos, size)
            following = node.children.get(said)
            if following is None:
                return self._found(pos, end, partial=partial)
            node, at = following, word.end()
            if node.ends:
                end = at
            if not node.children:
                return self._found(pos, end, partial=partial)
            between = _BETWEEN.match(text, at)
            if between is None:
                return self._found(pos, end, partial=partial)
            if between.end() == size and len(between.group()) <= _MOST_BETWEEN and partial:
                return WordMatch(pos, size)
            at = between.end()

    def search(self, text: str, pos: int, *, partial: bool = False, timeout: float | None = None) -> WordMatch | None:
        """Return the first match from a place on."""
        for word in _WORD.finditer(text, pos):
            match = self.match(text, word.start(), partial=partial, timeout=timeout)
            if match is not None:
                return match
        return None

    @staticmethod
    def _found(start: int, end: int, *, partial: bool) -> WordMatch | None:
        return None if partial or end < 0 else WordMatch(start, end)

    def _may_begin(self, node: _Node, said: str) -> bool:
        if node is self._root:
            return said in self._beginnings
        return any(word.startswith(said) for word in node.children)
