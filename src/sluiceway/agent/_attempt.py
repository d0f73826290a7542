"""`Attempt`: one try of one step, from its system messages to the end of its tools."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import monotonic
from types import CoroutineType
from typing import Any, Final, cast

import anyio
from anyio.lowlevel import checkpoint

from sluiceway.agent._answer import Answer
from sluiceway.agent._host import RunHost
from sluiceway.agent._request import build_request, models_of, offered_tools
from sluiceway.agent._source import ModelSource, Pump, Replay, Source, check_silence, nothing
from sluiceway.agent._step_start import StepStart, tell_accepted
from sluiceway.agent._tool_phase import ToolPhase
from sluiceway.agent._usage import estimate_usage
from sluiceway.engine import StepResult
from sluiceway.errors import ModelError
from sluiceway.messages import Chunk, SystemMessage, Usage
from sluiceway.models import ModelCall, ModelRequest
from sluiceway.processors import Fed, HookCall, Passed, build_stream

__all__ = ["Attempt"]

log: Final = logging.getLogger("sluiceway")

_OWN: Final = frozenset({"start", "step-start", "step-finish", "finish", "error", "tripwire"})
"""Chunks that only the run may send."""
_DELTAS: Final = frozenset({"text-delta", "reasoning-delta"})
_CHECK_MASK: Final = 63
_TIME_MASK: Final = 7
_CHECK_AFTER_S: Final = 0.01


class Attempt:
    """One try of one step. The first is opened by the run, a further one by `again`.

    Args:
        host: The run.
        retryable: Whether an abort may ask for another try here.
        feedback: What the model is told about the attempt before, or None.
        free_retries: How many of the step's retries the budget does not count.
        before: The attempt before; it has the state of the messages at the step's start.
    """

    __slots__ = (
        "_booked",
        "_count",
        "_feedback",
        "_heard_at",
        "_host",
        "_last",
        "_loose",
        "_read",
        "_send",
        "answer",
        "free_retries",
        "max_steps",
        "offered",
        "request",
        "retryable",
        "source",
        "start",
        "stream",
        "tools",
        "usage",
    )

    def __init__(
        self,
        host: RunHost,
        *,
        retryable: bool = False,
        feedback: str | None = None,
        free_retries: int = 0,
        before: Attempt | None = None,
    ) -> None:
        self._host = host
        self.retryable = retryable
        self._feedback = feedback
        self.free_retries = free_retries
        self.start = before.start if before is not None else StepStart(host)
        host.scope.attempt_states = {}
        self.stream = build_stream(host.setup.output.stream, host.scope, host.messages)
        self.answer = Answer(host.messages, host.message_id, first=not host.steps)
        self.offered: dict[str, Any] = {}
        self.max_steps = host.setup.max_steps
        self.request: ModelRequest | None = None
        self.source: Source | None = None
        self.tools: ToolPhase | None = None
        self.usage = Usage()
        self._booked = True
        self._count = 0
        self._last = 0.0
        self._heard_at = 0.0
        self._read: Callable[[], Awaitable[Chunk]] = nothing
        self._send: Callable[[Chunk], None] = host.delivery.sender
        self._loose = False

    def again(self, feedback: str | None, *, free: bool) -> Attempt:
        """Return the next try of the same step."""
        return Attempt(
            self._host,
            retryable=True,
            feedback=feedback,
            free_retries=self.free_retries + free,
            before=self,
        )

    # -- sending

    def deliver(self, chunk: Chunk) -> None:
        """Book a chunk that has passed all hooks, and send it to the client."""
        if chunk.type in _OWN:  # only the run itself says how it goes on
            return
        if chunk.type == "object" and chunk.get("final"):
            self._host.scope.links.object = chunk.get("object")
        self.answer.apply(chunk)
        self._send(chunk)

    async def deliver_written(self) -> None:
        """Send the data chunks that hooks have written."""
        out: list[Chunk] = []
        await self.stream.push_written(out)
        self._loose = True
        for chunk in out:
            self.deliver(chunk)
        self.start.note_sent(out)

    def send_loose(self) -> None:
        """Send what a hook wrote before it gave up; not where a processor would have to see it first."""
        written = self._host.scope.written
        if not self.stream.wants_data:
            for chunk, _ in written:
                self._host.delivery.send(chunk)
        written.clear()

    async def control(self, chunk: Chunk, *, deliver: bool = True) -> None:
        """Show the hooks a chunk that tells of the run itself; it goes out whatever they return."""
        self._deliver_control(chunk, await self.stream.push(chunk), deliver=deliver)

    def _deliver_control(self, chunk: Chunk, passed: Sequence[Chunk], *, deliver: bool = True) -> None:
        sent = not deliver
        for one in passed:
            if one.type != chunk.type:
                self.deliver(one)
            elif not sent:
                sent = True
                self._host.delivery.send(chunk)
        if not sent:
            self._host.delivery.send(chunk)

    async def flush(self) -> None:
        """Have the processors let go of what they hold."""
        self._loose = False
        for chunk in await self.stream.finish():
            self.deliver(chunk)

    def end_stream(self) -> None:
        """Nothing goes through the stream hooks any more."""
        self.stream.drop()

    # -- stages

    async def open(self) -> None:
        """Open the step: its system messages, `step-start`, then its input hooks."""
        host = self._host
        scope = host.scope
        scope.steps = tuple(host.steps)
        messages = host.messages
        messages.acting = None
        messages.output_phase = False
        system = tuple(host.base_system)
        if self._feedback is not None:
            system = (*system, SystemMessage(self._feedback, tag="retry-feedback"))
        messages.replace_system(system)
        payload = {"message_id": host.message_id, "step_number": scope.step_number}
        step_start = Chunk("step-start", payload, host.run_id)
        if host.put_off:
            self.start.is_ahead = True
            host.put_off.act(self.start.passed)
            host.put_off.act(partial(self.control, step_start))
        else:
            await self.control(step_start)
        setup = host.setup
        overrides = {
            **setup.overrides,
            "model": setup.models[0],
            "tools": dict(setup.tools),
            "max_steps": self.max_steps,
        }
        call = HookCall("process_input_step", messages, overrides=overrides)
        host.enter(setup.input.entries("process_input_step"), call, self._to_prompt)

    async def _to_prompt(self, call: HookCall) -> None:
        host = self._host
        self.max_steps = call.overrides["max_steps"]
        self.offered = offered_tools(call.overrides)
        host.scope.links.add_tools(call.overrides.get("tools") or ())
        host.messages.acting = None
        prompt = host.messages.to_prompt()
        next_call = HookCall("process_llm_request", host.messages, overrides=call.overrides, prompt=prompt)
        self._transients_shown()
        host.enter(host.setup.input.entries("process_llm_request"), next_call, self._ask)

    def _transients_shown(self) -> None:
        """Note which transient signals this prompt has; they are in no later step's."""
        self.answer.shown = frozenset(self._host.scope.transients - self._host.lasting_signals)

    async def _ask(self, call: HookCall) -> None:
        host = self._host
        host.messages.output_phase = True
        self.request = build_request(call, self.offered, host.run_id, host.scope.step_number or 0)
        if call.response is not None:
            self.source = Replay(call.response, host.run_id)
        else:
            self._booked = False
            models = models_of(call.overrides["model"], host.setup.models)
            source = ModelSource(ModelCall(models, self.request))
            if host.put_off:
                self.source = Pump.opening(source)
            else:
                self.source = source
                await source.open()
        if host.put_off:
            host.go(self._settle)
        else:
            self._start_reading()

    async def _settle(self) -> None:
        """Run the checks that were put off, while the model answers already."""
        await self._host.settle()
        self._start_reading()

    async def read(self) -> None:
        """Read the answer until there is a chunk for the client."""
        host = self._host
        ready = host.ready
        answer = self.answer
        while not ready:
            try:
                chunk = await (self._read_timed() if host.scope.timed else self._read())
            except StopAsyncIteration:
                host.go(self._respond)
                return
            except Exception as error:
                if (mapped := cast("Source", self.source).mapped(error)) is error:
                    raise
                raise mapped from error
            if type(chunk) is not Chunk:
                check_silence(chunk)
                continue
            answer.raw.append(chunk)
            if chunk.type in _DELTAS:
                passed = self.stream.feed(chunk)
                if type(passed) is CoroutineType:
                    passed = await cast("Awaitable[Passed]", passed)
                if passed is chunk:  # the plain way: nobody had anything to say
                    answer.apply(chunk)
                    self._send(chunk)
                else:
                    await self._deliver_passed(passed)
            else:
                await self._other(chunk)
            self._count += 1
            if not self._count & _TIME_MASK and self._is_due():
                await checkpoint()

    async def _deliver_passed(self, passed: Fed) -> None:
        if not isinstance(passed, Chunk) and hasattr(passed, "__await__"):
            passed = await cast("Awaitable[Passed]", passed)
        if isinstance(passed, Chunk):
            self.deliver(passed)
        elif passed is not None:
            for one in cast("Sequence[Chunk]", passed):
                self.deliver(one)

    def _start_reading(self) -> None:
        """Take the function that reads the source; after the first chunk it is another."""
        source = cast("Source", self.source)

        async def first() -> Chunk:
            chunk = await source.read()
            self._read = source.read
            return chunk

        self._read = first
        self._host.go(self.read)

    def _is_due(self) -> bool:
        """Whether it is time to let others run; asked every few chunks."""
        now = monotonic()
        due = not self._count & _CHECK_MASK or now - self._last > _CHECK_AFTER_S
        if due:
            self._last = now
        return due

    async def _read_timed(self) -> Chunk | None:
        """Read while a processor wants to be flushed after a time of silence; None when it is over."""
        pump = self.source
        if not isinstance(pump, Pump):
            self.source = pump = Pump(cast("Source", self.source), self._read)
        if not self._heard_at:
            self._heard_at = monotonic()
        wait_s = self.stream.wait_s
        if wait_s is not None:
            with anyio.move_on_after(max(0.0, self._heard_at + wait_s - monotonic())):
                await pump.wait()
            if not pump.waiting:
                for one in await self.stream.flush(self._heard_at):
                    self.deliver(one)
                return None
        chunk = await pump.read()
        self._heard_at = monotonic()
        return chunk

    async def _other(self, chunk: Chunk) -> None:
        kind = chunk.type
        if kind == "error":
            raise ModelError(str(chunk.get("message", "the model's stream ended in an error")))
        if kind == "finish":
            self.answer.finish = chunk
            self._host.go(self._respond)
            self._read = nothing
            return
        if kind in _OWN:
            return
        if kind == "tool-call":
            self.answer.asked(chunk)
        elif kind == "tool-result":
            checked = await self._provider_result(chunk)
            if checked is None:
                return
            chunk = checked
        for one in await self.stream.push(chunk):
            self.deliver(one)

    async def _provider_result(self, chunk: Chunk) -> Chunk | None:
        """Run the tool-result hooks over a result that came with the answer."""
        self.answer.replayed_result()
        phase = ToolPhase(self._host, self, ())
        return await phase.check_provider_result(chunk)

    async def _respond(self) -> None:
        """The answer is complete: flush, check how it ended, then its hooks."""
        host = self._host
        answer = self.answer
        source = cast("Source", self.source)
        if answer.finish is None and not source.from_cache:
            raise ModelError(
                f"the provider closed its stream without a finish, after {len(answer.raw)} chunks",
                retryable=True,
            )
        answer.check_end()
        await self.flush()
        await source.close()
        self.usage = answer.usage
        await self._book()
        step = answer.step_result(host.scope.step_number or 0, self.usage)
        steps = (*host.steps, step)
        info = {
            "chunks": answer.raw,
            "from_cache": source.from_cache,
            "warnings": answer.warnings,
            "request": self.request,
            "raw_response": answer.metadata,
            "model": source.model,
            "steps": steps,
            "text": step.text,
        }
        call = HookCall("process_llm_response", host.messages, info=info)
        host.enter(host.setup.input.entries("process_llm_response"), call, self._check_output)

    async def _check_output(self, call: HookCall) -> None:
        host = self._host
        steps = call.info["steps"]
        step = steps[-1]
        self.answer.note_streamed()
        info = {
            "text": step.text,
            "tool_calls": step.tool_calls,
            "finish_reason": step.finish_reason,
            "usage": step.usage,
            "provider_metadata": step.provider_metadata,
            "steps": steps,
        }
        next_call = HookCall("process_output_step", host.messages, info=info)
        host.enter(host.setup.output.entries("process_output_step"), next_call, self._run_tools)

    async def _run_tools(self, call: HookCall) -> None:
        del call
        host = self._host
        host.messages.acting = None
        self.answer.absorb_added()
        calls = self.answer.pending(self.offered)
        if not calls:
            host.go(self._accept)
            return
        self._loose = True
        self.tools = ToolPhase(host, self, calls, self._accept)
        await self.tools.start()
        host.go(self.tools.stage)

    async def _accept(self) -> None:
        """The step counts: say so, tell who asked, and decide what comes next."""
        host = self._host
        scope = host.scope
        messages = host.messages
        messages.acting = None
        self.answer.absorb_added()
        if self._loose:
            await self.flush()
        step = self._step_result()
        finish = Chunk("step-finish", {"reason": step.finish_reason, "usage": step.usage}, host.run_id)
        passed = await self.stream.push(finish)
        # From here on the step counts, whatever those say who are told of it.
        self.retryable = False
        await tell_accepted(host, step)
        await scope.links.end_attempt()
        self._deliver_control(finish, passed)
        step = self._step_result()
        gone = self.answer.shown & scope.transients
        if gone:
            messages.remove_by_ids(gone)
            scope.transients -= gone
        host.steps.append(step)
        host.delivery.accept(self.answer.blocks())
        if host.setup.hold != "none":  # what goes out is what the hooks left
            self.answer.note_streamed()
        host.streamed.append(self.answer)
        if await self._is_last():
            host.go(host.close_run)
            return
        self.end_stream()
        scope.step_number = (scope.step_number or 0) + 1
        host.go(host.open_step)

    def _step_result(self) -> StepResult:
        return self.answer.step_result(self._host.scope.step_number or 0, self.usage, edited=True)

    async def _is_last(self) -> bool:
        host = self._host
        if self.answer.is_final():
            return True
        if (host.scope.step_number or 0) + 1 >= self.max_steps:
            return True
        stop_when = host.setup.stop_when
        if stop_when is None:
            return False
        answer = stop_when(tuple(host.steps))
        if hasattr(answer, "__await__"):
            answer = await answer
        return bool(answer)

    # -- the end of an attempt

    async def stop(self) -> None:
        """End the model's call and the tools, and book what the call used."""
        if self.tools is not None:
            await self.tools.close()
        if self.source is not None:
            try:
                await self.source.close()
            except ModelError as error:  # the run ends or starts anew for a reason of its own
                log.warning("closing the model's call failed: %s", error)
            if isinstance(self.source, Pump):
                self.answer.add_unread(self.source.unread())
        await self._book()

    async def abandon(self) -> None:
        """End the attempt for good; what processors hold is dropped."""
        try:
            await self.stop()
        finally:
            await self._host.scope.links.end_attempt()
        self.end_stream()

    async def _book(self) -> None:
        """Book what the call used, once; an estimate where the provider did not say."""
        if self._booked or self.request is None:
            return
        self._booked = True
        reported = self.answer.reported_usage
        self.usage = reported or estimate_usage(self.request.prompt, self.answer.raw)
        model = None if self.source is None else self.source.model
        await self._host.book(self.usage, model, of_step=True)
