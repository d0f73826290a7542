"""A `parallel` in the stream, against the same processors as a plain list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks._measure import least
from benchmarks._parts import passes
from benchmarks._prose import prose
from benchmarks._row import Row, Size, ratio, time
from sluiceway import Processor, Workflow
from sluiceway.messages import Chunk, MessageList
from sluiceway.processors import HookScope, PIIDetector, StreamRunner, build_stream, compile_chain
from sluiceway.tools import RequestContext

CHUNK_CHARS = 20
WINDOW_CHARS = 400


class Window(Processor):
    """Looks at text 400 characters at a time, as a check that asks a model does."""

    def process_output_stream(self, ctx: Any) -> Any:
        """Let go of the text when there is enough of it."""
        part = ctx.part
        if part.type != "text-delta":
            return part
        held = ctx.attempt_state.get("held", 0) + len(part.text)
        ctx.holding = True
        cleared = held // WINDOW_CHARS * WINDOW_CHARS
        ctx.attempt_state["held"] = held - cleared
        return ctx.release(cleared) if cleared else None

    def finish_output_stream(self, ctx: Any) -> Any:
        """Let go of the rest."""
        held = ctx.attempt_state.pop("held", 0)
        return ctx.release(held) if held else []


def runner(items: Sequence[object]) -> StreamRunner:
    """Return what runs a list's stream hooks for one attempt."""
    chain = compile_chain(items, "output")
    return build_stream(chain.stream, HookScope("run", RequestContext()), MessageList())


def guards() -> list[Processor]:
    """Return a redactor, a window and one that hands on."""
    return [PIIDetector(), Window("window"), *passes(1)]


def feeding(make: Callable[[], Sequence[object]], chunks: Sequence[Chunk]) -> Callable[[], Any]:
    """Return the work of streaming chunks; it checks that all the text came out."""
    length = sum(len(chunk.text) for chunk in chunks)

    async def work() -> None:
        stream = runner(make())
        out = 0
        for chunk in chunks:
            passed = stream.feed(chunk)
            if passed is chunk:
                out += len(chunk.text)
                continue
            if hasattr(passed, "__await__"):
                passed = await passed  # type: ignore[misc]
            if isinstance(passed, Chunk):
                out += len(passed.text)
            elif passed is not None:
                out += sum(len(one.text) for one in passed)  # type: ignore[union-attr]
        out += sum(len(one.text) for one in await stream.finish())
        assert out == length

    return work


async def measure(size: Size) -> list[Row]:
    """Measure three guards, then three that hand on."""
    text = prose(size.n * CHUNK_CHARS)
    chunks = [
        Chunk("text-delta", {"id": "t", "text": text[start : start + CHUNK_CHARS]})
        for start in range(0, len(text), CHUNK_CHARS)
    ]
    picked = Workflow("gate").parallel(guards()).map("processor:pii-detector")
    merged = Workflow("gate").parallel(guards())
    through = Workflow("gate").parallel(passes(3))
    listed_s, picked_s, merged_s, through_s, plain_s = await least(
        size.rounds,
        feeding(guards, chunks),
        feeding(lambda: [picked], chunks),
        feeding(lambda: [merged], chunks),
        feeding(lambda: [through], chunks),
        feeding(lambda: passes(3), chunks),
    )
    name = "stream gate, redactor + window + pass-through"
    per_chunk = 1e6 / len(chunks)
    return [
        ratio(f"{name}, picked", "a plain list", picked_s / listed_s, 5.0, plain_us=listed_s * per_chunk),
        ratio(f"{name}, merged", "a plain list", merged_s / listed_s, 5.0, gate_us=merged_s * per_chunk),
        time("stream gate, three pass-throughs", through_s * per_chunk, "µs", 3.0, plain_us=plain_s * per_chunk),
    ]
