"""Three branches and a map: the engine's time over the branches, and checks that wait."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel

from benchmarks._measure import least
from benchmarks._row import Row, Size, ratio, time
from sluiceway import Agent, Processor, Workflow
from sluiceway.models import ScriptedModel

WAIT_S = 0.05


class Check(Processor):
    """Gives way once, as a check that asks somebody does."""

    async def process_input(self, ctx: Any) -> None:
        """Change nothing."""
        await anyio.lowlevel.checkpoint()


class Group(Processor):
    """A task group of three, written by hand, in the place of the workflow."""

    async def process_input(self, ctx: Any) -> None:
        """Change nothing."""
        await bare(1)


class SlowCheck(Processor):
    """Waits 50 ms."""

    async def process_input(self, ctx: Any) -> None:
        """Change nothing, slowly."""
        await anyio.sleep(WAIT_S)


def fan(checks: list[Processor]) -> Any:
    """Return a workflow that runs these side by side and picks the first."""
    return Workflow("fan").parallel(checks).map(f"processor:{checks[0].id}").commit()


def guarded(*processors: Any) -> Agent:
    """Return an agent with these input processors."""
    return Agent(id="bench", model=ScriptedModel(["fine"]), input_processors=list(processors))


async def bare(count: int) -> None:
    """A task group of three that do what the checks do."""
    for _ in range(count):
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(anyio.lowlevel.checkpoint)


async def measure(size: Size) -> list[Row]:
    """Measure the fan-out over one check alone, then five slow checks against one."""
    fanned = guarded(fan([Check(f"check-{n}") for n in range(3)]))
    alone, by_hand = guarded(Check("check")), guarded(Group("group"))

    count = size.calls // 8

    async def calls(agent: Agent) -> None:
        for _ in range(count):
            await agent.generate("go")

    # Short rounds, and many: a difference of two figures is as noisy as both.
    own, base, hand, group = await least(
        8 * size.rounds, lambda: calls(fanned), lambda: calls(alone), lambda: calls(by_hand), lambda: bare(count)
    )
    over_ms = (own - base) / count * 1e3
    group_ms = group / count * 1e3
    slow = guarded(fan([SlowCheck(f"slow-{n}") for n in range(5)]))
    one = guarded(SlowCheck("slow"))
    five_s, one_s = await least(3, lambda: slow.generate("go"), lambda: one.generate("go"))
    return [
        time("3-way parallel with map, over one branch", over_ms, "ms", 0.35),
        # Over the difference of two noisy figures, hence the wider limit.
        ratio(
            "3-way parallel with map, over one branch",
            "a bare task group",
            over_ms / group_ms,
            2.0,
            limit=6.0,
            group_ms=group_ms,
            group_in_an_agent_ms=(hand - base) / count * 1e3,
        ),
        ratio("five checks of 50 ms side by side", "one check", five_s / one_s, 1.1),
    ]
