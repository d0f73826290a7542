"""A streamed chunk through five processors, agent included, against a stream written by hand."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from benchmarks._measure import least
from benchmarks._parts import AsyncPass, Pass, answering, consume, passes, streaming
from benchmarks._row import Row, Size, ratio, time
from sluiceway.messages import Chunk, MessageList
from sluiceway.models import Model, ModelRequest

PROCESSORS = 5


class Context:
    """The least that a stream hook needs."""

    __slots__ = ("part", "state", "stream_parts")

    def __init__(self, parts: list[Chunk]) -> None:
        self.part: Any = None
        self.stream_parts = parts
        self.state: dict[str, Any] = {}


async def by_hand(model: Model, hooks: Sequence[Any], text: list[str]) -> AsyncGenerator[Chunk]:
    """Read the model, call the hooks in order, join the text, yield."""
    request = ModelRequest(MessageList(["go"]).to_prompt(), run_id="run")
    parts: list[Chunk] = []
    calls = [(hook, Context(parts)) for hook in hooks]
    async with model.stream(request) as chunks:
        async for chunk in chunks:
            part: Any = chunk
            parts.append(chunk)
            for hook, context in calls:
                context.part = part
                part = hook(context)
                if part is None:
                    break
            else:
                if part.type == "text-delta":
                    text.append(part.text)
                yield part


async def by_hand_async(model: Model, hooks: Sequence[Any], text: list[str]) -> AsyncGenerator[Chunk]:
    """The same for hooks that are coroutines."""
    request = ModelRequest(MessageList(["go"]).to_prompt(), run_id="run")
    parts: list[Chunk] = []
    calls = [(hook, Context(parts)) for hook in hooks]
    async with model.stream(request) as chunks:
        async for chunk in chunks:
            part: Any = chunk
            parts.append(chunk)
            for hook, context in calls:
                context.part = part
                part = await hook(context)
                if part is None:
                    break
            else:
                if part.type == "text-delta":
                    text.append(part.text)
                yield part


async def measure(size: Size) -> list[Row]:
    """Measure with hooks that are functions, then with coroutines."""
    rows: list[Row] = []
    for label, kind, hand, target in (
        ("sync", Pass, by_hand, 3.0),
        ("async", AsyncPass, by_hand_async, 2.5),
    ):
        hooks: list[Any] = [getattr(p, "process_output_stream") for p in passes(PROCESSORS, kind)]  # noqa: B009
        model = answering(size.n)
        agent = streaming(size.n, passes(PROCESSORS, kind))

        async def ours(agent: Any = agent) -> None:
            await consume(agent)

        async def theirs(hand: Any = hand, model: Model = model, hooks: Sequence[Any] = hooks) -> None:
            text: list[str] = []
            async for _ in hand(model, hooks, text):
                pass
            "".join(text)

        own, base = await least(size.rounds, ours, theirs)
        name = f"chunk through {PROCESSORS} {label} processors"
        own_us, base_us = own / size.n * 1e6, base / size.n * 1e6
        rows.append(ratio(name, "a stream by hand", own / base, target, own_us=own_us, by_hand_us=base_us))
        rows.append(time(name, own_us, "µs", 8.0))
    return rows
