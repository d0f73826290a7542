"""sluiceway."""

from __future__ import annotations

from typing import Any

import anyio.lowlevel

from benchmarks._parts import consume, passes
from benchmarks.peers._work import CALLS, CHUNKS, FANS, HOOKS, WORDS, Peer
from sluiceway import Agent, Processor, Workflow
from sluiceway.models import ScriptedModel


class Before(Processor):
    """Looks at each step before the model."""

    def process_input_step(self, ctx: Any) -> None:
        """Change nothing."""


class After(Processor):
    """Looks at each step after the model."""

    def process_output_step(self, ctx: Any) -> None:
        """Change nothing."""


async def one(data: int) -> int:
    """Give way once, and add one."""
    await anyio.lowlevel.checkpoint()
    return data + 1


async def two(data: int) -> int:
    """Give way once, and add two."""
    await anyio.lowlevel.checkpoint()
    return data + 2


async def three(data: int) -> int:
    """Give way once, and add three."""
    await anyio.lowlevel.checkpoint()
    return data + 3


def peer() -> Peer:
    """Return its work."""
    agent = Agent(
        id="call",
        model=ScriptedModel("fine"),
        input_processors=[Before(f"before-{n}") for n in range(10)],
        output_processors=[After(f"after-{n}") for n in range(10)],
    )
    fan = Workflow("fan").parallel([one, two, three]).map(lambda results: sum(results.values())).commit()
    chain = Workflow("chain")
    for processor in passes(HOOKS):
        chain = chain.then(processor)
    listed = Agent(id="chunk", model=ScriptedModel([WORDS]), output_processors=passes(HOOKS))
    graph = Agent(id="workflow", model=ScriptedModel([WORDS]), output_processors=[chain])

    async def call() -> None:
        for _ in range(CALLS):
            assert (await agent.generate("go")).text == "fine"

    async def fan_out() -> None:
        for _ in range(FANS):
            assert (await fan.run(1)).output == 9

    async def chunk() -> None:
        assert await consume(listed) == "".join(WORDS)

    async def workflow() -> None:
        assert await consume(graph) == "".join(WORDS)

    return Peer(
        "sluiceway",
        ("sluiceway",),
        {
            "call": (call, CALLS),
            "chunk": (chunk, CHUNKS),
            "fan-out": (fan_out, FANS),
            "workflow": (workflow, CHUNKS),
        },
        {
            "call": "ten input and ten output processors, one hook each",
            "chunk": "five output processors with a stream hook",
            "fan-out": "a workflow of its own: parallel, then map",
            "workflow": "a workflow of five then among the output processors",
        },
    )
