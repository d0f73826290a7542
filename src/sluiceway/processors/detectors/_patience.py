"""`Patience`: how long a pattern that is not our own may take over one text, all its searches together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import thread_time
from typing import Any

__all__ = ["Patience"]

_PER_CHAR_S = 1e-5
"""What a text allows for more with each character: a tenth of the speed of our own patterns."""


class Patience:
    """The time that is left for the searches of one pattern in one text.

    A limit for each search would not do: a text cut into chunks, or one with many places to
    begin at, is searched a thousand times.

    Args:
        limit_s: Seconds, whatever the length of the text.
        chars: How long the text is so far.
    """

    __slots__ = ("_left_s",)

    def __init__(self, limit_s: float, chars: int = 0) -> None:
        self._left_s = limit_s + chars * _PER_CHAR_S

    def more(self, chars: int) -> None:
        """Note that the text has become longer."""
        self._left_s += chars * _PER_CHAR_S

    def over(self, look: Callable[..., Any]) -> Callable[..., Any]:
        """Return a search that counts its time, and raises a `TimeoutError` when none is left."""
        return partial(self._look, look)

    def _look(self, look: Callable[..., Any], text: str, position: int, *, partial: bool = False) -> Any:
        if self._left_s <= 0:
            raise TimeoutError("regex timed out")
        started = thread_time()
        try:
            return look(text, position, partial=partial, timeout=self._left_s)
        finally:
            self._left_s -= thread_time() - started
