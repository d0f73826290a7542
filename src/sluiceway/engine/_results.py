"""What a run gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from sluiceway.messages import Message, Usage

__all__ = ["AuditEntry", "AuditStatus", "Response", "Result", "StepResult", "ToolCall", "ToolOutcome", "Tripped"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asked for.

    Args:
        tool_call_id: The id of the call.
        tool_name: The tool.
        args: What the model asked for, as the hooks left it.
        provider_executed: Whether the provider ran it itself.
    """

    tool_call_id: str
    tool_name: str
    args: Mapping[str, Any]
    provider_executed: bool = False


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of a call: `result`, or the text of an `error`.

    Args:
        tool_call_id: The id of the call.
        tool_name: The tool.
        result: What it returned.
        error: Why it failed; None where it did not.
    """

    tool_call_id: str
    tool_name: str
    result: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Tripped:
    """Why a run ended early: what its `TripWire` said.

    Args:
        reason: Why, for the caller.
        processor_id: The processor that aborted; None where none did.
        path: Where that stands.
        retry: Whether it asked for the step to be tried again.
        retry_count: How often the step had been tried again before.
        metadata: What the processor gave along with the reason.
    """

    reason: str
    processor_id: str | None
    path: str | None = None
    retry: bool = False
    retry_count: int = 0
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step of a run: one accepted answer of the model and what its tools returned.

    Args:
        step_number: From 0.
        text: The text of the step.
        reasoning: The reasoning of the step.
        tool_calls: In call order.
        tool_results: In call order.
        sources: Source parts.
        files: File and image parts.
        finish_reason: Such as `stop`, `tool-calls` or `length`.
        usage: Tokens of the accepted attempt.
        warnings: What the model object could not pass on.
        provider_metadata: By provider name.
        tripwire: Why the step ended the run, or None.
    """

    step_number: int
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolOutcome, ...] = ()
    sources: tuple[Any, ...] = ()
    files: tuple[Any, ...] = ()
    finish_reason: str = "unknown"
    usage: Usage = field(default_factory=Usage)
    warnings: tuple[Any, ...] = ()
    provider_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tripwire: Tripped | None = None


AuditStatus: TypeAlias = Literal["edited", "flagged", "blocked", "passed", "skipped", "not checked"]
"""What became of something that a processor looked at, or did not."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that a processor did or did not do; never a value.

    Args:
        processor_id: The processor.
        hook: The hook it did it in.
        status: What became of it.
        detail: Rules, offsets and lengths.
    """

    processor_id: str
    hook: str
    status: AuditStatus
    detail: Any = None


@dataclass(frozen=True, slots=True)
class Response:
    """The messages of the reply, as stored and as a UI takes them (AI-SDK UI messages).

    Args:
        messages: Empty after a tripwire.
        ui_messages: The same for a UI.
    """

    messages: tuple[Message, ...] = ()
    ui_messages: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """How a run of an agent ended.

    Args:
        text: The text of all accepted steps, joined; `""` after a tripwire.
        finish_reason: The last step's, or `other` after a tripwire.
        usage: Tokens of all attempts, rejected ones included.
        steps: The accepted steps, and a tripped one last.
        tripwire: Why it ended early, or None.
        object: The structured answer, where one was asked for.
        response: The reply's messages.
        edited_after_stream: Whether `text` differs from what was streamed.
        audit: What the processors did.
        run_id: The run.
    """

    text: str
    finish_reason: str
    usage: Usage = field(default_factory=Usage)
    steps: tuple[StepResult, ...] = ()
    tripwire: Tripped | None = None
    object: Any = None
    response: Response = field(default_factory=Response)
    edited_after_stream: bool = False
    audit: Sequence[AuditEntry] = ()
    run_id: str = ""
