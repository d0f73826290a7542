"""pydantic-ai: agents with capabilities, and pydantic-graph."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from itertools import pairwise
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models.function import FunctionModel
from pydantic_graph import GraphBuilder
from pydantic_graph.join import reduce_sum

from benchmarks.peers._work import CALLS, CHUNKS, FANS, HOOKS, WORDS, Peer


class Before(AbstractCapability[Any]):
    """Looks at each request."""

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Change nothing."""
        return request_context


class After(AbstractCapability[Any]):
    """Looks at each response."""

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        """Change nothing."""
        return response


class Looks(AbstractCapability[Any]):
    """Looks at each event of the stream."""

    async def wrap_run_event_stream(self, ctx: Any, *, stream: AsyncIterable[Any]) -> AsyncIterator[Any]:
        """Hand on each event."""
        async for event in stream:
            yield event


async def answer(messages: Any, info: Any) -> ModelResponse:
    """Answer at once."""
    return ModelResponse(parts=[TextPart("fine")])


async def words(messages: Any, info: Any) -> AsyncIterator[str]:
    """Answer in words."""
    for word in WORDS:
        yield word


def fanned() -> Any:
    """Return three steps side by side and their sum."""
    graph: Any = GraphBuilder(input_type=int, output_type=int, auto_instrument=False)

    def adds(number: int) -> Any:
        async def add(ctx: Any) -> int:
            await asyncio.sleep(0)
            return ctx.inputs + number

        return graph.step(add, node_id=f"add-{number}")

    steps = [adds(1), adds(2), adds(3)]
    join = graph.join(reduce_sum, initial=0)
    graph.add(
        graph.edge_from(graph.start_node).to(*steps),
        graph.edge_from(*steps).to(join),
        graph.edge_from(join).to(graph.end_node),
    )
    return graph.build()


def chained() -> Any:
    """Return five steps one after the other."""
    graph: Any = GraphBuilder(input_type=str, output_type=str, auto_instrument=False)

    def hands_on(number: int) -> Any:
        async def same(ctx: Any) -> str:
            return ctx.inputs

        return graph.step(same, node_id=f"step-{number}")

    nodes = [graph.start_node, *(hands_on(number) for number in range(HOOKS)), graph.end_node]
    graph.add(*(graph.edge_from(one).to(other) for one, other in pairwise(nodes)))
    return graph.build()


async def streamed(agent: Any) -> str:
    """Stream one answer through what looks at its events; return its text."""
    out: list[str] = []
    async with agent.run_stream_events("go") as events:
        async for event in events:
            if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                out.append(event.delta.content_delta)
            elif isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                out.append(event.part.content)
    return "".join(out)


def peer() -> Peer:
    """Return its work."""
    hooks = [*(Before() for _ in range(10)), *(After() for _ in range(10))]
    agent: Any = Agent(FunctionModel(answer), capabilities=hooks)
    looking: Any = Agent(FunctionModel(stream_function=words), capabilities=[Looks() for _ in range(HOOKS)])
    fan, chain = fanned(), chained()

    async def call() -> None:
        for _ in range(CALLS):
            assert (await agent.run("go")).output == "fine"

    async def chunk() -> None:
        assert await streamed(looking) == "".join(WORDS)

    async def fan_out() -> None:
        for _ in range(FANS):
            assert await fan.run(inputs=1) == 9

    async def workflow() -> None:
        for word in WORDS[: CHUNKS // 10]:
            assert await chain.run(inputs=word) == word

    return Peer(
        "pydantic-ai",
        ("pydantic-ai-slim", "pydantic-graph"),
        {
            "call": (call, CALLS),
            "chunk": (chunk, CHUNKS),
            "fan-out": (fan_out, FANS),
            "workflow": (workflow, CHUNKS // 10),
        },
        {
            "call": "ten capabilities with before_model_request and ten with after_model_request",
            "chunk": "five capabilities with wrap_run_event_stream, read with run_stream_events",
            "fan-out": "a pydantic-graph of three steps and a join",
            "workflow": "a pydantic-graph of five steps called for each chunk",
        },
    )
