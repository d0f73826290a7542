"""A `branch` in the stream: its conditions are asked once, at the first chunk, and the choice holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from sluiceway.engine import Choice, Map, Merge, Plan, choose
from sluiceway.messages import Chunk
from sluiceway.processors._branch import Branch
from sluiceway.processors._call import HookCall
from sluiceway.processors._lane import Slot
from sluiceway.processors._scope import HookScope
from sluiceway.processors._stream import StreamRunner
from sluiceway.processors._stream_map import mapped, with_parts
from sluiceway.processors._stream_runs import Run, width

__all__ = ["ArmChoice", "RunnerChoice"]


T = TypeVar("T")


class _Asked(Generic[T]):
    """The conditions of a choice, to be asked once.

    Args:
        node: The choice.
        follows: The map behind it, or None.
        scope: The run.
        base: The call that conditions and maps are shown.
        build: Makes what runs an arm.
    """

    __slots__ = ("_arm", "_asked", "_base", "_build", "_follows", "_node", "_scope")

    def __init__(
        self, node: Choice, follows: Map | None, scope: HookScope, base: HookCall, build: Callable[[Plan], T]
    ) -> None:
        self._node = node
        self._follows = follows
        self._scope = scope
        self._base = base
        self._build = build
        self._asked = False
        self._arm = ""

    async def _choose(self, chunk: Chunk) -> T | None:
        """Return what runs the arm that a chunk chooses, or None where there is none for it."""
        self._asked = True
        arm = await choose(self._node, with_parts(self._base, (chunk,)), self._scope)
        if arm is None:
            return None
        self._arm = arm.key
        return self._build(arm.plan)

    async def _mapped(self, follows: Map, parts: Sequence[Chunk]) -> tuple[HookCall, HookCall]:
        """Return what a map gets for the arm, and what it returns."""
        call = with_parts(self._base, parts)
        return call, await mapped(follows, {self._arm: call}, self._scope)


class RunnerChoice(_Asked[StreamRunner]):
    """A choice in a list."""

    __slots__ = ("_runner", "slot")

    def __init__(
        self,
        node: Choice,
        follows: Map | None,
        scope: HookScope,
        base: HookCall,
        build: Callable[[Plan], StreamRunner],
    ) -> None:
        super().__init__(node, follows, scope, base, build)
        self._runner: StreamRunner | None = None
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

    def drop(self) -> None:
        """Tell the observer what the hooks did."""
        if self._runner is not None:
            self._runner.drop()

    async def _first(self, chunk: Chunk) -> list[Chunk]:
        self._runner = await self._choose(chunk)
        return [chunk] if self._runner is None else await self._through(self._runner, chunk)

    async def _through(self, runner: StreamRunner, chunk: Chunk) -> list[Chunk]:
        return await self._after(await runner.push(chunk))

    async def _after(self, chunks: list[Chunk]) -> list[Chunk]:
        if self._runner is not None:
            self.slot.flush_s = self._runner.wait_s
        if self._follows is None or not chunks:
            return chunks
        _, output = await self._mapped(self._follows, chunks)
        return list(output.parts)


class ArmChoice(_Asked[Branch]):
    """A choice in a branch of a `parallel`: it notes which run became which."""

    __slots__ = ("_branch", "_runs")

    def __init__(
        self, node: Choice, follows: Map | None, scope: HookScope, base: HookCall, build: Callable[[Plan], Branch]
    ) -> None:
        # A merge of one arm is that arm.
        merges = follows is not None and isinstance(follows.fn, Merge)
        super().__init__(node, None if merges else follows, scope, base, build)
        self._branch = Branch(())
        self._runs: list[Run] = []

    @property
    def quiet(self) -> bool:
        """Whether everything that came in has gone out."""
        return self._branch.quiet

    @property
    def side(self) -> list[Chunk]:
        """Data chunks that hooks of the arm wrote."""
        return self._branch.side

    @property
    def wait_s(self) -> float | None:
        """The time of silence after which one of its processors wants to be flushed, or None."""
        waits = [wait_s for s in self._branch.stations if (wait_s := s.wait_s) is not None]
        return min(waits, default=None)

    def take_runs(self) -> list[Run]:
        """Return what was let go since this was last asked."""
        runs, self._runs = self._runs, []
        return runs

    def drop(self) -> None:
        """Tell the observer what the hooks did."""
        for station in self._branch.stations:
            station.drop()

    def feed(self, ctx: Any) -> Any:
        """Run a chunk through the arm that was chosen; `take_runs` says what came of it."""
        chunk: Chunk = ctx.part
        if self._asked and self._follows is None:
            cleared = self._branch.feed(chunk)
            if cleared is None:
                return chunk
            if isinstance(cleared, list):
                self._runs.extend(cleared)
                return None
            return self._later(chunk, cleared)
        return self._later(chunk, None)

    async def finish(self, ctx: Any) -> None:
        """Flush the arm that was chosen."""
        del ctx
        await self._note(await self._branch.finish())

    async def flush(self, silent_since: float) -> None:
        """Flush those of the arm whose time of silence is over."""
        await self._note(await self._branch.flush(silent_since))

    async def push(self, chunk: Chunk) -> list[Chunk]:
        """Run a data chunk that has no position through the arm."""
        return await self._branch.push(chunk)

    async def _later(self, chunk: Chunk, cleared: Any) -> None:
        if not self._asked:
            chosen = await self._choose(chunk)
            if chosen is None:
                self._follows = None
            else:
                self._branch = chosen
        if cleared is None:
            cleared = self._branch.feed(chunk)
        runs = await cleared if hasattr(cleared, "__await__") else cleared
        await self._note([Run(width(chunk), (chunk,), same=True)] if runs is None else runs)

    async def _note(self, runs: list[Run]) -> None:
        if self._follows is not None and runs:
            call, output = await self._mapped(self._follows, [chunk for run in runs for chunk in run.chunks])
            if output.parts is not call.parts:
                runs = [Run(sum(run.n_in for run in runs), output.parts)]
        self._runs.extend(runs)
