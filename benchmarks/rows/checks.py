"""Checks that wait for another service: side by side by themselves, and beside the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import anyio

from benchmarks._measure import least
from benchmarks._row import Row, Size, ratio
from sluiceway import Agent, Processor
from sluiceway.models import ScriptedModel
from sluiceway.processors import Effects

WAIT_S = 0.05
FIRST_TOKEN_S = 0.06


class Check(Processor):
    """Waits 50 ms and writes nothing."""

    effects = Effects(reads=("messages",), external=True)

    async def process_input(self, ctx: Any) -> None:
        """Pass."""
        await anyio.sleep(WAIT_S)


def guarded(count: int, *, concurrency: Literal["auto"] | None = None, overlap: bool = False) -> Agent:
    """Return an agent whose first token comes after 60 ms, with so many checks before it."""
    model = ScriptedModel([{"text": ["fine"], "delay_s": FIRST_TOKEN_S}])
    checks: Sequence[Processor] = [Check(f"check-{number}") for number in range(count)]
    return Agent(id="bench", model=model, input_processors=checks, concurrency=concurrency, overlap=overlap)


async def checked(agent: Agent) -> None:
    """Run a call up to the model."""
    async with agent.stream("go") as stream:
        async for chunk in stream:
            if chunk.type == "step-start":
                return


async def first_token(agent: Agent) -> None:
    """Run a call up to its first text."""
    async with agent.stream("go") as stream:
        async for chunk in stream:
            if chunk.type == "text-delta":
                return


async def measure(size: Size) -> list[Row]:
    """Measure five checks against one, then checks beside the model against its first token."""
    one, five = guarded(1), guarded(5, concurrency="auto")
    plain, beside = guarded(0), guarded(5, concurrency="auto", overlap=True)
    one_s, five_s, plain_s, beside_s = await least(
        max(3, size.rounds // 2),
        lambda: checked(one),
        lambda: checked(five),
        lambda: first_token(plain),
        lambda: first_token(beside),
    )
    return [
        ratio('five checks of 50 ms, concurrency="auto"', "one check", five_s / one_s, 1.1, one_ms=one_s * 1e3),
        ratio(
            "first token behind five checks of 50 ms, overlap",
            "60 ms",
            beside_s / FIRST_TOKEN_S,
            1.1,
            model_alone_ms=plain_s * 1e3,
        ),
    ]
