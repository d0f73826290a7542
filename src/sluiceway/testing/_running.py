"""Run asynchronous code from a plain function, also where a loop runs already."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeAlias, TypeVar

import anyio

from sluiceway.engine import clock, loop_is_running, use_clock

__all__ = ["Backend", "run_blocking"]

T = TypeVar("T")

Backend: TypeAlias = Literal["asyncio", "trio"]
"""The event loop that a law runs processors on."""


def run_blocking(function: Callable[[], Awaitable[T]], backend: Backend = "asyncio") -> T:
    """Run a coroutine function to its end, in a thread of its own if a loop runs here."""
    if not loop_is_running():
        return anyio.run(function, backend=backend)
    current = clock()

    def run() -> T:
        with use_clock(current):  # the rest of the context says which loop runs, and that is another one here
            return anyio.run(function, backend=backend)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()
