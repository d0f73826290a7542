"""`ProcessorStep`: a processor as a step of a plan, and how one hook of it is run."""

# A context and its runner are two halves of one thing.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter
from types import CoroutineType
from typing import Any, Final, cast

import anyio.to_thread

from sluiceway.engine import PLAIN, AuditEntry, OnError, StepOptions, guarded
from sluiceway.errors import MergeConflict, ProcessorError, StepTimeoutError, StorageError, TripWire, text_of
from sluiceway.messages import ListEdit
from sluiceway.processors._call import HookCall
from sluiceway.processors._contexts import CONTEXTS, HookContext
from sluiceway.processors._declared import Before, barred_by, effects_of
from sluiceway.processors._effects import Surface
from sluiceway.processors._events import HookEvent, HookOutcome
from sluiceway.processors._outcome import apply_result
from sluiceway.processors._protocols import HookName, hook_of, hooks_of
from sluiceway.processors._results import Violation
from sluiceway.processors._scope import HookScope, log

__all__ = ["ProcessorStep", "failure", "nothing_left", "report", "tripped", "undeclared"]

_CAN_EMPTY: Final = frozenset({"process_input", "process_input_step"})
_PASS: Final = (ProcessorError, MergeConflict, StepTimeoutError, StorageError)
"""Errors that leave a hook as they are: they say already what is wrong and where."""


class ProcessorStep:
    """A processor in its place in a list or workflow.

    Args:
        processor: Anything with an `id` and hooks.
        path: Where it stands, such as `moderation › processor:x`.
        index: Its position in the list.
        on_error: What an exception does; None leaves it to the processor.
        thread: Whether plain hooks run in a worker thread.
        id: The id it goes by here; None takes the processor's.
        hooks: The hooks that count here; None: all it has.
        options: Timeout and further tries. The step sees to them itself, so that `on_error` is
            asked only when it has given up, and what comes of it is told with the processor's name.
    """

    __slots__ = (
        "barred",
        "hooks",
        "id",
        "index",
        "key",
        "methods",
        "on_error",
        "options",
        "path",
        "processor",
        "silent",
        "thread",
    )

    def __init__(
        self,
        processor: object,
        *,
        path: str | None = None,
        index: int = 0,
        on_error: OnError | None = None,
        thread: bool = False,
        id: str | None = None,  # noqa: A002 - the field's own name
        hooks: frozenset[str] | None = None,
        options: StepOptions = PLAIN,
    ) -> None:
        self.processor = processor
        self.options = options
        self.id = id or cast("str", processor.id)  # pyright: ignore[reportAttributeAccessIssue]
        self.key = f"processor:{self.id}"
        self.path = path or self.key
        self.index = index
        self.hooks: tuple[HookName, ...] = tuple(h for h in hooks_of(processor) if hooks is None or h in hooks)
        self.methods: dict[HookName, Callable[[Any], Any]] = {}
        for hook in self.hooks:
            method = hook_of(processor, hook)
            if method is not None:
                self.methods[hook] = method
        self.on_error: OnError = on_error or getattr(processor, "on_error", None) or "raise"
        self.thread = thread
        self.silent = frozenset(h for h in self.hooks if (e := effects_of(processor, h)) and not e.writes)
        """The hooks that are declared to write nothing."""
        self.barred: dict[HookName, frozenset[Surface]] = {}
        """What each hook is declared not to write."""
        for hook in self.hooks:
            barred = barred_by(effects_of(processor, hook))
            if barred:
                self.barred[hook] = barred

    def at(
        self, path: str, index: int, *, on_error: OnError | None, thread: bool, options: StepOptions = PLAIN
    ) -> ProcessorStep:
        """Return the same processor in another place.

        Args:
            path: Where.
            index: The place in the list.
            on_error: What an exception does; None leaves it to the processor.
            thread: Whether its sync hooks run in a worker thread.
            options: Timeout and further tries.
        """
        return ProcessorStep(
            self.processor,
            path=path,
            index=index,
            on_error=on_error,
            thread=thread,
            id=self.id,
            hooks=frozenset(self.hooks),
            options=options,
        )

    async def run(self, data: HookCall, scope: HookScope) -> HookCall:
        """Run the hook of the call, if the processor has it, and put its outcome into effect."""
        if data.hook not in self.methods:
            return data
        if self.options.bare:
            return await self._once(data, scope)
        return await self._patiently(data, scope)

    async def _patiently(self, data: HookCall, scope: HookScope) -> HookCall:
        """Run the hook within its timeout and again where it failed; then ask `on_error`."""
        plain = self.at(self.path, self.index, on_error="raise", thread=self.thread)

        async def attempt(number: int) -> HookCall:
            del number
            # What a try did before it failed goes with its fork.
            return data.join({self.key: await plain._once(data.fork(), scope)})

        try:
            return await guarded(attempt, self.options, path=self.path, run_id=scope.run_id, unchanged=data)
        except Exception as error:  # noqa: BLE001 - the hook runner
            raised = failure(scope, self, data.hook, error)
            if raised is None:
                return data
            if isinstance(raised, TripWire):
                await tripped(scope, self, data.hook, raised)
            raise raised from (error if raised is not error else error.__cause__)

    async def _once(self, data: HookCall, scope: HookScope) -> HookCall:
        method = self.methods[data.hook]
        # What a hook did before it failed goes with the fork.
        work = data.fork() if self.on_error == "continue" else data
        ctx = CONTEXTS[data.hook](scope, self, work)
        watch = _Watch(scope, self, ctx) if scope.observer is not None else None
        messages = work.message_list
        messages.acting = self.id
        phase = work.messages
        barred = self.barred.get(data.hook)
        before = Before(work, barred) if barred else None
        try:
            result: Any = method(ctx) if not self.thread else await anyio.to_thread.run_sync(method, ctx)
            if type(result) is CoroutineType or hasattr(result, "__await__"):
                result = await cast("Awaitable[Any]", result)
            apply_result(work, phase, result)
            taken = messages.take_edits()
            edits = tuple([edit for edit in taken if edit.processor_id == self.id]) if taken else ()
            wrote = before.written(work, edits) if before is not None else None
            if wrote is not None:
                raise undeclared(scope, self, data.hook, wrote)
            if edits:
                self._check(work, scope, edits)
            if ctx._warned is not None:
                await report(scope, self, data.hook, ctx._warned)
        except (TripWire, Exception) as error:  # noqa: BLE001 - the hook runner: an error gets its name here
            messages.take_edits()  # they are nobody's: another try must not be taken to have made them
            raised = await self._raised(scope, ctx, error, watch)
            if raised is None:
                return data
            raise raised from (error if raised is not error else error.__cause__)
        if watch is not None:
            watch.end("edited" if edits else "passed", edits)
        return data if work is data else data.join({self.key: work})

    async def _raised(
        self, scope: HookScope, ctx: HookContext, error: BaseException, watch: _Watch | None
    ) -> BaseException | None:
        """Return what goes up when a hook raised, or None where the run goes on unchanged."""
        hook = ctx._call.hook
        raised = failure(scope, self, hook, error) if isinstance(error, Exception) else error
        if isinstance(raised, TripWire):
            if ctx._warned is not None:
                await report(scope, self, hook, ctx._warned)
            await tripped(scope, self, hook, raised)
        if watch is not None:
            trip = _told(self, raised) if isinstance(raised, TripWire) else None
            watch.end("error" if trip is None else "tripwire", trip=trip)
        return raised

    def _check(self, data: HookCall, scope: HookScope, edits: tuple[ListEdit, ...]) -> None:
        scope.audit.append(AuditEntry(self.id, data.hook, "edited", edits))
        if scope.has_input and any(edit.action == "remove" for edit in edits):
            scope.removed_by = self
            # What a branch removes may come back where the branches join: the run looks there.
            if data.hook in _CAN_EMPTY and not data.message_list.is_fork and not data.message_list.has_input():
                raise nothing_left(scope, self)

    def __repr__(self) -> str:
        return f"<ProcessorStep {self.path}>"


class _Watch:
    """Times one call of a hook for the observer."""

    __slots__ = ("_ctx", "_scope", "_started", "_step")

    def __init__(self, scope: HookScope, step: ProcessorStep, ctx: HookContext) -> None:
        self._scope = scope
        self._step = step
        self._ctx = ctx
        self._started = perf_counter()

    def end(self, outcome: HookOutcome, edits: tuple[ListEdit, ...] = (), *, trip: Violation | None = None) -> None:
        self._scope.notify(
            HookEvent(
                run_id=self._scope.run_id,
                hook=self._ctx._call.hook,
                processor_id=self._step.id,
                path=self._step.path,
                step_number=self._scope.step_number,
                attempt=self._scope.retry_count,
                outcome=outcome,
                duration_ms=(perf_counter() - self._started) * 1000,
                edits=edits,
                violations=tuple(self._ctx._warned or ()),
                notes=tuple(self._ctx._noted or ()),
                trip=trip,
            )
        )


async def report(scope: HookScope, step: ProcessorStep, hook: HookName, violations: list[Violation]) -> None:
    """Book the warnings of a hook and call `on_violation` for each."""
    for violation in violations:
        scope.audit.append(AuditEntry(step.id, hook, "flagged", violation.detail))
        await scope.tell(step.processor, violation)


async def tripped(scope: HookScope, step: ProcessorStep, hook: HookName, trip: TripWire) -> None:
    """Complete a `TripWire` that a hook raised, book it, and call `on_violation`, once.

    Args:
        scope: The state of the run.
        step: The step of the processor.
        hook: The hook that raised.
        trip: What it raised.
    """
    if trip.processor_id is None:
        trip.processor_id = step.id
        trip.retry_count = scope.retry_count
    if trip.path is None:
        trip.path = step.path
    if trip.reported:
        return
    trip.reported = True
    scope.audit.append(AuditEntry(step.id, hook, "blocked", {"reason": trip.reason}))
    await scope.tell(step.processor, _told(step, trip))


def _told(step: ProcessorStep, trip: TripWire) -> Violation:
    return Violation(step.id, trip.reason, trip.metadata)


def undeclared(scope: HookScope, step: ProcessorStep, hook: HookName, surface: Surface) -> ProcessorError:
    """Return the error for a hook that wrote what it is declared not to write."""
    return ProcessorError(
        f"processor {step.id!r} declares that {hook} does not write {surface}, but it did; "
        "mend its effects or its hook",
        processor_id=step.id,
        hook=hook,
        run_id=scope.run_id,
        path=step.path,
    )


def failure(scope: HookScope, step: ProcessorStep, hook: HookName, error: Exception) -> BaseException | None:
    """Return what goes up when a hook raised, or None where the run goes on as if it had not run.

    What goes up is its own error, a `ProcessorError` that names it, or a `TripWire`.
    """
    if step.on_error == "continue":
        log.warning("processor %r failed in %s and on_error is 'continue'", step.id, hook, exc_info=error)
        scope.audit.append(AuditEntry(step.id, hook, "not checked", {"error": type(error).__name__}))
        return None
    if step.on_error == "block":
        return TripWire(
            f"processor {step.id!r} failed in {hook}",
            processor_id=step.id,
            path=step.path,
            retry_count=scope.retry_count,
        )
    if isinstance(error, _PASS):
        return error
    return ProcessorError(
        f"processor {step.id!r} failed in {hook}: {type(error).__name__}: {text_of(error)}",
        processor_id=step.id,
        hook=hook,
        run_id=scope.run_id,
        path=step.path,
    )


def nothing_left(scope: HookScope, step: ProcessorStep) -> TripWire:
    """Return the tripwire of a processor that removed the last message there was to answer.

    Args:
        scope: The state of the run.
        step: The step of the processor.
    """
    return TripWire(
        f"processor {step.id!r} removed the last message; there is nothing left to answer",
        processor_id=step.id,
        path=step.path,
        retry_count=scope.retry_count,
    )
