"""`watched`: a stream hook, kept to what its processor declares that it writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sluiceway.messages import Chunk
from sluiceway.processors._call import HookCall
from sluiceway.processors._declared import chunk_is_written
from sluiceway.processors._effects import Surface
from sluiceway.processors._protocols import HookName
from sluiceway.processors._scope import HookScope
from sluiceway.processors._step import ProcessorStep, undeclared
from sluiceway.processors._stream_call import StreamCall, join_lists, mark_of
from sluiceway.processors._stream_context import StreamContext

__all__ = ["watched"]

_Hook = Callable[[Any], Any]


def watched(fn: _Hook, call: HookCall, scope: HookScope, step: ProcessorStep, hook: HookName) -> _Hook:
    """Return the hook with what it may not write looked at after each call.

    Args:
        fn: The hook.
        call: The call that its context shows. Where it is a `StreamCall` of this processor alone,
            what the hook did to the messages counts once it is through, and not if it fails.
        scope: The run.
        step: The processor.
        hook: Which of its hooks.

    Returns:
        `fn` itself, where there is nothing to look at.
    """
    made = _Watched(fn, call, scope, step, hook)
    return made if made.looks else fn


class _Watched:
    """A hook and what is looked at after it."""

    __slots__ = ("_barred", "_call", "_chunks", "_fn", "_hook", "_lists", "_own", "_scope", "_step")

    def __init__(self, fn: _Hook, call: HookCall, scope: HookScope, step: ProcessorStep, hook: HookName) -> None:
        self._fn = fn
        self._call = call
        self._own = call if step.on_error == "continue" and isinstance(call, StreamCall) else None
        self._scope = scope
        self._step = step
        self._hook: HookName = hook
        self._barred = step.barred.get(hook, frozenset[Surface]())
        self._chunks = "chunk" in self._barred
        self._lists = not self._barred.isdisjoint(("messages", "system"))

    @property
    def looks(self) -> bool:
        """Whether there is anything to look at."""
        return self._chunks or self._lists or self._own is not None

    def __call__(self, ctx: StreamContext) -> Any:
        edits = ctx.edited
        if self._chunks:
            ctx.watch_chunks()
        mark = mark_of(self._call) if self._lists else 0
        try:
            result = self._fn(ctx)
            if result is not None and result is not ctx.part and hasattr(result, "__await__"):
                return self._later(ctx, edits, mark, result)
            self._look(ctx, edits, mark, result)
        except BaseException:
            self._undo()
            raise
        return result

    async def _later(self, ctx: StreamContext, edits: int, mark: int, waiting: Any) -> Any:
        try:
            result = await waiting
            self._look(ctx, edits, mark, result)
        except BaseException:
            self._undo()
            raise
        return result

    def _look(self, ctx: StreamContext, edits: int, mark: int, result: Any) -> None:
        if self._lists and mark_of(self._call) != mark:
            for edit in self._call.message_list.edits_since(mark):
                surface: Surface = "system" if edit.action == "system" else "messages"
                if surface in self._barred:
                    raise undeclared(self._scope, self._step, self._hook, surface)
        if self._chunks and result is not ctx.part:
            made = () if result is None else (result,) if isinstance(result, Chunk) else tuple(result)
            if chunk_is_written(ctx, edits, made):
                raise undeclared(self._scope, self._step, self._hook, "chunk")
        if self._own is not None:
            join_lists([self._own])

    def _undo(self) -> None:
        if self._own is not None:
            self._own.drop()
