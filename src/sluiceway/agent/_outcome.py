"""`Outcomes`: from the messages of a run to its `Result`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sluiceway._types import MISSING
from sluiceway.agent._answer import blocks_of, segments, step_of_parts
from sluiceway.agent._delivery import Blocks
from sluiceway.agent._host import RunHost
from sluiceway.engine import Response, Result, StepResult, ToolCall, Tripped
from sluiceway.errors import TripWire
from sluiceway.messages import Message, MessageList, Part, ui_message

__all__ = ["Outcomes"]


class Outcomes:
    """Builds the result of a run; everything in it is read from the messages as they stand.

    So what a late hook took out of the messages is in no other field of the result either.
    """

    __slots__ = ("_host", "result")

    def __init__(self, host: RunHost) -> None:
        self._host = host
        self.result: Result | None = None

    def text(self, messages: MessageList) -> str:
        """Return the text of the reply."""
        return "".join(message.text for message in _reply(messages))

    def build(self, messages: MessageList) -> Result:
        """Return the result as it stands."""
        host = self._host
        reply = _reply(messages)
        text = "".join(message.text for message in reply)
        return Result(
            text=text,
            finish_reason=host.steps[-1].finish_reason if host.steps else "unknown",
            usage=host.usage,
            steps=_steps(host.steps, reply),
            object=None if host.scope.links.object is MISSING else host.scope.links.object,
            response=Response(tuple(reply), tuple(ui_message(message) for message in reply)),
            edited_after_stream=host.setup.hold != "run"
            and "".join(answer.streamed for answer in host.streamed) != text,
            audit=tuple(host.scope.audit),
            run_id=host.run_id,
        )

    def _streamed(self) -> str:
        return "".join(answer.streamed for answer in self._host.streamed)

    def finish(self, messages: MessageList) -> None:
        """The last hook has passed: this is the result."""
        self.result = self.build(messages)

    def trip(self, trip: TripWire) -> Tripped:
        """The run ends early: withhold the text, keep why."""
        host = self._host
        tripped = Tripped(
            reason=trip.reason,
            processor_id=trip.processor_id,
            path=trip.path,
            retry=trip.retry,
            retry_count=trip.retry_count,
            metadata=trip.metadata,
        )
        self.result = Result(
            text="",
            finish_reason="other",
            usage=host.usage,
            steps=self._tripped_steps(tripped),
            tripwire=tripped,
            audit=tuple(host.scope.audit),
            run_id=host.run_id,
        )
        return tripped

    def _tripped_steps(self, tripped: Tripped) -> tuple[StepResult, ...]:
        host = self._host
        number = host.scope.step_number
        if number is None:
            return ()
        if number < len(host.steps):  # the last hooks of the run: no step's text has passed them
            *before, last = (_bare(step) for step in host.steps)
            return (*before, replace(last, tripwire=tripped))
        # Earlier steps as the messages have them now: a hook of this step may have redacted them.
        parts = [segment for message in _reply(host.messages) for segment in segments(message)]
        if len(parts) - len(host.steps) in (0, 1):
            done = tuple(_updated(step, segment) for step, segment in zip(host.steps, parts, strict=False))
        else:
            done = tuple(_bare(step) for step in host.steps)
        step = step_of_parts(parts[-1] if len(parts) > len(host.steps) else (), number, results=False)
        return (*done, replace(_bare(step), finish_reason="other", tripwire=tripped))

    def blocks(self, messages: MessageList) -> list[Blocks]:
        """Return the blocks of each step; all with the first where steps and messages no longer match."""
        parts = [segment for message in _reply(messages) for segment in segments(message)]
        if len(parts) == len(self._host.steps):
            return [blocks_of(segment) for segment in parts]
        return [blocks_of([part for segment in parts for part in segment])]


def _reply(messages: MessageList) -> list[Message]:
    return [message for message in messages.response if message.role == "assistant"]


def _bare(step: StepResult) -> StepResult:
    calls = tuple(ToolCall(c.tool_call_id, c.tool_name, {}, c.provider_executed) for c in step.tool_calls)
    return StepResult(
        step_number=step.step_number,
        tool_calls=calls,
        finish_reason=step.finish_reason,
        usage=step.usage,
        tripwire=step.tripwire,
    )


def _steps(steps: Sequence[StepResult], reply: Sequence[Message]) -> tuple[StepResult, ...]:
    """Return the steps with what the messages say now."""
    parts = [segment for message in reply for segment in segments(message)]
    if len(parts) == len(steps):
        return tuple(_updated(step, segment) for step, segment in zip(steps, parts, strict=True))
    if not steps:
        return ()
    flat = [part for segment in parts for part in segment]
    *before, last = steps
    return (*(_bare(step) for step in before), _updated(last, flat))


def _updated(step: StepResult, parts: Sequence[Part]) -> StepResult:
    now = step_of_parts(parts, step.step_number, results=True)
    return replace(
        step,
        text=now.text,
        reasoning=now.reasoning,
        tool_calls=now.tool_calls,
        tool_results=now.tool_results,
        sources=now.sources,
        files=now.files,
    )
