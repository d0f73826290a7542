"""What a stream holds that is open and waits for its model."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel

from benchmarks._parts import passes
from benchmarks._row import Row, Size, time
from sluiceway import Agent, Processor
from sluiceway.messages import Chunk
from sluiceway.models import ModelRequest
from sluiceway.processors import PIIDetector


class Waiting:
    """A model that sends one word and then waits."""

    provider = "bench"
    model_id = "waiting"
    structured = False
    max_retries = 0

    def __init__(self) -> None:
        self.go_on = anyio.Event()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Answer with one word."""
        chunks = self._chunks(request.run_id)
        try:
            yield chunks
        finally:
            await chunks.aclose()

    async def _chunks(self, run_id: str) -> AsyncGenerator[Chunk]:
        yield Chunk("text-start", {"id": "t"}, run_id)
        yield Chunk("text-delta", {"id": "t", "text": "Well, "}, run_id)
        await self.go_on.wait()
        yield Chunk("text-end", {"id": "t"}, run_id)
        yield Chunk("finish", {"reason": "stop"}, run_id)


async def held_kb(guards: Sequence[Processor], count: int) -> float:
    """Return how much memory each of so many streams holds, and the task that reads it, while all wait."""
    model = Waiting()
    agent = Agent(id="bench", model=model, output_processors=guards)
    waiting = before = held = 0

    async def read() -> None:
        nonlocal waiting
        async with agent.stream("go") as stream:
            async for chunk in stream:
                if chunk.type == "text-start":
                    waiting += 1

    tracemalloc.start()
    try:
        async with anyio.create_task_group() as group:
            before, _ = tracemalloc.get_traced_memory()
            for _ in range(count):
                group.start_soon(read)
            while waiting < count:
                await anyio.lowlevel.checkpoint()
            await anyio.sleep(0.1)
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
            model.go_on.set()
    finally:
        tracemalloc.stop()
    return (held - before) / count / 1024


async def measure(size: Size) -> list[Row]:
    """Measure streams through five processors that hand on, and through a redactor of personal data."""
    count = 10_000 if size.n >= 20_000 else 1_000
    plain, redacting = await held_kb(passes(5), count), await held_kb([PIIDetector()], count)
    return [time(f"{count:,} open streams: memory of each", plain, "KB", 20.0, redacting_kb=redacting)]
