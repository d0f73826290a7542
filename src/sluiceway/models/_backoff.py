"""`Backoff`: how long to wait before a refused call is made again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Backoff"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before a call is made again.

    Args:
        first_s: The longest first wait; it doubles with every further one.
        most_s: What it never goes beyond.
        most_asked_s: The longest wait that a provider may ask for by `Retry-After`; if it
            asks for more, the call is not made again.
        jitter: Gives a number in [0, 1); the wait is between half of the time and all of it.
    """

    first_s: float = 0.5
    most_s: float = 8.0
    most_asked_s: float = 60.0
    jitter: Callable[[], float] = random.random

    def wait_s(self, retry: int, asked_s: float | None) -> float | None:
        """Return the seconds before retry number `retry` (from 0), or None for no retry."""
        if asked_s is not None:
            return None if asked_s > self.most_asked_s else max(0.0, asked_s)
        longest = min(self.most_s, self.first_s * 2.0 ** min(retry, 30))
        return longest * (0.5 + self.jitter() / 2)
