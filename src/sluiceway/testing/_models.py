"""Models that a script of replies cannot play."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel

from sluiceway.messages import Chunk
from sluiceway.models import ModelRequest

__all__ = ["ChunkModel", "StallingModel"]


class ChunkModel:
    """A model that sends exactly these chunks, call by call; the last answer repeats.

    Args:
        answers: The chunks of each answer. An exception among them is raised in its place.

    Attributes:
        calls: Every request it was given.
    """

    provider = "chunks"
    model_id = "chunks"
    structured = True

    def __init__(self, *answers: Sequence[Chunk | Exception]) -> None:
        self.answers = answers
        self.calls: list[ModelRequest] = []

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Send the next answer."""
        answer = self.answers[min(len(self.calls), len(self.answers) - 1)]
        self.calls.append(request)
        await anyio.lowlevel.checkpoint()
        chunks = self._chunks(answer, request.run_id)
        try:
            yield chunks
        finally:
            await chunks.aclose()

    async def _chunks(self, answer: Sequence[Chunk | Exception], run_id: str) -> AsyncGenerator[Chunk]:
        for chunk in answer:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk.replace(run_id=run_id)


class StallingModel:
    """A model that sends a few deltas and then waits until it is closed.

    Args:
        texts: The deltas.

    Attributes:
        opened: How many calls were begun.
        closed: How many of them were ended.
        stalled: Set when it waits.
    """

    provider = "stalling"
    model_id = "stalling"
    structured = True

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.opened = 0
        self.closed = 0
        self.stalled = anyio.Event()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Send the deltas and stall."""
        self.opened += 1
        chunks = self._chunks(request.run_id)
        try:
            yield chunks
        finally:
            self.closed += 1
            await chunks.aclose()

    async def _chunks(self, run_id: str) -> AsyncGenerator[Chunk]:
        yield Chunk("text-start", {"id": "text-1"}, run_id)
        for text in self.texts:
            yield Chunk("text-delta", {"id": "text-1", "text": text}, run_id)
        self.stalled.set()
        await anyio.sleep_forever()
