"""`BatchPartsProcessor`: fewer, larger deltas."""

from __future__ import annotations

from typing import Any

from sluiceway.errors import ConfigurationError
from sluiceway.messages import Chunk
from sluiceway.processors._base import OnError, OnViolation, Processor
from sluiceway.processors._effects import Effects
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.guardrails._options import checked_flags, checked_size

__all__ = ["BatchPartsProcessor"]

_DELTAS = ("text-delta", "reasoning-delta")


class _Batch:
    """What waits: chunks in order, of which deltas are kept as how long they are."""

    __slots__ = ("count", "waiting")

    def __init__(self) -> None:
        self.waiting: list[tuple[str, str, int] | Chunk] = []
        self.count = 0


class BatchPartsProcessor(Processor):
    """Joins consecutive deltas of one block, so that a client gets fewer and larger ones.

    Hooks: `process_output_stream`, `finish_output_stream`. Reads and writes chunks; never
    aborts. Order is kept, blocks are never mixed, and nothing is lost at the end.

    Args:
        batch_size: How many deltas make one.
        max_wait_time: After so many milliseconds without another chunk what there is goes out;
            None: it waits.
        emit_on_non_text: Whether any other chunk lets go of what there is at once; else it
            waits in its place and counts as one.
        id: Unique within a list.
        on_error: What an exception does; see `Processor`.
        on_violation: Never called; it finds nothing.

    Raises:
        ConfigurationError: An option of a value that is not allowed.

    Examples:
        >>> BatchPartsProcessor(batch_size=10, max_wait_time=50).id
        'batch-parts'
    """

    def __init__(
        self,
        *,
        batch_size: int = 5,
        max_wait_time: float | None = None,
        emit_on_non_text: bool = True,
        id: str = "batch-parts",  # noqa: A002 - the field's own name
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        super().__init__(id, on_violation=on_violation, on_error=on_error)
        checked_size(id, "batch_size", batch_size)
        checked_flags(id, emit_on_non_text=emit_on_non_text)
        wait: Any = max_wait_time
        if wait is not None and (isinstance(wait, bool) or not isinstance(wait, int | float) or wait <= 0):
            raise ConfigurationError(f"{id}: max_wait_time={wait!r} is not allowed; give milliseconds above 0, or None")
        self.batch_size = batch_size
        self.max_wait_time = max_wait_time
        self.emit_on_non_text = emit_on_non_text
        self.effects = Effects(reads=("chunk",), writes=("chunk", "state"), aborts=False)

    def process_output_stream(self, ctx: StreamContext) -> Chunk | list[Chunk]:
        """Keep a delta until there are enough; any other chunk goes behind what is kept."""
        part = ctx.part
        batch: _Batch = ctx.attempt_state.setdefault("batch", _Batch())
        if part.type in _DELTAS:
            return self._delta(ctx, batch, part)
        if not batch.waiting:
            return part
        if self.emit_on_non_text:
            return [*self._let_go(ctx, batch), part]
        batch.waiting.append(part)
        batch.count += 1
        return self._full(ctx, batch)

    def finish_output_stream(self, ctx: StreamContext) -> list[Chunk]:
        """Pass on all that is kept."""
        batch: _Batch | None = ctx.attempt_state.get("batch")
        return [] if batch is None else self._let_go(ctx, batch)

    def _delta(self, ctx: StreamContext, batch: _Batch, part: Chunk) -> list[Chunk]:
        block = str(part.get("id", ""))
        out: list[Chunk] = []
        last = batch.waiting[-1] if batch.waiting else None
        same = isinstance(last, tuple) and last[:2] == (part.type, block)
        if last is not None and not same and self.emit_on_non_text:
            out = self._let_go(ctx, batch)
        ctx.release(0)
        if isinstance(last, tuple) and same:
            batch.waiting[-1] = (*last[:2], last[2] + len(part.text))
        else:
            batch.waiting.append((part.type, block, len(part.text)))
        batch.count += 1
        return [*out, *self._full(ctx, batch)]

    def _full(self, ctx: StreamContext, batch: _Batch) -> list[Chunk]:
        if batch.count >= self.batch_size:
            return self._let_go(ctx, batch)
        if self.max_wait_time is not None:
            ctx.flush_after(self.max_wait_time / 1000)
        return []

    def _let_go(self, ctx: StreamContext, batch: _Batch) -> list[Chunk]:
        waiting, batch.waiting, batch.count = batch.waiting, [], 0
        ctx.flush_after(None)
        out: list[Chunk] = []
        for item in waiting:
            if isinstance(item, Chunk):
                out.append(item)
                continue
            deltas = ctx.release(item[2], block=item[1])
            if len(deltas) == 1:
                out += deltas
            elif deltas:
                out.append(deltas[0].replace(text="".join(delta.text for delta in deltas)))
        return out
