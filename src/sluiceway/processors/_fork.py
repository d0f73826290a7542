"""`Fork`: a `parallel` in the stream."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isawaitable
from typing import Any, cast

from sluiceway.engine import Map, Merge, Parallel, Wait, fan_out, raise_first
from sluiceway.errors import MergeConflict
from sluiceway.messages import Chunk
from sluiceway.processors._branch import Branch
from sluiceway.processors._call import HookCall
from sluiceway.processors._gate import Gate
from sluiceway.processors._lane import Slot
from sluiceway.processors._scope import HookScope
from sluiceway.processors._segment import Segment, merge_segment
from sluiceway.processors._stream_call import StreamCall, join_lists
from sluiceway.processors._stream_map import checked, with_parts
from sluiceway.processors._stream_runs import Run, width

__all__ = ["Fork"]


class Fork:
    """Gives every branch each chunk; a gate holds it until all have cleared it.

    Args:
        node: The `parallel`.
        follows: The map behind it, or None: the branches are merged.
        scope: The run.
        base: The call that maps are shown.
        branches: The branches, in list order.
        calls: Their calls, each with messages of its own.
        asked: The keys of those whose messages were forked.
        tracked: Whether it stands in a branch itself, and notes which run became which.
    """

    __slots__ = (
        "_asked",
        "_base",
        "_branches",
        "_calls",
        "_feeds",
        "_follows",
        "_gate",
        "_keys",
        "_path",
        "_prefer",
        "_runs",
        "_scope",
        "_tracked",
        "_wait",
        "side",
        "slot",
    )

    def __init__(
        self,
        node: Parallel,
        follows: Map | None,
        scope: HookScope,
        base: HookCall,
        branches: Sequence[Branch],
        *,
        calls: Sequence[StreamCall],
        asked: Sequence[str],
        tracked: bool,
    ) -> None:
        merges = follows is None or (isinstance(follows.fn, Merge) and follows.fn.combines)
        self._follows = None if merges else follows
        self._prefer = cast("str | None", getattr(follows.fn, "prefer", None)) if follows is not None else None
        self._path = node.path if follows is None else follows.path
        self._wait: Wait = node.wait
        self._scope = scope
        self._base = base
        self._keys = [arm.key for arm in node.branches]
        self._branches = tuple(branches)
        self._calls = tuple(calls)
        self._asked = asked
        self._feeds = tuple(branch.feed for branch in branches)
        self._gate = Gate(self._keys)
        self._tracked = tracked
        self._runs: list[Run] = []
        self.side: list[Chunk] = []
        """Data chunks that hooks in it wrote."""
        self.slot = Slot()

    @property
    def quiet(self) -> bool:
        """Whether everything that came in has gone out."""
        return self._gate.empty

    @property
    def wait_s(self) -> float | None:
        """The time of silence after which one of its processors wants to be flushed, or None."""
        waits = [wait_s for b in self._branches for s in b.stations if (wait_s := s.wait_s) is not None]
        return min(waits, default=None)

    def take_runs(self) -> list[Run]:
        """Return what was let go since this was last asked."""
        runs, self._runs = self._runs, []
        return runs

    def drop(self) -> None:
        """Tell the observer what the hooks did."""
        for branch in self._branches:
            for station in branch.stations:
                station.drop()

    def feed(self, ctx: Any) -> Any:
        """Run a chunk through all branches; return what goes on, or something to await for it."""
        chunk: Chunk = ctx.part
        if chunk.type.startswith("data-"):
            return self._pushed(chunk)
        cleared: list[Any] = []
        passes = self._gate.empty
        waits = False
        for feed in self._feeds:
            runs = feed(chunk)
            cleared.append(runs)
            if runs is not None:
                passes = False
                waits = waits or type(runs) is not list
        if waits:
            return self._waited(chunk, cleared)
        if self._asked:
            self._join()
        return chunk if passes and self._follows is None else self._entered(chunk, cleared)

    async def push(self, chunk: Chunk) -> list[Chunk]:
        """Run a data chunk through the branches: it goes on unless one of them changed or dropped it."""
        made = [await branch.push(chunk) for branch in self._branches]
        if self._asked:
            self._join()
        return next((one for one in made if one != [chunk]), [chunk])

    async def finish(self, ctx: Any) -> list[Chunk]:
        """Flush all branches: everything is cleared."""
        del ctx
        for index, branch in enumerate(self._branches):
            self._gate.clear(index, await branch.finish())
        if self._asked:
            self._join()
        return await self._let_out()

    async def flush(self, silent_since: float) -> list[Chunk]:
        """Flush those processors whose time of silence is over; the gate holds what others hold."""
        for index, branch in enumerate(self._branches):
            self._gate.clear(index, await branch.flush(silent_since))
        if self._asked:
            self._join()
        return await self._let_out()

    async def _pushed(self, chunk: Chunk) -> list[Chunk]:
        return [*await self.push(chunk), *self._sides()]

    async def _waited(self, chunk: Chunk, cleared: list[Any]) -> list[Chunk]:
        await self._await(cleared)
        if self._asked:
            self._join()
        out = self._entered(chunk, cleared)
        return await out if isawaitable(out) else out

    def _entered(self, chunk: Chunk, cleared: list[Any]) -> Any:
        gate = self._gate
        gate.enter(chunk)
        for index, runs in enumerate(cleared):
            gate.clear(index, [Run(width(chunk), (chunk,), same=True)] if runs is None else runs)
        return self._out()

    async def _await(self, cleared: list[Any]) -> None:
        """Await what the branches left to be awaited: one by itself, several side by side."""
        waiting = [index for index, runs in enumerate(cleared) if hasattr(runs, "__await__")]
        if len(waiting) == 1:
            cleared[waiting[0]] = await cleared[waiting[0]]
            return
        runs = [_Awaited(cleared[index]) for index in waiting]
        try:
            outcomes = await fan_out(runs, wait=self._wait)
        finally:
            for run in runs:
                run.close()
        raise_first(outcomes, [self._keys[index] for index in waiting])
        for index, outcome in zip(waiting, outcomes, strict=True):
            cleared[index] = outcome.value

    def _join(self) -> None:
        """Bring together what the branches did to the messages."""
        try:
            join_lists(self._calls, self._prefer)
        except MergeConflict as conflict:
            conflict.path = self._path
            raise

    async def _let_out(self) -> list[Chunk]:
        out = self._out()
        return await out if isawaitable(out) else out

    def _out(self) -> Any:
        """Return what all branches have cleared, as the map or the merge has it, or an awaitable of it."""
        if self._scope.timed:
            self.slot.flush_s = self.wait_s
        sides = self._sides()
        segment = self._gate.take()
        if segment is None:
            return sides
        if self._follows is None:
            return [*sides, *self._noted(self._merged(segment))]
        outputs = {key: with_parts(self._base, segment.parts(key)) for key in self._keys}
        output = self._follows.fn(outputs, self._scope)
        if isawaitable(output):
            return self._mapped_later(self._follows, segment, sides, output, outputs)
        return [*sides, *self._noted(self._mapped(self._follows, segment, output, outputs))]

    async def _mapped_later(
        self, follows: Map, segment: Segment, sides: list[Chunk], output: Any, outputs: dict[str, HookCall]
    ) -> list[Chunk]:
        return [*sides, *self._noted(self._mapped(follows, segment, await output, outputs))]

    def _mapped(self, follows: Map, segment: Segment, output: object, outputs: dict[str, HookCall]) -> list[Run]:
        """Return the runs of the branch that the map picked, or one run of what it made."""
        call = checked(follows, output)
        for key, branch in outputs.items():
            if branch.parts is call.parts:
                return segment.runs[key]
        return [Run(segment.n, call.parts)]

    def _merged(self, segment: Segment) -> list[Run]:
        try:
            return merge_segment(segment, self._prefer)
        except MergeConflict as conflict:
            conflict.path = self._path
            raise

    def _noted(self, runs: list[Run]) -> list[Chunk]:
        if self._tracked:
            self._runs.extend(runs)
        return [chunk for run in runs for chunk in run.chunks]

    def _sides(self) -> list[Chunk]:
        """Take the data chunks that hooks in the branches wrote: they go out whatever is picked."""
        sides = [chunk for branch in self._branches for chunk in branch.side]
        if not sides:
            return sides
        for branch in self._branches:
            branch.side.clear()
        if not self._tracked:
            return sides
        self.side.extend(sides)
        return []


class _Awaited:
    """Something to await, as `fan_out` takes it; closed where it was never begun."""

    __slots__ = ("_awaitable",)

    def __init__(self, awaitable: Any) -> None:
        self._awaitable = awaitable

    async def __call__(self) -> Any:
        return await self._awaitable

    def close(self) -> None:
        """Close a coroutine that was not awaited."""
        close = getattr(self._awaitable, "close", None)
        if close is not None:
            close()
