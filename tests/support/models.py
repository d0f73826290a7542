"""Models to test with that a script of replies cannot play."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio.lowlevel

from sluiceway.messages import Chunk
from sluiceway.models import ModelRequest
from sluiceway.testing import ChunkModel, StallingModel, block_chunks

__all__ = ["ChunkModel", "RaisingModel", "StallingModel", "deltas"]


def deltas(*texts: str, block: str = "text-1") -> list[Chunk]:
    """Return the chunks of one block of text."""
    return block_chunks(texts, block=block)


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
