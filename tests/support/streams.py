"""Streams of chunks, cut anywhere, and processors that hold text of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import anyio.lowlevel

from sluiceway import Processor
from sluiceway.messages import Chunk
from sluiceway.processors import Effects, PIIDetector

__all__ = ["AsyncPass", "Block", "Pass", "Window", "around", "chunks_of", "redacts", "texts_of"]

Block: TypeAlias = "tuple[str, str, Sequence[int]]"
"""Kind (`text` or `reasoning`), text, and where it is cut."""

_DELTAS = ("text-delta", "reasoning-delta")


def redacts(name: str, pattern: str) -> PIIDetector:
    """Return a redactor that puts `[NAME]` in the place of a pattern."""
    return PIIDetector(id=name, detection_types={name: pattern}, redaction_method="placeholder")


class Pass(Processor):
    """Hands on each chunk."""

    def process_output_stream(self, ctx: Any) -> Any:
        """Return the chunk in hand."""
        return ctx.part


class AsyncPass(Processor):
    """Hands on each chunk after a turn of the event loop."""

    async def process_output_stream(self, ctx: Any) -> Any:
        """Return the chunk in hand."""
        await anyio.lowlevel.checkpoint()
        return ctx.part


class Window(Processor):
    """A check that clears text `size` characters at a time, and the rest at the end of a block.

    Args:
        id: Its id.
        size: Characters it wants to see at once.
        looks: Called with each piece before it is cleared; may call `ctx.abort`.
        waits: Whether it does so after a turn of the event loop.
    """

    effects = Effects(reads=("chunk",))

    def __init__(
        self,
        id: str,  # noqa: A002 - the field's own name
        size: int,
        *,
        looks: Callable[[Any, str], None] = lambda ctx, text: None,
        waits: bool = False,
    ) -> None:
        super().__init__(id)
        self.size = size
        self.looks = looks
        self.waits = waits
        self.cleared: dict[str, int] = {}
        """Block to how many characters of it were cleared, over all runs."""

    def process_output_stream(self, ctx: Any) -> Any:
        """Clear what is complete."""
        return self._later(ctx) if self.waits else self._next(ctx)

    async def _later(self, ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return self._next(ctx)

    def _next(self, ctx: Any) -> Any:
        part = ctx.part
        seen = ctx.attempt_state
        block = str(part.get("id", ""))
        if part.type in _DELTAS:
            seen[block] = seen.get(block, "") + part.text
            ctx.holding = True
            return self._clear(ctx, block, len(seen[block]) // self.size * self.size)
        if part.type in ("text-end", "reasoning-end") and block in seen:
            return [*self._clear(ctx, block, len(seen[block])), part]
        return part

    def finish_output_stream(self, ctx: Any) -> Any:
        """Clear the rest."""
        return [
            chunk for block, text in list(ctx.attempt_state.items()) for chunk in self._clear(ctx, block, len(text))
        ]

    def _clear(self, ctx: Any, block: str, n: int) -> Any:
        text = ctx.attempt_state[block]
        if not n:
            return []
        self.looks(ctx, text[:n])
        ctx.attempt_state[block] = text[n:]
        self.cleared[block] = self.cleared.get(block, 0) + n
        return ctx.release(n, block=block)


def around(size: int) -> Callable[[str, Sequence[int]], list[str]]:
    """Return a function that cuts a text at places taken modulo its length."""

    def cut(text: str, places: Sequence[int]) -> list[str]:
        at = sorted({place % (len(text) + 1) for place in places[:size]})
        return [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True) if a < b]

    return cut


def chunks_of(blocks: Iterable[Block], order: Sequence[int] = (), others: Iterable[Chunk] = ()) -> list[Chunk]:
    """Return the chunks of blocks, interleaved.

    Args:
        blocks: The blocks.
        order: From which of the sources that still have chunks the next is taken, modulo their number;
            when it ends the sources follow one after the other.
        others: Further chunks, a source like a block.
    """
    cut = around(12)
    sources: list[list[Chunk]] = []
    for number, (kind, text, places) in enumerate(blocks):
        block = {"id": f"{kind}-{number}"}
        deltas = [Chunk(f"{kind}-delta", {**block, "text": piece}) for piece in cut(text, places)]
        sources.append([Chunk(f"{kind}-start", block), *deltas, Chunk(f"{kind}-end", block)])
    sources.append(list(others))
    out: list[Chunk] = []
    for choice in order:
        left = [source for source in sources if source]
        if not left:
            break
        out.append(left[choice % len(left)].pop(0))
    return [*out, *(chunk for source in sources for chunk in source)]


def texts_of(chunks: Iterable[Chunk]) -> tuple[dict[str, str], list[Chunk]]:
    """Return the text of each block that has any, and all other chunks in order."""
    texts: dict[str, str] = {}
    rest: list[Chunk] = []
    for chunk in chunks:
        if chunk.type in _DELTAS:
            texts[str(chunk.get("id"))] = texts.get(str(chunk.get("id")), "") + chunk.text
        else:
            rest.append(chunk)
    return {block: text for block, text in texts.items() if text}, rest
