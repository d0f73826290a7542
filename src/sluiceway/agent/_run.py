"""`Run`: one call of an agent, as a machine of stages that is pulled chunk by chunk.

Nothing here runs unless somebody asks for the next chunk: `pull` runs stages, in the
consumer's task, until there is a chunk to give. A stage is a coroutine function that does one
piece of work, may send chunks, and says which stage comes next. No generator is suspended
inside another, so an early end is a matter of `close`, not of unwinding.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

import anyio

from sluiceway._types import new_id
from sluiceway.agent._attempt import Attempt
from sluiceway.agent._delivery import Delivery
from sluiceway.agent._host import Stage, Streamed, Then
from sluiceway.agent._outcome import Outcomes
from sluiceway.agent._overlap import PutOff
from sluiceway.agent._setup import Setup
from sluiceway.engine import Owned, Plan, Result, StepResult, run_plan
from sluiceway.errors import MessageError, ModelError, RunError, SluicewayError, TripWire, text_of
from sluiceway.messages import Chunk, MessageList, ParsedInput, Usage
from sluiceway.models import Model, hold_connections
from sluiceway.processors import (
    FreeRetry,
    HookCall,
    HookContext,
    HookScope,
    call_observer,
    group_of,
    is_check,
    nothing_left,
    run_checks,
    tripped,
)

__all__ = ["Run", "Stage"]


_BEFORE_MODEL: Final = frozenset({"process_input", "process_input_step", "process_llm_request"})


class Run:
    """One call of an agent. Belongs to one task at a time; nothing of it is shared.

    Args:
        setup: The call, resolved.
        parsed: Its input.
    """

    __slots__ = (
        "_books",
        "_client_results",
        "_closed",
        "_connections",
        "_phase",
        "_stage",
        "attempt",
        "base_system",
        "broken",
        "delivery",
        "error",
        "lasting_signals",
        "memory",
        "message_id",
        "messages",
        "outcomes",
        "put_off",
        "ready",
        "run_id",
        "scope",
        "setup",
        "steps",
        "streamed",
        "usage",
    )

    def __init__(self, setup: Setup, parsed: ParsedInput) -> None:
        self.setup = setup
        self.run_id = new_id("run")
        self.message_id = new_id("msg")
        self.messages = MessageList(parsed.messages, (*setup.instructions, *parsed.system))
        self._client_results = dict(parsed.tool_results)
        self.memory = setup.memory
        if self.memory is not None:
            self.memory.run_id = self.run_id
            self.memory.tool_results = self._client_results
        self.scope = HookScope(self.run_id, setup.request_context, agent=setup.agent, observer=setup.observer)
        self.scope.has_input = self.messages.has_input()
        self.scope.links.retries_left = self._retries_left
        self.scope.links.book = self.book
        self.scope.links.models = setup.models
        self.scope.links.tools = setup.tools
        self.delivery = Delivery(setup.hold)
        self.ready = self.delivery.ready
        self.outcomes = Outcomes(self)
        self.put_off = PutOff(self.scope)
        self.steps: list[StepResult] = []
        self.usage = Usage()
        self.streamed: list[Streamed] = []
        """The accepted answers, which know what of them was streamed."""
        self.base_system: Sequence[Any] = ()
        self.lasting_signals: frozenset[str] = frozenset()
        self.error: BaseException | None = None
        self.attempt = Attempt(self)
        self._phase: tuple[tuple[Plan, ...], int, HookCall, Then] | None = None
        self._stage: Stage | None = self._begin
        self._closed = False
        self._books = Owned()
        self._connections = hold_connections()
        self.broken = False
        """Whether a read was cancelled."""

    # -- driving

    async def next(self) -> Chunk:
        """Return the next chunk for the client.

        Raises:
            StopAsyncIteration: There is none.
        """
        ready = self.ready
        while not ready:
            if self._stage is None:
                raise StopAsyncIteration
            try:
                await (self._stage() if self.memory is None else self.memory.work(self._stage))
            except TripWire as trip:
                self._stage = self._behind_checks(partial(self._on_trip, trip))
            except ModelError as error:
                self._stage = self._behind_checks(partial(self._on_model_error, error))
            except SluicewayError as error:
                self._stage = self._behind_checks(partial(self._on_error, error))
            except Exception as error:  # noqa: BLE001 - whatever fails ends the stream in its one way
                self._stage = self._behind_checks(partial(self._on_error, self._named(error)))
            except BaseException:  # cancelled in the middle of a stage: there is no going on from here
                self.broken = True
                raise
        return ready.popleft()

    async def finish(self) -> Result:
        """Run to the end and return the result."""
        while True:
            try:
                await self.next()
            except StopAsyncIteration:
                break
        return self.result

    def _named(self, error: Exception) -> RunError:
        """Return an error of something that the caller gave the run, such as `stop_when`."""
        named = RunError(f"the run failed: {type(error).__name__}: {text_of(error)}", run_id=self.run_id)
        named.__cause__ = error
        return named

    def go(self, stage: Stage | None) -> None:
        """Say which stage comes next."""
        self._stage = stage

    def enter(self, entries: tuple[Plan, ...], call: HookCall, then: Then) -> None:
        """Run a hook over a list, one entry per stage, and go on with `then`.

        Data chunks that a hook writes are delivered when its entry is done.
        """
        self._phase = (entries, 0, call, then)
        self._stage = self._run_phase

    async def _run_phase(self) -> None:
        assert self._phase is not None
        entries, index, call, then = self._phase
        scope = self.scope
        puts_off = self.setup.overlap and call.hook in _BEFORE_MODEL
        while index < len(entries):
            entry = entries[index]
            index += 1
            if puts_off and self._put_off(entry, call):
                continue
            call = await self.run_entry(entry, call)
            if scope.removed_by is not None:
                await self._check_left(call)
            if call.response is not None or call.retry is not None:
                break
            if scope.written:
                if not self.put_off:
                    self._phase = (entries, index, call, then)
                    await self._deliver_written()
                    return
                self.put_off.act(self._deliver_written)
        self._phase = None
        if scope.written:
            await self._deliver_written()
        await then(call)

    async def _check_left(self, call: HookCall) -> None:
        """End the run where processors have removed every message there was to answer."""
        step, self.scope.removed_by = self.scope.removed_by, None
        if call.hook == "process_output_result" or self.messages.has_input():
            return
        trip = nothing_left(self.scope, step)
        await tripped(self.scope, step, call.hook, trip)
        raise trip

    async def run_entry(self, entry: Plan, call: HookCall) -> HookCall:
        """Run one entry of a list; of a group, send what each member wrote when it has passed."""
        group = group_of(entry)
        if group is None:
            return await run_plan(entry, call, self.scope)
        checks = group.checks(call, self.scope)
        await run_checks(checks)
        for check in checks:
            await self.scope.commit(check.take())
            if check.error is not None:
                raise check.error
            if self.scope.written:
                await self._deliver_written()
        return call

    def _put_off(self, entry: Plan, call: HookCall) -> bool:
        """Put off an entry that writes nothing, until the model has been asked."""
        group = group_of(entry)
        if group is None and not is_check(entry, call.hook):
            return False
        for one in [entry] if group is None else [(member,) for member in group.members]:
            self.put_off.add(one, call)
        return True

    def _behind_checks(self, stage: Stage) -> Stage:
        """Return a stage that runs after the checks that were put off, if they pass."""
        return partial(self._settle_first, stage) if self.put_off else stage

    async def _settle_first(self, stage: Stage) -> None:
        await self.settle()
        self._stage = stage

    async def settle(self) -> None:
        """Run the checks that were put off.

        Raises:
            TripWire, SluicewayError: What the first of them that did not pass raised.
        """
        if not self.put_off:
            return
        try:
            await self.put_off.settle(self._deliver_written)
        except BaseException:
            if self.put_off.failed_in_input:  # then no step has begun
                self.scope.step_number = None
                self.attempt.retryable = False
            raise

    async def _deliver_written(self) -> None:
        await self.attempt.deliver_written()

    # -- stages

    async def _begin(self) -> None:
        self.delivery.send_now(Chunk("start", {"message_id": self.message_id, "step_number": 0}, self.run_id))
        call = HookCall("process_input", self.messages)
        self.enter(self.setup.input.entries("process_input"), call, self._input_done)

    async def _input_done(self, call: HookCall) -> None:
        del call
        self.messages.acting = None
        for tool_call_id, content in self._client_results.items():
            if not self.messages.has_call(tool_call_id):
                raise MessageError(
                    f"there is no call {tool_call_id!r} for the tool result in the input, neither in the messages "
                    "nor in memory; send the assistant message with the call along"
                )
            self.messages.set_tool_result(tool_call_id, content)
        self.base_system = self.messages.system
        self.lasting_signals = frozenset(self.scope.transients)
        self.scope.step_number = 0
        self.go(self.open_step)

    async def open_step(self) -> None:
        """Start the first attempt of a step."""
        self.scope.retry_count = 0
        self.scope.steps = tuple(self.steps)
        self.attempt = Attempt(self, retryable=True)
        self.attempt.start.take()
        self.go(self.attempt.open)

    async def close_run(self) -> None:
        """All steps are done: the last hooks, the result, the end."""
        step = self.steps[-1]
        payload = {
            "reason": step.finish_reason,
            "usage": self.usage,
            "text": self.outcomes.text(self.messages),
            "response": None,
        }
        await self.attempt.control(Chunk("finish", payload, self.run_id), deliver=False)
        self.attempt.end_stream()
        self.messages.output_phase = True
        info = {"result": self.outcomes.build}
        call = HookCall("process_output_result", self.messages, info=info)
        self.enter(self.setup.output.entries("process_output_result"), call, self._result_done)

    async def _result_done(self, call: HookCall) -> None:
        del call
        self.outcomes.finish(self.messages)
        result = self.outcomes.result
        assert result is not None
        if self.memory is not None:
            await self.memory.commit(self.messages, result.finish_reason)
            await self.memory.close()
        self.delivery.release(self.outcomes.blocks(self.messages))
        payload = {
            "reason": result.finish_reason,
            "usage": result.usage,
            "text": result.text,
            "response": result.response,
        }
        self.delivery.send_now(Chunk("finish", payload, self.run_id))
        self._stage = None

    # -- ends

    async def _on_trip(self, trip: TripWire) -> None:
        attempt = self.attempt
        if trip.retry and attempt.retryable and self._budget_left():
            await self._reject(attempt)
            self._try_again(trip.reason)
            return
        attempt.send_loose()
        await attempt.abandon()
        self.scope.accepted.clear()
        self.delivery.drop()
        tripped = self.outcomes.trip(trip)
        self.delivery.send_now(
            Chunk(
                "tripwire",
                {
                    "reason": tripped.reason,
                    "processor_id": tripped.processor_id,
                    "path": tripped.path,
                    "retry": tripped.retry,
                    "retry_count": tripped.retry_count,
                    "metadata": tripped.metadata,
                },
                self.run_id,
            )
        )
        await self._end("other")

    async def _on_model_error(self, error: ModelError) -> None:
        attempt = self.attempt
        if not attempt.retryable:
            await self._on_error(error)
            return
        await attempt.stop()
        attempt.start.restore()
        attempt.retryable = False  # an abort of an error hook is an ordinary one
        call = HookCall("process_api_error", self.messages, info={"error": error})
        self.enter(self.setup.error_entries(), call, partial(self._error_hooks_done, error))

    async def _error_hooks_done(self, error: ModelError, call: HookCall) -> None:
        attempt = self.attempt
        free = isinstance(call.retry, FreeRetry)
        if call.retry is not None and (free or self._budget_left()):
            await self._reject(attempt, restore=False)
            attempt.start.take()
            self._try_again(None, free=free)
            return
        try:
            await attempt.flush()
        except ModelError as other:  # a detector's model must not start this over
            error = other
        await self._on_error(error)

    async def _on_error(self, error: BaseException) -> None:
        await self.attempt.abandon()
        self.scope.accepted.clear()
        self.delivery.drop()
        self.error = error
        payload = {"message": text_of(error), "error": error}
        self.delivery.send_now(Chunk("error", payload, self.run_id))
        await self._end("error")

    async def _end(self, reason: str) -> None:
        if self.memory is not None:
            await self.memory.close()
        payload = {"reason": reason, "usage": self.usage, "text": "", "response": None}
        self.delivery.send_now(Chunk("finish", payload, self.run_id))
        self._stage = None

    # -- retries

    def _budget_left(self) -> bool:
        return self._retries_left() > 0

    def _retries_left(self) -> int:
        """Return how often the step at work may still be tried again."""
        budget = self.setup.max_processor_retries or 0
        return max(0, budget - (self.scope.retry_count - self.attempt.free_retries))

    async def _reject(self, attempt: Attempt, *, restore: bool = True) -> None:
        attempt.send_loose()
        await attempt.abandon()
        if restore:
            attempt.start.restore()
        payload = {"reason": "retry", "usage": attempt.usage}
        self.delivery.reject(Chunk("step-finish", payload, self.run_id))

    def _try_again(self, feedback: str | None, *, free: bool = False) -> None:
        self.scope.retry_count += 1
        self.attempt = self.attempt.again(feedback, free=free)
        self.go(self.attempt.open)

    # -- the books

    async def book(self, usage: Usage, model: Model | None = None, *, of_step: bool = False) -> None:
        """Add what a model call used, and tell every processor that wants to know.

        Args:
            usage: The tokens.
            model: Who answered; None: the agent's first model.
            of_step: Whether it was the call of a step, and not one of a processor's own.
        """
        self.usage = self.usage + usage
        watching: dict[int, Any] = {}
        for chain in self.setup.chains:
            for step in chain.processors:
                if callable(getattr(step.processor, "on_usage", None)):
                    watching.setdefault(id(step.processor), step)
        if not watching:
            return
        info = {"model": model or self.setup.models[0], "of_step": of_step}
        call = HookCall("process_llm_response", self.messages, info=info)
        trips: list[TripWire] = []

        async def tell() -> None:
            try:
                for step in watching.values():
                    ctx = HookContext(self.scope, step, call)
                    await call_observer(step.processor.on_usage, usage, ctx, what=f"on_usage of {step.id!r}")
            except TripWire as trip:
                trips.append(trip)

        # In a task of its own: a cancellation that comes meanwhile takes nothing out of the books.
        self._books.start(tell)
        await self._books.join()
        if trips:
            raise trips[0]

    @property
    def result(self) -> Result:
        """The result, once the stream has ended.

        Raises:
            ProcessorError, MergeConflict, ModelError, StorageError: What the run ended with.
            RunError: The run was closed before its end.
        """
        if self.error is not None:
            raise self.error
        if self.outcomes.result is None:
            raise RunError("the run was closed before it ended; there is no result", run_id=self.run_id)
        return self.outcomes.result

    async def close(self) -> None:
        """End whatever is under way: the model's call, tools, timers. Again is nothing."""
        if self._closed:
            return
        self._closed = True
        self._stage = None
        self.ready.clear()
        async with AsyncExitStack() as ends:  # from the last to the first, whatever one of them raises
            ends.enter_context(anyio.CancelScope(shield=True))
            ends.callback(self.scope.links.end_run)
            ends.push_async_callback(self._connections.aclose)
            if self.memory is not None:
                ends.push_async_callback(self.memory.close)
            ends.push_async_callback(self._books.join)
            await self.attempt.abandon()

    async def close_unwatched(self) -> None:
        """Close where nobody is left to tell of an error."""
        await call_observer(self.close, what="ending a run that its reader has dropped")
