"""One `generate` with ten input and ten output processors that do nothing."""

from __future__ import annotations

from typing import Any

from benchmarks._measure import least
from benchmarks._row import Row, Size, time
from sluiceway import Agent, Processor
from sluiceway.models import ScriptedModel


class Before(Processor):
    """Looks at the input and at each step, and changes nothing."""

    def process_input(self, ctx: Any) -> None:
        """Change nothing."""

    def process_input_step(self, ctx: Any) -> None:
        """Change nothing."""


class After(Processor):
    """Looks at each response and at the result, and changes nothing."""

    def process_output_step(self, ctx: Any) -> None:
        """Change nothing."""

    def process_output_result(self, ctx: Any) -> None:
        """Change nothing."""


async def measure(size: Size) -> list[Row]:
    """Measure with the twenty and with none."""
    guarded = Agent(
        id="guarded",
        model=ScriptedModel(["fine"]),
        input_processors=[Before(f"before-{n}") for n in range(10)],
        output_processors=[After(f"after-{n}") for n in range(10)],
    )
    plain = Agent(id="plain", model=ScriptedModel(["fine"]))

    async def calls(agent: Agent) -> None:
        for _ in range(size.calls):
            await agent.generate("go")

    own, base = await least(size.rounds, lambda: calls(guarded), lambda: calls(plain))
    own_ms, base_ms = own / size.calls * 1e3, base / size.calls * 1e3
    return [time("generate with 10 + 10 processors", own_ms, "ms", 0.6, without_any_ms=base_ms)]
