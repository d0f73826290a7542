"""A call that is answered from the cache, against the call of a model that answers at once."""

from __future__ import annotations

from typing import Any

from benchmarks._measure import least
from benchmarks._parts import answering
from benchmarks._row import Row, Size, ratio, time
from sluiceway import Agent
from sluiceway.processors import ResponseCache

DELTAS = 50


async def measure(size: Size) -> list[Row]:
    """Measure calls with the same question, with a cache in memory and without."""
    plain = Agent(id="bench", instructions="Be short.", model=answering(DELTAS))
    cached = Agent(id="bench", instructions="Be short.", model=answering(DELTAS), input_processors=[ResponseCache()])

    async def calls(agent: Any) -> None:
        for _ in range(size.calls):
            await agent.generate("What is the time?")

    hit, miss = await least(size.rounds, lambda: calls(cached), lambda: calls(plain))
    hit_ms, call_ms = hit / size.calls * 1e3, miss / size.calls * 1e3
    return [
        ratio(
            f"cache hit, {DELTAS} deltas", "a model without a network", hit / miss, 2.0, hit_ms=hit_ms, call_ms=call_ms
        ),
        time(f"cache hit, {DELTAS} deltas", hit_ms, "ms", 2.0),
    ]
