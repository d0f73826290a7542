"""What doubling the work costs, in time and in memory."""

from __future__ import annotations

from typing import Any

from benchmarks._measure import Work, least, peak_kb
from benchmarks._parts import consume, passes, streaming
from benchmarks._row import Row, Size, growth
from sluiceway import Agent, Processor, Workflow
from sluiceway.graphs import CommittedWorkflow
from sluiceway.models import ScriptedModel

DOUBLINGS = 3


def chunks(n: int) -> Work:
    """A stream of n chunks through three processors."""
    agent = streaming(n, passes(3))
    return lambda: consume(agent)


def processors(n: int) -> Work:
    """A stream of 200 chunks through n processors."""
    agent = streaming(200, passes(n))
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


def long_workflow(entries: list[Processor]) -> CommittedWorkflow:
    """Return a workflow of these: each fourth by itself, then three side by side that are merged."""
    workflow = Workflow("long")
    for at in range(0, len(entries), 4):
        workflow = workflow.then(entries[at]).parallel(entries[at + 1 : at + 4])
    return workflow.commit()


def graph_nodes(n: int) -> Work:
    """A workflow of n steps, built, committed and turned into a graph."""
    entries = passes(n)

    async def work() -> None:
        assert long_workflow(entries).graph.number_of_nodes() > n

    return work


def layout(n: int) -> Work:
    """The picture of a workflow of n steps."""
    entries = passes(n)

    async def work() -> None:
        assert long_workflow(entries).to_svg()

    return work


async def measure(size: Size) -> list[Row]:
    """Measure each at n/4, n/2, n and 2n."""
    rows: list[Row] = []
    cases = [
        ("chunks", chunks, size.n),
        ("messages", messages, size.n // 4),
        ("processors", processors, size.n // 50),
        ("graph nodes", graph_nodes, size.n // 50),
        ("layout", layout, size.n // 100),
    ]
    for name, make, n in cases:
        sizes = [n * 2**power // 4 for power in range(DOUBLINGS + 1)]
        seconds = await least(size.rounds, *map(make, sizes))
        kb = [await peak_kb(make(count)) for count in sizes]
        rows.append(growth(f"time by {name}", [(c, s * 1e3) for c, s in zip(sizes, seconds, strict=True)], "ms"))
        rows.append(growth(f"memory by {name}", list(zip(sizes, kb, strict=True)), "KB"))
    return rows
