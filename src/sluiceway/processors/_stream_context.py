"""The argument of the stream hooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from sluiceway.errors import ConfigurationError
from sluiceway.messages import Chunk
from sluiceway.processors._call import HookCall
from sluiceway.processors._contexts import HookContext, Seat
from sluiceway.processors._held import Edit, HeldText, Release, block_key, keys_named
from sluiceway.processors._protocols import HookName
from sluiceway.processors._scope import HookScope

__all__ = ["StreamContext"]

_DELTAS = ("text-delta", "reasoning-delta")


class StreamContext(HookContext):
    """`process_output_stream` and `finish_output_stream`: one object per processor and attempt.

    Attributes:
        part: The chunk in hand; None in `finish_output_stream`.
    """

    __slots__ = ("_blocks", "_fresh", "_parts", "_queued", "_releases", "edited", "flush_s", "part")

    def __init__(self, scope: HookScope, seat: Seat, call: HookCall) -> None:
        super().__init__(scope, seat, call)
        self.part = cast("Chunk", None)
        self.flush_s: float | None = None
        """Seconds of silence after which the processor wants to be flushed, or None."""
        self._parts: list[Chunk] = []
        self._blocks: dict[str, HeldText] | None = None
        self._queued: Chunk | None = None
        self._releases: list[Release] | None = None
        self._fresh: dict[int, Chunk] | None = None
        self.edited = 0
        """How many edits were released."""

    @property
    def hook(self) -> HookName:
        """The hook that runs."""
        return "finish_output_stream" if self.part is None else "process_output_stream"  # pyright: ignore[reportUnnecessaryComparison]

    @property
    def stream_parts(self) -> Sequence[Chunk]:
        """The chunks of this attempt, this one included, as this processor got them."""
        return self._parts

    @property
    def holding(self) -> int | bool:
        """How many characters of the block in hand this processor keeps (set True for all)."""
        block = self._block()
        return 0 if block is None else block.length

    @holding.setter
    def holding(self, kept: int | bool) -> None:
        held = self._taken()
        if held is None:
            if kept:
                raise ConfigurationError("ctx.holding counts characters of a delta; this chunk has none")
            return
        if kept is True:
            return
        if kept > held.length:
            raise ConfigurationError(f"ctx.holding = {kept}: this block has {held.length} characters")
        self._let_go(held, held.length - int(kept), (), exact=False)

    def hold(self) -> str:
        """Keep the delta in hand, and return all the text of its block that this processor keeps.

        What is not released goes no further; the text of a block whose `text-end` is in hand
        can still be had, and at the end of the stream that of the oldest block.

        Examples:
            >>> def process_output_stream(ctx):
            ...     if ctx.part.type != "text-delta":
            ...         return ctx.part
            ...     text = ctx.hold()
            ...     return ctx.release(text.rfind(" ") + 1)  # whole words
        """
        held = self._taken()
        return "" if held is None else held.text

    @property
    def held_blocks(self) -> tuple[str, ...]:
        """The blocks of which this processor keeps text, oldest first: a text's id, `reasoning:<id>`."""
        return tuple(key for key, held in (self._blocks or {}).items() if held.length)

    def keeps(self, block: str) -> bool:
        """Whether this processor keeps any text of a block, as `held_blocks` names it."""
        held = (self._blocks or {}).get(block)
        return held is not None and held.length > 0

    def release(self, n: int, edits: Iterable[Edit] = (), *, block: str | None = None) -> list[Chunk]:
        """Return the chunks of the next `n` characters of a block, edited, to be returned or sent on.

        Args:
            n: How many characters, counted from the first that is kept.
            edits: `(start, end, text)`, counted likewise, apart from each other.
            block: The block, as `held_blocks` names it, or its id, by which a text comes before
                reasoning; None is the block of `part`, and at the end of the stream the oldest
                of which anything is kept.

        Raises:
            ConfigurationError: More characters than the block has, or edits that overlap.
        """
        held = self._taken() if block is None else self._named(block)
        if held is None:
            if n == 0:
                return []
            raise ConfigurationError(f"release({n}): nothing of this block is kept")
        return self._let_go(held, n, tuple(edits), exact=True)

    def _let_go(self, held: HeldText, n: int, edits: tuple[Edit, ...], *, exact: bool) -> list[Chunk]:
        chunks = held.release(n, edits)
        self.edited += len(edits)
        if self._fresh is not None:
            self._fresh.update((id(chunk), chunk) for chunk in chunks)
        if self._releases is not None and n:
            ordered = tuple(sorted(edits, key=lambda edit: edit[:2]))
            self._releases.append(Release(held.key, n, ordered, tuple(chunks), exact))
        return chunks

    def watch_releases(self) -> None:
        """Note from here on what is released, for whoever has to know which text became which."""
        self._releases = []

    def take_releases(self) -> list[Release]:
        """Return what was released since this was last asked."""
        taken, self._releases = self._releases or [], []
        return taken

    def watch_chunks(self) -> None:
        """Note from here on which chunks are released, anew at each call."""
        self._fresh = {}

    def is_released(self, chunk: Chunk) -> bool:
        """Whether a chunk was released since `watch_chunks`."""
        return self._fresh is not None and id(chunk) in self._fresh

    def has_taken(self, chunk: Chunk) -> bool:
        """Whether the delta in hand was taken in, so that only a release lets it go."""
        return self._queued is chunk

    def flush_after(self, seconds: float | None) -> None:
        """Have `finish_output_stream` of this processor called when nothing comes for so long.

        Args:
            seconds: Counted from the last chunk; None switches it off.
        """
        self.flush_s = seconds
        if seconds is not None:
            self._scope.timed = True

    def _taken(self) -> HeldText | None:
        """Return the block of the delta in hand, with the delta in it."""
        part = self.part
        if part is None or part.type not in _DELTAS:  # pyright: ignore[reportUnnecessaryComparison]
            return self._block()
        if self._blocks is None:
            self._blocks = {}
        key = block_key(part)
        held = self._blocks.get(key)
        if held is None:
            held = self._blocks[key] = HeldText(key)
        if self._queued is not part:
            self._queued = part
            held.add(part)
        return held

    def _named(self, name: str) -> HeldText | None:
        """Return the block that a name means; of several the first of which anything is kept."""
        blocks = self._blocks or {}
        named = [blocks[key] for key in keys_named(name) if key in blocks]
        return next((held for held in named if held.length), named[0] if named else None)

    def _block(self) -> HeldText | None:
        blocks = self._blocks
        if not blocks:
            return None
        part = self.part
        if part is not None and "id" in part.payload:  # pyright: ignore[reportUnnecessaryComparison]
            return blocks.get(block_key(part))
        return next((held for held in blocks.values() if held.length), None)
