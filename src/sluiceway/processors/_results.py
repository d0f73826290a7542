"""What hooks may return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from sluiceway._types import MISSING, Missing
from sluiceway.errors import ConfigurationError
from sluiceway.messages import Chunk, Message, MessageList, Prompt, SystemMessage

__all__ = [
    "Allow",
    "Block",
    "FreeRetry",
    "InputResult",
    "LLMRequest",
    "Messages",
    "Retry",
    "Rewrite",
    "StepOverrides",
    "Verdict",
    "Violation",
]

Messages: TypeAlias = "Sequence[Message | str | Mapping[str, Any]]"
"""Messages as a hook may return them."""


@dataclass(frozen=True, slots=True)
class InputResult:
    """What `process_input` may return: messages, system messages, or both.

    Args:
        messages: What the messages shall be; left out: no change.
        system_messages: What all system messages shall be; left out: no change.
    """

    messages: Messages | MessageList | Missing = MISSING
    system_messages: Sequence[SystemMessage | str] | Missing = MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOverrides:
    """What `process_input_step` may return. What is given replaces the whole value.

    Args:
        messages: What the messages shall be.
        message_list: The list of the run itself; not together with `messages`.
        system_messages: The system messages of this step.
        model: The model of this step: an object or a string such as `openai/gpt-5-mini`.
        tools: The tools of this step: functions, `Tool` objects, or a mapping by name.
        active_tools: Names of the tools that are offered; None offers all.
        tool_choice: `auto`, `none`, `required`, or the name of a tool.
        model_settings: Such as `{"temperature": 0}`.
        provider_options: Options for one provider, by its name.
        structured_output: The pydantic model or JSON schema of the answer.
        max_steps: How many steps the run may take, this one counted.
    """

    messages: Messages | MessageList | Missing = MISSING
    message_list: MessageList | Missing = MISSING
    system_messages: Sequence[SystemMessage | str] | Missing = MISSING
    model: Any = MISSING
    tools: Any = MISSING
    active_tools: Sequence[str] | Missing | None = MISSING
    tool_choice: Any = MISSING
    model_settings: Mapping[str, Any] | Missing = MISSING
    provider_options: Mapping[str, Any] | Missing = MISSING
    structured_output: Any = MISSING
    max_steps: int | Missing = MISSING

    def __post_init__(self) -> None:
        if self.messages is not MISSING and self.message_list is not MISSING:
            raise ConfigurationError(
                "StepOverrides got both messages= and message_list=; they say the same thing: give one"
            )

    def given(self) -> dict[str, Any]:
        """Return the fields that were given, without messages and system messages."""
        apart = {"messages", "message_list", "system_messages"}
        values = ((f.name, getattr(self, f.name)) for f in fields(self) if f.name not in apart)
        return {name: value for name, value in values if value is not MISSING}


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMRequest:
    """What `process_llm_request` may return: another prompt, or the answer itself.

    Args:
        prompt: What the provider gets instead, in this call only.
        response: Chunks to replay as the answer; the provider is not called.
    """

    prompt: Prompt | None = None
    response: Iterable[Chunk] | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """From `process_api_error`: run the step again. From a `guard`: ask the model again.

    Args:
        reason: What the model is told, where a guard returns it.
    """

    reason: str | None = None


class FreeRetry(Retry):
    """A retry that the budget does not count: what the prefill handler returns."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Allow:
    """A guard's verdict: the text passes."""


@dataclass(frozen=True, slots=True)
class Block:
    """A guard's verdict: the run ends here.

    Args:
        reason: Why; None names the guard.
        metadata: Anything the caller should get along with it.
    """

    reason: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A guard's verdict: this text instead.

    Args:
        text: What stands there from now on.
    """

    text: str


Verdict: TypeAlias = "bool | Allow | Block | Rewrite | Retry | None"
"""What a guard function returns; True and None pass, False blocks."""


@dataclass(frozen=True, slots=True)
class Violation:
    """What `on_violation` is called with, once for every `abort` and every `warn`.

    Args:
        processor_id: Who reported it.
        message: What it is, in one line.
        detail: More of it, such as an entry (rule, offset, length) for each finding.
    """

    processor_id: str
    message: str
    detail: Any = field(default=None)
