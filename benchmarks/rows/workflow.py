"""The same processors as a workflow of `then` and as a plain list, in the stream."""

from __future__ import annotations

from benchmarks._measure import least
from benchmarks._parts import consume, passes, streaming
from benchmarks._row import Row, Size, ratio
from sluiceway import Workflow


async def measure(size: Size) -> list[Row]:
    """Measure five processors both ways."""
    chain = Workflow("chain")
    for processor in passes(5):
        chain = chain.then(processor)
    listed = streaming(size.n, passes(5))
    graph = streaming(size.n, [chain.commit()])
    own, base = await least(size.rounds, lambda: consume(graph), lambda: consume(listed))
    return [ratio("chunk through a workflow of five then", "a plain list", own / base, 1.1)]
