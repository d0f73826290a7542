"""`BatchPartsProcessor`."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway import Agent, Processor
from sluiceway.errors import ConfigurationError
from sluiceway.messages import Chunk, SourcePart
from sluiceway.processors import BatchPartsProcessor
from tests.support.models import ChunkModel, StallingModel
from tests.support.runs import collect, make_agent

pytestmark = pytest.mark.anyio


def delta(block: str, text: str, kind: str = "text") -> Chunk:
    return Chunk(f"{kind}-delta", {"id": block, "text": text})


async def passed(processor: Any, *chunks: Chunk) -> list[tuple[str, str]]:
    model = ChunkModel([*chunks, Chunk("finish", {"reason": "stop"})])
    ran = await collect(Agent(id="a", model=model, output_processors=[processor]), "hi")
    return [(c.type, c.text) for c in ran.chunks if c.type not in ("start", "step-start", "step-finish", "finish")]


async def test_five_deltas_become_one_and_the_rest_goes_at_the_end() -> None:
    agent, _ = make_agent(list("abcdefg"), output_processors=[BatchPartsProcessor()])
    ran = await collect(agent, "hi")
    assert [chunk.text for chunk in ran.of("text-delta")] == ["abcde", "fg"]
    assert ran.result.text == "abcdefg"


async def test_text_and_reasoning_are_not_mixed() -> None:
    out = await passed(
        BatchPartsProcessor(batch_size=3), delta("x", "a"), delta("x", "b", "reasoning"), delta("x", "c", "reasoning")
    )
    assert out == [("text-delta", "a"), ("reasoning-delta", "bc")]


async def test_another_chunk_waits_in_its_place_where_it_is_not_to_let_go() -> None:
    source = Chunk("source", {"part": SourcePart("s1", url="https://x.test")})
    chunks = [delta("x", "a"), source, delta("x", "b"), delta("x", "c"), delta("x", "d")]
    at_once = await passed(BatchPartsProcessor(batch_size=4), *chunks)
    kept = await passed(BatchPartsProcessor(batch_size=4, emit_on_non_text=False), *chunks)
    assert at_once == [("text-delta", "a"), ("source", ""), ("text-delta", "bcd")]
    assert kept == [("text-delta", "a"), ("source", ""), ("text-delta", "bc"), ("text-delta", "d")]


async def test_what_the_first_delta_carries_stays() -> None:
    first = Chunk("text-delta", {"id": "x", "text": "a", "provider_metadata": {"p": 1}})
    model = ChunkModel([first, delta("x", "b"), Chunk("finish", {"reason": "stop"})])
    ran = await collect(Agent(id="a", model=model, output_processors=[BatchPartsProcessor(batch_size=2)]), "hi")
    assert [dict(chunk.payload) for chunk in ran.of("text-delta")] == [
        {"id": "x", "text": "ab", "provider_metadata": {"p": 1}}
    ]


async def test_what_waits_goes_out_though_nothing_comes() -> None:
    agent = Agent(id="a", model=StallingModel("a", "b", "c"), output_processors=[BatchPartsProcessor(max_wait_time=10)])
    with anyio.fail_after(5):
        async with agent.stream("hi") as stream:
            async for chunk in stream:
                if chunk.type == "text-delta":
                    assert chunk.text == "abc"
                    break


async def test_the_processors_after_it_get_the_batches() -> None:
    seen: list[str] = []

    def look(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            seen.append(ctx.part.text)
        return ctx.part

    batch = BatchPartsProcessor(batch_size=2)
    agent, _ = make_agent(list("abc"), output_processors=[batch, Processor.of("look", process_output_stream=look)])
    await agent.generate("hi")
    assert seen == ["ab", "c"]


@pytest.mark.parametrize(
    "options", [{"batch_size": 0}, {"max_wait_time": 0}, {"max_wait_time": True}, {"emit_on_non_text": 1}]
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        BatchPartsProcessor(**options)
