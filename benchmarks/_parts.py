"""Agents, models and processors that do nothing, as the rows use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluiceway import Agent, Processor
from sluiceway.models import ScriptedModel

__all__ = ["AsyncPass", "Pass", "answering", "consume", "passes", "streaming"]


class Pass(Processor):
    """Hands on each chunk."""

    def process_output_stream(self, ctx: Any) -> Any:
        """Return the chunk in hand."""
        return ctx.part


class AsyncPass(Processor):
    """Hands on each chunk, as a coroutine."""

    async def process_output_stream(self, ctx: Any) -> Any:
        """Return the chunk in hand."""
        return ctx.part


def passes(count: int, kind: type[Processor] = Pass) -> list[Processor]:
    """Return processors that hand on each chunk."""
    return [kind(f"pass-{number}") for number in range(count)]


def answering(deltas: int) -> ScriptedModel:
    """Return a model that answers in so many deltas of five characters."""
    return ScriptedModel([[f"{number % 10000:04d} " for number in range(deltas)]])


def streaming(deltas: int, output: Sequence[Any]) -> Agent:
    """Return an agent that streams so many deltas through these output processors."""
    return Agent(id="bench", instructions="", model=answering(deltas), output_processors=list(output))


async def consume(agent: Agent) -> str:
    """Stream one answer to its end and return its text."""
    async with agent.stream("go") as stream:
        return "".join([chunk.text async for chunk in stream if chunk.type == "text-delta"])
