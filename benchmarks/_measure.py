"""Timing: rounds interleaved, least of several, the garbage of one not paid by the next."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Awaitable, Callable

__all__ = ["Work", "least", "peak_kb"]

Work = Callable[[], Awaitable[object]]


async def least(rounds: int, *works: Work) -> list[float]:
    """Return the least time of each work in seconds.

    All of them run once in every round, after one round that warms up, so that a slow minute
    of the machine falls on all.
    """
    best = [float("inf")] * len(works)
    for number in range(rounds + 1):
        for index, work in enumerate(works):
            gc.collect()
            started = time.perf_counter()
            await work()
            seconds = time.perf_counter() - started
            if number:
                best[index] = min(best[index], seconds)
    return best


async def peak_kb(work: Work) -> float:
    """Return the most memory that Python held during the work beyond what it held before, in KB."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        await work()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return (peak - before) / 1024
