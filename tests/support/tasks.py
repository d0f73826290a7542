"""What runs on the event loop, on either backend, and how to stop it at any point."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import sniffio
import trio

__all__ = ["CancelAt", "living_tasks", "settle"]

T = TypeVar("T")


def living_tasks() -> int:
    """Return how many tasks there are on the running loop, system tasks included."""
    if sniffio.current_async_library() == "trio":
        return trio.lowlevel.current_statistics().tasks_living
    return len(asyncio.all_tasks())


async def settle(rounds: int = 5) -> None:
    """Let everything that can run do so."""
    for _ in range(rounds):
        await anyio.lowlevel.checkpoint()


class CancelAt:
    """Awaits a coroutine and cancels a scope the n-th time that it waits for the loop.

    Every wait of the wrapped coroutine passes through here, whatever it is for, so going
    through all n goes through all of its await points.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T], scope: anyio.CancelScope, at: int) -> None:
        self.coroutine = coroutine
        self.scope = scope
        self.at = at
        self.waits = 0

    def __await__(self) -> Generator[Any, Any, T]:
        """Pass on what the coroutine waits for, and count."""
        inner = self.coroutine.__await__()
        value: Any = None
        error: BaseException | None = None
        while True:
            try:
                asked = inner.send(value) if error is None else inner.throw(error)
            except StopIteration as end:
                return end.value
            self.waits += 1
            if self.waits == self.at:
                self.scope.cancel()
            value, error = None, None
            try:
                value = yield asked
            except BaseException as thrown:  # noqa: BLE001 - handed on to the coroutine, whatever it is
                error = thrown
