"""The clock that pauses, timeouts and records go by."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Protocol

import anyio

__all__ = ["Clock", "clock", "use_clock"]


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> datetime:
        """The time, aware, in UTC."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since some fixed point."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class _RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


_REAL: Clock = _RealClock()
_current: ContextVar[Clock] = ContextVar("sluiceway_clock", default=_REAL)


def clock() -> Clock:
    """Return the clock of the current context."""
    return _current.get()


@contextmanager
def use_clock(fake: Clock) -> Generator[None]:
    """Let everything in this context go by another clock, so that tests need not wait.

    Args:
        fake: The clock, until the block ends.
    """
    token = _current.set(fake)
    try:
        yield
    finally:
        _current.reset(token)
