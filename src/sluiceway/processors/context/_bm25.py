"""`ToolIndex`: finds tools by words, ranked by BM25."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import log1p
from typing import Final

from sluiceway.tools import Tool

__all__ = ["ToolIndex", "words_of"]

_K1: Final = 1.2
_B: Final = 0.75
_NAME_WEIGHT: Final = 3
"""How often a word of the name counts against one of the description."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD: Final = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """Return the words of a text or name in lower case, `sendMails` as `send` and `mail`."""
    return [_stem(word.lower()) for word in _WORD.findall(_HUMP.sub(" ", text))]


def _stem(word: str) -> str:
    """Return an English word without the ending of its plural."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


class ToolIndex:
    """An inverted index over names and descriptions. Immutable once built.

    The score is Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework",
    2009) with k1 = 1.2 and b = 0.75. What a word adds to a tool's score is worked out when the
    index is built; a search adds up, rarest words first, and looks common words up only for
    tools that can still be among the best.

    Args:
        tools: In an order that decides between equal scores.
    """

    __slots__ = ("_impacts", "_most", "tools")

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools: tuple[Tool, ...] = tuple(tools)
        counts = [Counter(words_of(t.name) * _NAME_WEIGHT + words_of(t.description)) for t in self.tools]
        lengths = [sum(count.values()) for count in counts]
        mean = (sum(lengths) / len(lengths) if lengths else 0) or 1.0
        postings: dict[str, dict[int, float]] = {}
        for place, count in enumerate(counts):
            norm = _K1 * (1 - _B + _B * lengths[place] / mean)
            for word, times in count.items():
                postings.setdefault(word, {})[place] = times * (_K1 + 1) / (times + norm)
        total = len(self.tools)
        for found in postings.values():
            rarity = log1p((total - len(found) + 0.5) / (len(found) + 0.5))
            for place in found:
                found[place] *= rarity
        self._impacts = postings
        self._most = {word: max(found.values()) for word, found in postings.items()}

    def search(self, query: str, top_k: int, min_score: float = 0.0) -> list[tuple[Tool, float]]:
        """Return the best tools with their scores, best first.

        Args:
            query: Words; those that no tool has count nothing.
            top_k: How many at most.
            min_score: What a score must be above 0 and at least.
        """
        words = sorted({w for w in words_of(query) if w in self._impacts}, key=lambda w: -self._most[w])
        scores: dict[int, float] = {}
        left = sum(self._most[word] for word in words)
        for number, word in enumerate(words):
            if number and self._is_settled(scores, left, top_k):
                self._complete(scores, words[number:])
                break
            left -= self._most[word]
            for place, impact in self._impacts[word].items():
                scores[place] = scores.get(place, 0.0) + impact
        best = heapq.nsmallest(top_k, ((-score, place) for place, score in scores.items() if score >= min_score))
        return [(self.tools[place], -score) for score, place in best if score < 0]

    @staticmethod
    def _is_settled(scores: dict[int, float], left: float, top_k: int) -> bool:
        """Whether no tool that has none of the words so far can come among the best."""
        if len(scores) < top_k:
            return False
        return heapq.nlargest(top_k, scores.values())[-1] > left

    def _complete(self, scores: dict[int, float], words: Sequence[str]) -> None:
        for word in words:
            impacts = self._impacts[word]
            for place in scores:
                impact = impacts.get(place)
                if impact is not None:
                    scores[place] += impact
