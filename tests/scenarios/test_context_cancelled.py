"""Cancelling a run with all context processors at every await point: nothing half written, nobody waits."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

from sluiceway import Agent, tool
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import (
    EnsureFinalResponse,
    ProviderHistoryCompat,
    ResponseCache,
    StreamErrorRetryProcessor,
    StructuredOutputProcessor,
    TokenLimiter,
    ToolCallFilter,
    ToolSearchProcessor,
)
from sluiceway.processors.context._cache_values import decoded
from tests.support.counting import WordCounter
from tests.support.runs import calls_tool
from tests.support.tasks import CancelAt, living_tasks, settle

pytestmark = pytest.mark.anyio


class Number(BaseModel):
    n: int


@tool
async def count() -> int:
    """Count."""
    await anyio.lowlevel.checkpoint()
    return 2


class ByPrompt(ScriptedModel):
    """Loads a tool, calls it, and answers, as the prompt shows what has been done."""

    def __init__(self) -> None:
        super().__init__(
            [
                Reply(tool_calls=[calls_tool("load_tool", {"names": ["count"]}, "c1")]),
                Reply(tool_calls=[calls_tool("count", id="c2")]),
                Reply(text=["it is ", "two"]),
            ]
        )
        self.asked = 0

    def stream(self, request: Any) -> Any:
        """Answer with the reply that fits."""
        self.asked += 1
        done = sum(message.role == "tool" for message in request.prompt.messages)
        return ScriptedModel([self._replies[done]]).stream(request)


class SlowCache:
    """Waits before it answers."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def get(self, key: str) -> bytes | None:
        """Return what is kept."""
        await anyio.lowlevel.checkpoint()
        return self.kept.get(key)

    async def set(self, key: str, value: bytes, ttl_s: float | None) -> None:
        """Keep a value."""
        await anyio.lowlevel.checkpoint()
        self.kept[key] = value


def everything() -> tuple[Agent, ByPrompt, ResponseCache, SlowCache]:
    model, cache = ByPrompt(), SlowCache()
    caching = ResponseCache(cache)
    agent = Agent(
        id="a",
        model=model,
        input_processors=[
            ToolSearchProcessor([count]),
            EnsureFinalResponse(),
            ToolCallFilter(),
            ProviderHistoryCompat(),
            TokenLimiter(1000, encoding=WordCounter()),
            caching,
        ],
        output_processors=[
            TokenLimiter(1000, encoding=WordCounter()),
            StructuredOutputProcessor(Number, model=ScriptedModel(['{"n": 2}'])),
        ],
        error_processors=[StreamErrorRetryProcessor()],
    )
    return agent, model, caching, cache


async def test_a_run_that_is_not_cancelled() -> None:
    agent, model, _, cache = everything()
    for _ in range(2):
        result = await agent.generate("how many?")
        assert (result.text, result.object) == ("it is two", Number(n=2))
    assert (model.asked, len(cache.kept)) == (3, 3)


async def test_cancelling_anywhere_leaves_whole_answers_and_nobody_waiting() -> None:
    at = 0
    while True:
        at += 1
        agent, model, caching, cache = everything()
        tasks = living_tasks()
        with anyio.CancelScope() as scope:
            await CancelAt(agent.generate("how many?"), scope, at)
        await settle()
        assert living_tasks() == tasks
        assert caching._flights._all() == {}
        assert all(decoded(value) for value in cache.kept.values())
        asked = model.asked

        with anyio.fail_after(5):
            result = await agent.generate("how many?")

        assert (result.text, result.object, len(cache.kept)) == ("it is two", Number(n=2), 3)
        assert model.asked <= asked + 3
        if not scope.cancelled_caught:
            break
    assert at > 10
