"""`StreamRunner`: the stream hooks of a list, for one attempt of a step.

The plain way, a chunk that every hook passes on unchanged, is one loop without a single
object made. Whatever is out of the ordinary, something to await, other chunks, a warning, an
error, leaves the loop for `_settle`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from functools import partial
from time import monotonic
from types import CoroutineType
from typing import Any, TypeAlias, cast

from sluiceway.engine import with_timeout
from sluiceway.errors import ConfigurationError, TripWire
from sluiceway.messages import Chunk
from sluiceway.processors._events import HookEvent
from sluiceway.processors._lane import Lane
from sluiceway.processors._protocols import HookName
from sluiceway.processors._results import Violation
from sluiceway.processors._scope import HookScope
from sluiceway.processors._step import ProcessorStep, failure, report, tripped
from sluiceway.processors._stream_context import StreamContext

__all__ = ["Fed", "StreamRunner"]

Passed: TypeAlias = "Chunk | Sequence[Chunk] | None"
"""What comes of a chunk: one chunk, several, or nothing."""

Fed: TypeAlias = "Passed | Awaitable[Passed]"
"""The same, or something to await for it."""

_Station: TypeAlias = "tuple[Any, Any, list[Chunk] | None, Lane]"
"""What the loop needs of a lane."""


class StreamRunner:
    """Runs the chunks of one attempt through the stream hooks of a list.

    Args:
        lanes: The entries, in list order.
        scope: The run.
    """

    __slots__ = ("_lanes", "_last", "_line", "_rests", "_scope", "side")

    def __init__(self, lanes: Sequence[Lane], scope: HookScope) -> None:
        self._lanes = tuple(lanes)
        self._scope = scope
        self.side: list[Chunk] | None = None
        """In a branch: where data chunks go that its hooks write, since they go out whatever is picked."""
        before: Lane | None = None
        for position, lane in enumerate(self._lanes):
            lane.position = position
            # Neighbours share one list of chunks until one of them changes something.
            lane.head = before is None or before.wants_data != lane.wants_data
            if before is not None and not lane.head:
                lane.ctx._parts = before.ctx._parts
            if scope.observer is not None:
                lane.watch()
            before = lane
        self._last = before
        self._line: tuple[_Station, ...] = ()
        self._rests: dict[int, tuple[_Station | None, ...]] | None = None
        self._draw_line()

    def __bool__(self) -> bool:
        return bool(self._lanes)

    @property
    def wants_data(self) -> bool:
        """Whether any entry looks at `data-*` chunks."""
        return any(lane.wants_data for lane in self._lanes)

    def feed(self, chunk: Chunk) -> Fed:
        """Run a chunk through all hooks; not for `data-*` chunks (see `push`).

        Raises nothing by itself: an error or a tripwire comes out of what is to be awaited.
        """
        current = chunk
        for ctx, fn, parts, lane in self._line:
            if parts is not None:
                parts.append(current)
            ctx.part = current
            try:
                result = fn(ctx)
            except BaseException as error:  # noqa: BLE001 - told in `_raise`, which may have to await
                return self._raise(lane, error)
            if ctx._warned is None:
                if result is current:
                    continue
                if type(result) is CoroutineType:
                    return self._go_on(lane, current, result)
                if result is None:
                    self._changed(lane, current)
                    return None
                if type(result) is Chunk and not self._changed(lane, current):
                    current = result
                    continue
                if type(result) is list and lane is self._last and _all_chunks(cast("list[Any]", result)):
                    self._changed(lane, current)
                    return cast("list[Chunk]", result)
            return self._go_on(lane, current, result)
        return current

    async def _go_on(self, lane: Lane, current: Chunk, result: Any) -> Passed:
        """Go on where `feed` met something to await: the same loop, for hooks that are `async def`."""
        ctx = lane.ctx
        scope = self._scope
        rests = self._rests
        for following in rests[lane.position] if rests and lane.position in rests else self._rest(lane.position):
            if type(result) is CoroutineType and lane.plain:
                try:
                    result = await cast("Awaitable[Any]", result)
                except BaseException as error:  # noqa: BLE001 - told in `_raise`
                    return await self._raise(lane, error)
            if result is not current or ctx._warned is not None or scope.written:
                out: list[Chunk] = []
                await self._settle(lane, current, result, out)
                return out
            if following is None:
                break
            ctx, fn, parts, lane = following
            if parts is not None:
                parts.append(current)
            ctx.part = current
            try:
                result = fn(ctx)
            except BaseException as error:  # noqa: BLE001 - told in `_raise`
                return await self._raise(lane, error)
        return current

    def _rest(self, position: int) -> tuple[_Station | None, ...]:
        """Return what stands behind a lane, and None; kept, since a hook that is `async def` asks at every chunk."""
        rest = (*self._line[position + 1 :], None)
        if self._rests is None:
            self._rests = {}
        self._rests[position] = rest
        return rest

    async def push(self, chunk: Chunk, *, position: int = 0, out: list[Chunk] | None = None) -> list[Chunk]:
        """Run any chunk through the hooks from a position on; return what comes out.

        Args:
            chunk: The chunk.
            position: The first hook that sees it, counted from 0.
            out: A list that gets what comes out; None: a new one.
        """
        out = [] if out is None else out
        if chunk.type.startswith("data-"):
            self._part_all()
        await self._push(position, chunk, out)
        return out

    async def push_written(self, out: list[Chunk]) -> None:
        """Run the data chunks that hooks outside of the stream have written through the whole list."""
        written = tuple(self._scope.written)
        self._scope.written.clear()
        for chunk, emitter in written:
            self._part_all()
            await self._push(0, chunk, out, author=getattr(emitter, "processor", None))

    async def finish(self) -> list[Chunk]:
        """Have every processor let go of what it holds; see `finish_output_stream`."""
        out: list[Chunk] = []
        for lane in self._lanes:
            await self._finish(lane, out)
        return out

    @property
    def wait_s(self) -> float | None:
        """The least time of silence after which a processor wants to be flushed, or None."""
        waits = [lane.ctx.flush_s for lane in self._lanes if lane.ctx.flush_s is not None]
        return min(waits) if waits else None

    async def flush(self, silent_since: float) -> list[Chunk]:
        """Flush the processors whose time of silence is over.

        Args:
            silent_since: When the last chunk came, on `time.monotonic`.
        """
        out: list[Chunk] = []
        silent_s = monotonic() - silent_since
        for lane in self._lanes:
            wait_s = lane.ctx.flush_s
            if wait_s is not None and wait_s <= silent_s + 1e-4:
                lane.ctx.flush_s = None
                if lane.flush is None:
                    await self._finish(lane, out)
                else:
                    await self._settle(lane, None, lane.flush(silent_since), out)
        return out

    def drop(self) -> None:
        """Tell the observer what the hooks did, at the end of the attempt."""
        scope = self._scope
        if scope.observer is None:
            return
        for lane in self._lanes:
            if lane.drop is not None:
                lane.drop()
            if lane.step is None or not lane.calls:
                continue
            scope.notify(
                HookEvent(
                    run_id=scope.run_id,
                    hook="process_output_stream",
                    processor_id=lane.step.id,
                    path=lane.step.path,
                    step_number=scope.step_number,
                    attempt=scope.retry_count,
                    outcome=lane.said,
                    duration_ms=lane.busy_s * 1000,
                    calls=lane.calls,
                    changed_chunks=lane.changed + lane.ctx.edited,
                    violations=tuple(lane.violations),
                    notes=tuple(getattr(lane.ctx, "_noted", None) or ()),
                    trip=lane.trip,
                )
            )
            lane.calls = 0

    async def _finish(self, lane: Lane, out: list[Chunk]) -> None:
        if lane.finish is None:
            return
        lane.ctx.part = None
        try:
            result = lane.finish(lane.ctx)
        except BaseException as error:
            if not await self._goes_on(lane, error, "finish_output_stream"):
                raise
            result = None
        await self._settle(lane, None, result, out)

    async def _settle(self, lane: Lane, current: Chunk | None, result: Any, out: list[Chunk]) -> None:
        """Put the outcome of one hook into effect and run what comes of it through the rest."""
        hook = "process_output_stream" if current is not None else "finish_output_stream"
        try:
            if hasattr(result, "__await__"):
                result = await self._await(lane, result)
            chunks = _chunks(result)
        except BaseException as error:
            if not await self._goes_on(lane, error, hook):
                raise
            chunks = _unchecked(lane, current)
        ctx = lane.ctx
        if ctx._warned and lane.step is not None:
            warned, ctx._warned = ctx._warned, None
            lane.violations.extend(warned)
            await report(self._scope, lane.step, hook, warned)
        if self._scope.written and lane.step is not None:
            await self._send_written(lane, lane.step, current, out)
        if len(chunks) != 1 or chunks[0] is not current:
            self._changed(lane, current)
        for chunk in chunks:
            await self._push(lane.position + 1, chunk, out)

    async def _send_written(self, lane: Lane, step: ProcessorStep, current: Chunk | None, out: list[Chunk]) -> None:
        """Send on what this processor has written; what others have is theirs to send."""
        written = self._scope.written
        own = [chunk for chunk, emitter in written if emitter is step]
        others = [entry for entry in written if entry[1] is not step]
        written.clear()
        written.extend(others)
        following = lane.position + 1
        if own and following < len(self._lanes) and not self._lanes[following].head:
            self._part(following, current)  # it has not got the chunk in hand yet
        self._part_all()
        for chunk in own:
            await self._push(
                lane.position + 1, chunk, self.side if self.side is not None else out, author=step.processor
            )

    async def _push(self, position: int, chunk: Chunk, out: list[Chunk], author: object = None) -> None:
        is_data = chunk.type.startswith("data-")
        lanes = self._lanes
        while position < len(lanes):
            lane = lanes[position]
            step = lane.step
            if is_data and (not lane.wants_data or (author is not None and step and step.processor is author)):
                position += 1
                continue
            ctx = lane.ctx
            if lane.head:
                ctx._parts.append(chunk)
            ctx.part = chunk
            try:
                result = lane.fn(ctx)
            except BaseException as error:
                if not await self._goes_on(lane, error, "process_output_stream"):
                    raise
                result = _unchecked(lane, chunk)
            if result is not chunk or ctx._warned or self._scope.written:
                await self._settle(lane, chunk, result, out)
                return
            position += 1
        out.append(chunk)

    async def _await(self, lane: Lane, result: Awaitable[Any]) -> Any:
        options = lane.options
        if options is None or options.timeout_s is None:
            return await result
        path = lane.step.path if lane.step is not None else "stream"
        return await with_timeout(partial(_same, result), options.timeout_s, path=path, run_id=self._scope.run_id)

    async def _raise(self, lane: Lane, error: BaseException) -> list[Chunk]:
        """Raise what an error of a hook means, or go on with the chunk in hand."""
        if not await self._goes_on(lane, error, "process_output_stream"):
            raise error
        out: list[Chunk] = []
        for chunk in _unchecked(lane, lane.ctx.part):
            await self._push(lane.position + 1, chunk, out)
        return out

    async def _goes_on(self, lane: Lane, error: BaseException, hook: HookName) -> bool:
        """Return False where `error` itself is to be raised, True where the run goes on.

        Raises:
            ProcessorError: The error, named.
            TripWire: The error of a processor with `on_error="block"`.
        """
        step = lane.step
        if step is None:
            return False
        if isinstance(error, TripWire):
            lane.outcome = "tripwire"
            lane.trip = Violation(step.id, error.reason, error.metadata)
            warned: list[Violation] = lane.ctx._warned or []
            lane.ctx._warned = None
            lane.violations.extend(warned)
            await report(self._scope, step, hook, warned)
            await tripped(self._scope, step, hook, error)
            return False
        if not isinstance(error, Exception):
            return False
        lane.outcome = "error"
        raised = failure(self._scope, step, hook, error)
        if raised is None:
            return True
        if isinstance(raised, TripWire):
            await tripped(self._scope, step, hook, raised)
        if raised is error:
            return False
        raise raised from error

    def _changed(self, lane: Lane, current: Chunk | None) -> bool:
        """Give the lane after this one a list of its own, since it no longer gets the same chunks.

        Returns:
            Whether it had none, so that the line was drawn anew.
        """
        if lane.finish is None:  # one that holds back says itself what it edits
            lane.changed += 1
        position = lane.position + 1
        if position >= len(self._lanes) or self._lanes[position].head:
            return False
        self._part(position, current)
        self._draw_line()
        return True

    def _part(self, position: int, current: Chunk | None) -> None:
        lane = self._lanes[position]
        shared: list[Chunk] = lane.ctx._parts
        own = shared[:-1] if current is not None and shared and shared[-1] is current else shared[:]
        for other in self._lanes[position:]:
            if other.ctx._parts is shared:
                other.ctx._parts = own
        lane.head = True

    def _part_all(self) -> None:
        """Give every lane a list of its own: a data chunk does not reach all of them."""
        if all(lane.head for lane in self._lanes):
            return
        for lane in self._lanes:
            if not lane.head:
                self._part(lane.position, None)
        self._draw_line()

    def _draw_line(self) -> None:
        self._line = tuple((lane.ctx, lane.fn, lane.ctx._parts if lane.head else None, lane) for lane in self._lanes)
        self._rests = None


def _all_chunks(result: list[Any]) -> bool:
    return all(type(one) is Chunk for one in result)


def _unchecked(lane: Lane, current: Chunk | None) -> Sequence[Chunk]:
    """Return what goes on when a processor failed that is to be passed over: all that it had taken in."""
    if current is None:
        return ()
    ctx = lane.ctx
    if isinstance(ctx, StreamContext) and ctx.has_taken(current):
        return ctx.release(int(ctx.holding))
    return (current,)


def _chunks(result: Any) -> Sequence[Chunk]:
    if result is None:
        return ()
    if type(result) is Chunk:
        return (result,)
    kind = cast("type[object]", type(result))
    if isinstance(result, Iterable) and kind not in (str, bytes):
        chunks = [chunk for chunk in cast("Iterable[Any]", result) if chunk is not None]
        if all(isinstance(chunk, Chunk) for chunk in chunks):
            return chunks
    raise ConfigurationError(
        f"the stream hook returned {kind.__name__}; it may return a Chunk, several, or None to drop it"
    )


async def _same(result: Awaitable[Any]) -> Any:
    return await result
