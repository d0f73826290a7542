"""What doubling the work costs, in time and in memory."""

from __future__ import annotations

from typing import Any

from benchmarks._measure import Work, least, peak_kb
from benchmarks._parts import consume, passes, streaming
from benchmarks._row import Row, Size, growth
from sluiceway import Agent, Processor, Workflow
from sluiceway.models import ScriptedModel


def chunks(n: int) -> Work:
    """A stream of n chunks through three processors."""
    agent = streaming(n, passes(3))
    return lambda: consume(agent)


def processors(n: int) -> Work:
    """A stream of 500 chunks through n processors."""
    agent = streaming(500, passes(n))
    return lambda: consume(agent)


def messages(n: int) -> Work:
    """A call with n messages of history."""
    agent = Agent(id="bench", model=ScriptedModel(["fine"]), input_processors=passes_input(2))
    said: list[dict[str, Any]] = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": f"message {number}"} for number in range(n + 1)
    ]
    return lambda: agent.generate(said)


def passes_input(count: int) -> list[Any]:
    """Return processors that look at every message of the input."""
    return [
        Processor.of(f"look-{n}", process_input=lambda ctx: sum(len(m.text) for m in ctx.messages) and None)
        for n in range(count)
    ]


def nodes(n: int) -> Work:
    """A workflow of n entries, built and committed."""
    entries = passes(n)

    async def work() -> None:
        workflow = Workflow("long")
        for entry in entries:
            workflow = workflow.then(entry)
        workflow.commit()

    return work


async def measure(size: Size) -> list[Row]:
    """Measure each at n and at 2n."""
    rows: list[Row] = []
    cases = [
        ("chunks", chunks, size.n),
        ("processors", processors, 20),
        ("messages", messages, size.n // 4),
        ("graph nodes", nodes, 400),
    ]
    for name, make, n in cases:
        once, twice = await least(size.rounds, make(n), make(2 * n))
        rows.append(growth(f"time by {name}", twice / once, n_ms=once * 1e3, twice_n_ms=twice * 1e3))
        small, large = await peak_kb(make(n)), await peak_kb(make(2 * n))
        rows.append(growth(f"memory by {name}", large / small, n_kb=small, twice_n_kb=large))
    return rows
