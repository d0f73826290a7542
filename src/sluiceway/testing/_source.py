"""`Source`: what generators draw from, so that each is written once and knows no library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

__all__ = ["Generator", "Source"]

T = TypeVar("T")


class Source(Protocol):
    """Gives what a generator asks for; the earlier and the smaller, the simpler."""

    def integer(self, low: int, high: int) -> int:
        """Return a whole number, both ends included."""
        ...

    def pick(self, items: Sequence[T]) -> T:
        """Return one of them; the first is the simplest."""
        ...

    def many(self, make: Callable[[Source], T], least: int, most: int) -> list[T]:
        """Return so many of them."""
        ...


Generator: TypeAlias = "Callable[[Source], T]"
"""Makes a case out of what a source gives."""
