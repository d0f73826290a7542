"""The meanings in a reading of a text: where they stand, and what they weigh."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from sluiceway.processors.detectors._meanings import Place, meanings_in
from sluiceway.processors.detectors._weighing import Weighed, signs_in, weigh

__all__ = ["Concepts", "lower_case"]

_NEIGHBOURS = 3


class Concepts:
    """Where in a text which meaning stands.

    Args:
        text: The text, in lower case.
    """

    __slots__ = ("_found", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._found = meanings_in(text)

    def says_more_than(self, other: Concepts) -> bool:
        """Whether some meaning stands in more places than in the other; that it has fewer of a second is no matter."""
        return any(len(places) > len(other._found.get(name, ())) for name, places in self._found.items())

    def signs(self, trick: str) -> Iterator[set[str]]:
        """Yield the signs in each window of the text; for fitting the weights."""
        return signs_in(self.text, self._found, trick)

    def weigh(self, trick: str) -> Sequence[Weighed]:
        """Return what the windows of the text weigh, in text order."""
        return tuple(weigh(self.text, self._found, trick))

    def near(self, name: str, place: Place, chars: int) -> bool:
        """Whether a meaning stands within so many characters of a place, or in it."""
        places = self._found.get(name, [])
        at = bisect_left(places, place)
        return any(
            start - place[1] <= chars and place[0] - end <= chars
            for start, end in places[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]
        )


def lower_case(text: str) -> str:
    """Return a text in lower case, each character in its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)
