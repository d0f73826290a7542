"""Forks and choices in the stream."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isawaitable
from typing import Any, cast

from sluiceway.engine import Call, Choice, Map, Merge, Parallel, Plan, choose, fan_out, raise_first
from sluiceway.errors import ConfigurationError, GraphError, MergeConflict
from sluiceway.messages import Chunk, MessageList
from sluiceway.processors._branch import Branch
from sluiceway.processors._call import HookCall
from sluiceway.processors._gate import Gate, Segment, merge_segment
from sluiceway.processors._lane import Lane, Slot, function_lane, processor_lane
from sluiceway.processors._scope import HookScope
from sluiceway.processors._station import Station
from sluiceway.processors._step import ProcessorStep
from sluiceway.processors._stream import StreamRunner
from sluiceway.processors._stream_runs import Run, width

__all__ = ["build_stream", "check_stream"]


def build_stream(plan: Plan, scope: HookScope, messages: MessageList) -> StreamRunner:
    """Return the runner of a stream plan for one attempt."""
    return _runner(plan, scope, HookCall("process_output_stream", messages))


def check_stream(plan: Plan) -> None:
    """Refuse what cannot run in the stream hook.

    Raises:
        GraphError: A loop, `foreach` or `sleep`.
    """
    for node in plan:
        if isinstance(node, (Call, Map)):
            continue
        if isinstance(node, Parallel):
            for arm in node.branches:
                check_stream(arm.plan)
            continue
        if isinstance(node, Choice):
            for arm in (*node.arms, *((node.default,) if node.default else ())):
                check_stream(arm.plan)
            continue
        raise GraphError(
            f"{node.path}: a {type(node).__name__.lower()} cannot run in the stream hook, where every chunk passes "
            "once; put it in a workflow for another hook, or use step(..., hooks=[...]) inside it"
        )


def _runner(plan: Plan, scope: HookScope, base: HookCall) -> StreamRunner:
    return StreamRunner(_lanes(plan, scope, base), scope)


def _lanes(plan: Plan, scope: HookScope, base: HookCall) -> list[Lane]:
    lanes: list[Lane] = []
    index = 0
    while index < len(plan):
        node = plan[index]
        after = plan[index + 1] if index + 1 < len(plan) else None
        follows = after if isinstance(after, Map) and isinstance(node, (Parallel, Choice)) else None
        lanes.append(_lane(node, follows, scope, base))
        index += 1 if follows is None else 2
    return lanes


def _lane(node: Any, follows: Map | None, scope: HookScope, base: HookCall) -> Lane:
    if isinstance(node, Call):
        step = node.step
        if isinstance(step, ProcessorStep):
            return processor_lane(node, step, scope, base)
        return function_lane(node, scope, base)
    if isinstance(node, Parallel):
        fork = _Fork(node, follows, scope, base)
        return Lane(fork.feed, fork.slot, finish=fork.finish, flush=fork.flush)
    if isinstance(node, Choice):
        choice = _Choice(node, follows, scope, base)
        return Lane(choice.feed, choice.slot, finish=choice.finish, flush=choice.flush)
    return Lane(_mapped(cast("Map", node), scope, base), Slot())


def _mapped(node: Map, scope: HookScope, base: HookCall) -> Any:
    async def fn(ctx: Any) -> list[Chunk]:
        return await _map(node, _with_parts(base, (ctx.part,)), scope)

    return fn


def _with_parts(base: HookCall, parts: Any) -> HookCall:
    data = base.shallow()
    data.parts = tuple(parts)
    return data


async def _map(node: Map, data: Any, scope: HookScope) -> list[Chunk]:
    output = node.fn(data, scope)
    if isawaitable(output):
        output = await output
    if not isinstance(output, HookCall):
        raise ConfigurationError(
            f"{node.path}: the map returned {type(output).__name__}; in a hook it must return one of the HookCalls "
            "it was given, or one made with .replace(...)"
        )
    return list(output.parts)


class _Choice:
    """A branch: its conditions are asked once, at the first chunk, and the choice holds."""

    def __init__(self, node: Choice, follows: Map | None, scope: HookScope, base: HookCall) -> None:
        self._node = node
        self._follows = follows
        self._scope = scope
        self._base = base
        self._arm: str | None = None
        self._runner: StreamRunner | None = None
        self._asked = False
        self.slot = Slot()

    def feed(self, ctx: Any) -> Any:
        """Run a chunk through the arm that was chosen."""
        if not self._asked:
            return self._first(ctx.part)
        runner = self._runner
        if runner is None:
            return ctx.part
        if self._follows is None and not self._scope.timed and not ctx.part.type.startswith("data-"):
            return runner.feed(ctx.part)
        return self._through(runner, ctx.part)

    async def finish(self, ctx: Any) -> list[Chunk]:
        """Flush the arm that was chosen."""
        del ctx
        return await self._after(await self._runner.finish()) if self._runner is not None else []

    async def flush(self, silent_since: float) -> list[Chunk]:
        """Flush those of the arm whose time of silence is over."""
        return await self._after(await self._runner.flush(silent_since)) if self._runner is not None else []

    async def _first(self, chunk: Chunk) -> list[Chunk]:
        self._asked = True
        arm = await choose(self._node, _with_parts(self._base, (chunk,)), self._scope)
        if arm is None:
            return [chunk]
        self._arm = arm.key
        self._runner = _runner(arm.plan, self._scope, self._base)
        return await self._through(self._runner, chunk)

    async def _through(self, runner: StreamRunner, chunk: Chunk) -> list[Chunk]:
        return await self._after(await runner.push(chunk))

    async def _after(self, chunks: list[Chunk]) -> list[Chunk]:
        if self._runner is not None:
            self.slot.flush_s = self._runner.wait_s
        if self._follows is None or not chunks:
            return chunks
        outputs = {cast("str", self._arm): _with_parts(self._base, chunks)}
        return await _map(self._follows, outputs, self._scope)


class _Fork:
    """A `parallel`: every branch gets each chunk, a gate holds it until all have cleared it."""

    def __init__(self, node: Parallel, follows: Map | None, scope: HookScope, base: HookCall) -> None:
        self._node = node
        self._follows = None if follows is not None and _combines(follows) else follows
        self._prefer = getattr(follows.fn, "prefer", None) if follows is not None else None
        self._path = node.path if follows is None else follows.path
        self._scope = scope
        self._base = base
        self._keys = [arm.key for arm in node.branches]
        self._branches = [_branch(arm.plan, scope, base) for arm in node.branches]
        self._gate = Gate(self._keys)
        self.slot = Slot()

    def feed(self, ctx: Any) -> Any:
        """Run a chunk through all branches."""
        chunk = cast("Chunk", ctx.part)
        cleared = [branch.feed(chunk) for branch in self._branches]
        if self._gate.empty and not any(cleared) and all(runs is None for runs in cleared):
            return chunk if self._follows is None else self._picked(Segment((chunk,), self._same(chunk)))
        return self._through(chunk, cleared)

    def _same(self, chunk: Chunk) -> dict[str, list[Run]]:
        return {key: [Run(width(chunk), (chunk,), same=True)] for key in self._keys}

    async def _through(self, chunk: Chunk, cleared: list[Any]) -> list[Chunk]:
        await self._await(cleared)
        self._gate.enter(chunk)
        for key, runs in zip(self._keys, cleared, strict=True):
            self._gate.clear(key, [Run(width(chunk), (chunk,), same=True)] if runs is None else runs)
        return await self._out()

    async def _await(self, cleared: list[Any]) -> None:
        """Await what the branches left to be awaited: one by itself, several side by side."""
        waiting = [index for index, runs in enumerate(cleared) if hasattr(runs, "__await__")]
        if len(waiting) == 1:
            cleared[waiting[0]] = await cleared[waiting[0]]
            return
        runs = [_Awaited(cleared[index]) for index in waiting]
        try:
            outcomes = await fan_out(runs, wait=self._node.wait)
        finally:
            for run in runs:
                run.close()
        raise_first(outcomes, [self._keys[index] for index in waiting])
        for index, outcome in zip(waiting, outcomes, strict=True):
            cleared[index] = outcome.value

    async def finish(self, ctx: Any) -> list[Chunk]:
        """Flush all branches: everything is cleared."""
        del ctx
        for key, branch in zip(self._keys, self._branches, strict=True):
            self._gate.clear(key, await branch.finish())
        return await self._out()

    async def flush(self, silent_since: float) -> list[Chunk]:
        """Flush those processors whose time of silence is over."""
        for key, branch in zip(self._keys, self._branches, strict=True):
            self._gate.clear(key, await branch.flush(silent_since))
        return await self._out()

    async def _out(self) -> list[Chunk]:
        if self._scope.timed:
            waits = [s.runner.wait_s for b in self._branches for s in b.stations]
            self.slot.flush_s = min((wait_s for wait_s in waits if wait_s is not None), default=None)
        out: list[Chunk] = []
        for branch in self._branches:
            out.extend(branch.side)
            branch.side.clear()
        segment = self._gate.take()
        if segment is not None:
            out.extend(await self._picked(segment))
        return out

    async def _picked(self, segment: Segment) -> Sequence[Chunk]:
        if self._follows is None:
            try:
                return merge_segment(segment, self._prefer)
            except MergeConflict as conflict:
                conflict.path = self._path
                raise
        outputs = {key: _with_parts(self._base, segment.parts(key)) for key in self._keys}
        return await _map(self._follows, outputs, self._scope)


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


def _combines(follows: Map) -> bool:
    return isinstance(follows.fn, Merge) and follows.fn.combines


def _branch(plan: Plan, scope: HookScope, base: HookCall) -> Branch:
    stations = [Station(StreamRunner([lane], scope), lane.ctx) for lane in _lanes(plan, scope, base)]
    return Branch(stations)
