"""A chunk from a provider: reading the event stream and mapping it, against the official client."""

from __future__ import annotations

import httpx2
import openai

from benchmarks._measure import least
from benchmarks._row import Row, Size, ratio, time
from sluiceway.messages import MessageList
from sluiceway.models import ModelRequest, OpenAIChat
from tests.integration.modelserver import Answer, ModelServer, chat

EVENTS_PER_PACKET = 16


def answer(chunks: int) -> Answer:
    """A stream of so many deltas, several to a packet."""
    events = [step for step in chat(*["token "] * chunks, usage=True).steps if isinstance(step, bytes)]
    packets = range(0, len(events), EVENTS_PER_PACKET)
    return Answer([b"".join(events[at : at + EVENTS_PER_PACKET]) for at in packets])


async def measure(size: Size) -> list[Row]:
    """Measure both clients on one server, connections kept open."""
    request = ModelRequest(MessageList(["go"]).to_prompt(), run_id="run")
    with ModelServer() as server:
        server.play(answer(size.n))
        client = openai.AsyncOpenAI(api_key="none", base_url=server.url, http_client=httpx2.AsyncClient())
        model = OpenAIChat("m", base_url=server.url)

        async def ours() -> None:
            read = 0
            async with model.stream(request) as chunks:
                async for chunk in chunks:
                    read += len(chunk.text)
            assert read == 6 * size.n

        async def theirs() -> None:
            read = 0
            stream = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "go"}], stream=True
            )
            async for chunk in stream:
                if chunk.choices:
                    read += len(chunk.choices[0].delta.content or "")
            assert read == 6 * size.n

        async with model, client:
            own, other = await least(size.rounds, ours, theirs)
    own_us, other_us = own / size.n * 1e6, other / size.n * 1e6
    return [
        ratio("a chunk from a provider", "the official client", own / other, 0.25, own_us=own_us, their_us=other_us),
        time("a chunk from a provider", own_us, "µs", 15.0),
    ]
