"""Meanings near each other: the second half of the rules against prompt injection.

A phrase has one wording. What an attack wants can be said in many: it tells the model to drop what
it was told, wherever in the sentence that stands, in whatever language. Here a rule names meanings,
and finds where words for all of them stand within some distance, in any order.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from sluiceway.processors.detectors._meanings import Place, meanings_in
from sluiceway.processors.detectors._phrases_rules import ConceptRule
from sluiceway.processors.detectors._weighing import Weighed, weigh

__all__ = ["Concepts", "lower_case"]

_SENTENCE_END = re.compile(r"[.!?;:\n\u3002\uff01\uff1f\u0964]")
_NEIGHBOURS = 3
_MAY_OVERLAP = ("your", "ai", "aisure")


class Concepts:
    """Where in a text which meaning stands; looked up when it is asked for.

    Args:
        text: The text, in lower case.
    """

    __slots__ = ("_found", "said", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._found = meanings_in(text)
        self.said = sum(map(len, self._found.values()))
        """How many places have a meaning."""

    def weigh(self, trick: str) -> Iterator[Weighed]:
        """Yield what the stretches of the text weigh that are not far from an attack."""
        return weigh(self.text, self._found, trick)

    def near(self, name: str, place: Place, chars: int) -> bool:
        """Whether a meaning stands within so many characters of a place, or in it."""
        return self._nearest(name, place, chars, inside=True) is not None

    def find(self, rule: ConceptRule) -> Iterator[tuple[int, int, int]]:
        """Yield start and end of what a rule finds, and where the first meaning stands; one per stretch of text."""
        if any(name not in self._found for name in rule.needs):
            return
        last = -1
        for anchor in self._found[rule.needs[0]]:
            if anchor[0] < last:
                continue
            place = self._around(rule, anchor)
            if place is not None:
                last = place[1]
                yield (*place, anchor[0])

    def _around(self, rule: ConceptRule, anchor: Place) -> Place | None:
        start, end = anchor
        for name in rule.needs[1:]:
            near = self._nearest(name, anchor, rule.chars, sentence=rule.sentence)
            if near is None:
                return None
            start, end = min(start, near[0]), max(end, near[1])
        if rule.ordered and start < anchor[0]:
            return None
        barred = any(self.near(name, (start, end), rule.chars) for name in rule.apart)
        return None if barred else (start, end)

    def _nearest(
        self, name: str, anchor: Place, chars: int, *, inside: bool = False, sentence: bool = False
    ) -> Place | None:
        places = self._found.get(name, [])
        at = bisect_left(places, anchor)
        found: list[tuple[int, Place]] = []
        for place in places[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]:
            apart = max(place[0] - anchor[1], anchor[0] - place[1])
            if sentence and _SENTENCE_END.search(self.text, min(anchor[1], place[1]), max(anchor[0], place[0])):
                continue
            if apart <= chars and (apart >= 0 or inside or name in _MAY_OVERLAP):
                found.append((apart, place))
        return min(found)[1] if found else None


def lower_case(text: str) -> str:
    """Return a text in lower case, each character in its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)
