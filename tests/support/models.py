"""Models to test with that a script of replies cannot play."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel

from sluiceway.messages import Chunk
from sluiceway.models import ModelRequest

__all__ = ["ChunkModel", "RaisingModel", "StallingModel", "deltas"]


def deltas(*texts: str, block: str = "text-1") -> list[Chunk]:
    """Return the chunks of one block of text."""
    return [
        Chunk("text-start", {"id": block}),
        *(Chunk("text-delta", {"id": block, "text": text}) for text in texts),
        Chunk("text-end", {"id": block}),
    ]


class ChunkModel:
    """A model that sends exactly these chunks, call by call; the last answer repeats.

    An exception among the chunks is raised in its place.
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
    """A model that sends a few deltas and then waits until it is closed."""

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
        for chunk in deltas(*self.texts)[:-1]:
            yield chunk.replace(run_id=run_id)
        self.stalled.set()
        await anyio.sleep_forever()


class RaisingModel:
    """A model that raises what it is given, on entering or in the middle of its text."""

    provider = "raising"
    model_id = "raising"
    structured = True

    def __init__(self, error: Callable[[], BaseException], *texts: str) -> None:
        self.error = error
        self.texts = texts
        self.calls = 0

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Raise at once, or after the texts."""
        self.calls += 1
        await anyio.lowlevel.checkpoint()
        if not self.texts:
            raise self.error()
        chunks = self._chunks(request.run_id)
        try:
            yield chunks
        finally:
            await chunks.aclose()

    async def _chunks(self, run_id: str) -> AsyncGenerator[Chunk]:
        for chunk in deltas(*self.texts)[:-1]:
            yield chunk.replace(run_id=run_id)
        raise self.error()
