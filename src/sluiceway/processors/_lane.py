"""`Lane`: one entry of a list as the stream passes it."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

import anyio.to_thread

from sluiceway.engine import Call, StepOptions
from sluiceway.messages import Chunk
from sluiceway.processors._call import HookCall
from sluiceway.processors._events import HookOutcome
from sluiceway.processors._results import Violation
from sluiceway.processors._scope import HookScope
from sluiceway.processors._step import ProcessorStep
from sluiceway.processors._stream_call import StreamCall
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors._stream_watch import watched

__all__ = ["Lane", "LaneContext", "Slot", "function_lane", "processor_lane"]


class LaneContext(Protocol):
    """What the runner sets and reads of a lane's context."""

    part: Chunk
    flush_s: float | None
    _warned: list[Violation] | None
    _parts: list[Chunk]


class Slot:
    """The context of a lane that is no processor."""

    __slots__ = ("_parts", "_warned", "edited", "flush_s", "part")

    def __init__(self) -> None:
        self.part: Any = None
        self.flush_s: float | None = None
        self.edited = 0
        self._warned: list[Violation] | None = None
        self._parts: list[Chunk] = []


class Lane:
    """One entry: a processor, a function, a fork or a choice.

    Args:
        fn: Called with the context; returns what becomes of `ctx.part`.
        ctx: The context, the same object for the whole attempt.
        finish: Called at the end of the model's chunks; None where there is nothing to do.
        flush: Called instead of `finish`, with the time of the last chunk, when a time of
            silence is over.
        drop: Called at the end of the attempt, so that what is inside tells the observer.
        step: The processor, for errors and tripwires; None for anything else.
        wants_data: Whether `data-*` chunks pass through `fn`.
        options: Timeouts.
    """

    __slots__ = (
        "busy_s",
        "calls",
        "changed",
        "ctx",
        "drop",
        "finish",
        "flush",
        "fn",
        "head",
        "options",
        "outcome",
        "plain",
        "position",
        "step",
        "trip",
        "violations",
        "wants_data",
    )

    def __init__(
        self,
        fn: Callable[[Any], Any],
        ctx: Any,
        *,
        finish: Callable[[Any], Any] | None = None,
        flush: Callable[[float], Any] | None = None,
        drop: Callable[[], None] | None = None,
        step: ProcessorStep | None = None,
        wants_data: bool = True,
        options: StepOptions | None = None,
    ) -> None:
        self.fn = fn
        self.ctx = ctx
        self.finish = finish
        self.flush = flush
        self.drop = drop
        self.step = step
        self.wants_data = wants_data
        self.options = options
        self.plain = options is None or options.timeout_s is None
        """Whether what `fn` returns is just awaited."""
        self.position = 0
        self.head = False
        """Whether it has a list of chunks of its own; else it shares that of the lane before."""
        self.calls = 0
        self.busy_s = 0.0
        self.changed = 0
        self.outcome: HookOutcome = "passed"
        self.violations: list[Violation] = []
        self.trip: Violation | None = None
        """Why the processor ended the run, where it did."""

    @property
    def said(self) -> HookOutcome:
        """How its calls ended, taken together."""
        return "edited" if self.outcome == "passed" and self.changed + self.ctx.edited else self.outcome

    def watch(self) -> None:
        """Count and time the calls from here on. A separate function, so that nobody else pays."""
        fn = self.fn

        def timed(ctx: Any) -> Any:
            self.calls += 1
            started = perf_counter()
            try:
                result = fn(ctx)
            finally:
                self.busy_s += perf_counter() - started
            if hasattr(result, "__await__"):
                return self._timed_await(result)
            return result

        self.fn = timed

    async def _timed_await(self, result: Any) -> Any:
        started = perf_counter()
        try:
            return await result
        finally:
            self.busy_s += perf_counter() - started


def processor_lane(step: ProcessorStep, scope: HookScope, base: HookCall) -> Lane:
    """Return the lane of a processor."""
    fn = step.methods.get("process_output_stream") or _same_part
    finish = step.methods.get("finish_output_stream")
    if step.thread:
        fn = _threaded(fn)
        finish = _threaded(finish) if finish is not None else None
    # What a hook that is passed over when it fails did to the messages goes with a list of its own.
    call = StreamCall(base, step.key) if step.on_error == "continue" else base
    fn = watched(fn, call, scope, step, "process_output_stream")
    if finish is not None:
        finish = watched(finish, call, scope, step, "finish_output_stream")
    return Lane(
        fn,
        StreamContext(scope, step, call),
        finish=finish,
        step=step,
        wants_data=bool(getattr(step.processor, "process_data_parts", False)),
        options=step.options,
    )


def function_lane(call: Call, scope: HookScope, base: HookCall) -> Lane:
    """Return the lane of a function step: it gets a `HookCall` per chunk and returns one."""

    async def fn(ctx: Any) -> list[Chunk]:
        data = base.shallow()
        data.parts = (ctx.part,)
        output = await call.step.run(data, scope)
        return list(output.parts)

    return Lane(fn, Slot(), options=call.options)


def _same_part(ctx: Any) -> Any:
    return ctx.part


def _threaded(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    async def run(ctx: Any) -> Any:
        return await anyio.to_thread.run_sync(fn, ctx)

    return run
