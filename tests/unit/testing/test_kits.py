"""The conformance kits pass what is shipped, and find what is wrong with an implementation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sluiceway import Processor
from sluiceway.memory import InMemoryStore, SQLiteStore, Turn
from sluiceway.messages import Chunk
from sluiceway.models import EchoModel, ModelRequest, ScriptedModel
from sluiceway.processors import Detection, InMemoryCache, PIIDetector, Span
from sluiceway.processors.detectors import InjectionRules, PIIRules
from sluiceway.testing import (
    ChunkModel,
    block_chunks,
    check_cache,
    check_detector,
    check_model,
    check_processor,
    check_store,
)

END = Chunk("finish", {"reason": "stop", "usage": None})


@pytest.mark.anyio
async def test_what_is_shipped_passes(tmp_path: Path) -> None:
    await check_store(InMemoryStore())
    await check_store(SQLiteStore(tmp_path / "memory.db"))
    await check_cache(InMemoryCache())
    await check_model(ScriptedModel([["a", "b"]]))
    await check_model(EchoModel())
    await check_detector(PIIRules())
    await check_detector(InjectionRules())


def test_a_processor_that_is_right_passes() -> None:
    check_processor(PIIDetector(), secrets=["4111 1111 1111 1111", "ann@example.org"], examples=15)


class Shapeless:
    id = "shapeless"


class Forgetful:
    """Has room for one entry."""

    def __init__(self) -> None:
        self.kept: tuple[str, bytes] | None = None

    def get(self, key: str) -> bytes | None:
        return self.kept[1] if self.kept is not None and self.kept[0] == key else None

    def set(self, key: str, value: bytes, ttl_s: float | None) -> None:
        self.kept = (key, value)


class Endless:
    async def detect(self, text: str, ctx: Any) -> Detection:
        return Detection.of((Span(0, len(text) + 1, "x"),))


class TooSure:
    async def detect(self, text: str, ctx: Any) -> Detection:
        return Detection({"x": 1.5})


class Moody:
    calls = 0

    async def detect(self, text: str, ctx: Any) -> Detection:
        self.calls += 1
        return Detection({"x": self.calls % 2})


@pytest.mark.parametrize(
    ("detector", "says"),
    [(Endless(), "is not inside the text"), (TooSure(), "outside of 0 to 1"), (Moody(), "and then")],
)
@pytest.mark.anyio
async def test_a_detector_that_is_wrong(detector: Any, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        await check_detector(detector)


@pytest.mark.anyio
async def test_a_cache_that_forgets() -> None:
    with pytest.raises(AssertionError, match=r"under 'kit:a' was set b'one', and it gives None"):
        await check_cache(Forgetful())


class NoEnd(ScriptedModel):
    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async with super().stream(request) as chunks:

            async def rest() -> AsyncGenerator[Chunk]:
                async for chunk in chunks:
                    if chunk.type != "finish":
                        yield chunk

            held = rest()
            yield held
            await held.aclose()


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (NoEnd("hi"), "do not end with one finish"),
        (ChunkModel([*block_chunks(["a"])[:-1], END]), "blocks are never closed"),
        (ChunkModel([block_chunks(["a"])[1], END]), "text-delta of block 'text-1' is out of place"),
        (ChunkModel([Chunk("delta", {"text": "a"}), END]), r"unknown types: \['delta'\]"),
        (ChunkModel([Chunk("finish", {"reason": "stop", "usage": {"input": 1}})]), "no Usage and not None"),
    ],
)
@pytest.mark.anyio
async def test_a_model_that_is_wrong(model: Any, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        await check_model(model)


class Careless(InMemoryStore):
    """Takes a turn for whoever sends it."""

    async def save_turn(self, turn: Turn) -> None:
        thread = await self.thread(turn.thread_id)
        owner = turn.resource_id if thread is None else thread.resource_id
        await super().save_turn(
            Turn(turn.thread_id, owner, turn.now, turn.rows, turn.pending, turn.working, turn.lease, turn.release)
        )


class Backwards(InMemoryStore):
    async def newest(self, thread_id: str, count: int | None = None, *, before: str | None = None) -> Any:
        return (await super().newest(thread_id, count, before=before))[::-1]


class Unlocked(InMemoryStore):
    async def acquire(self, thread_id: str, token: str, lease_s: float) -> bool:
        await super().acquire(thread_id, token, lease_s)
        return True


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (Careless, "a turn of another resource is saved"),
        (Backwards, r"newest gives \['m3', 'm2', 'm1', 'm0'\]"),
        (Unlocked, "a lease that somebody holds is given to another"),
    ],
)
@pytest.mark.anyio
async def test_a_store_that_is_wrong(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        await check_store(make())


def test_a_processor_of_the_wrong_shape() -> None:
    with pytest.raises(AssertionError, match="'shapeless' has none of the hooks"):
        check_processor(Shapeless())
    odd = Processor.of("odd", process_input=lambda ctx: None)
    odd.effects = {"process_inputs": None}  # type: ignore[assignment]
    with pytest.raises(AssertionError, match=r"effects has \['process_inputs'\]"):
        check_processor(odd)
