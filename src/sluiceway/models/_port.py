"""The port to a language model: what it is asked, and what a model must do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from sluiceway.messages import Chunk, Prompt
from sluiceway.tools import Tool

__all__ = ["Model", "ModelRequest", "StructuredOutput", "ToolChoice"]

ToolChoice: TypeAlias = "str | Mapping[str, Any] | None"
"""`auto`, `none`, `required`, or `{"type": "tool", "tool_name": name}`; None leaves it open."""

StructuredOutput: TypeAlias = "type[Any] | Mapping[str, Any] | None"
"""What the answer should be: a type that pydantic takes, or a JSON schema."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model.

    Args:
        prompt: The messages.
        tools: What the model may ask for.
        tool_choice: Whether and which tool it must ask for; sent also where `tools` is empty.
        settings: Such as `temperature` and `max_tokens`; see `Settings`.
        provider_options: What goes to the provider as it is, by provider name.
        structured_output: What the answer should be.
        run_id: The run it belongs to; chunks carry it.
        step_number: The step of the run.
    """

    prompt: Prompt
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    provider_options: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    structured_output: StructuredOutput = None
    run_id: str = ""
    step_number: int = 0


@runtime_checkable
class Model(Protocol):
    """A language model.

    Attributes:
        provider: Such as `openai`.
        model_id: Such as `gpt-5-mini`.
        structured: Whether it can answer in the shape that `structured_output` asks for.

    Two more are looked for: `max_retries` (int) says how often a refused call is made again
    before the first chunk, without it never; `backoff` (a `Backoff`) how long to wait between.
    """

    @property
    def provider(self) -> str:
        """Who runs the model."""
        ...

    @property
    def model_id(self) -> str:
        """Which model it is."""
        ...

    @property
    def structured(self) -> bool:
        """Whether it can answer structured requests."""
        ...

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Call the model; entering makes the request, leaving ends it.

        The iterator yields, in the order in which the provider sends them:
        `text-start`, `text-delta`, `text-end`, `reasoning-start`, `reasoning-delta`,
        `reasoning-end`, `tool-call`, `tool-result` (of a tool that the provider itself ran),
        `source`, `file`, `response-metadata`, and one `finish` at the end with `reason`
        (`stop`, `length`, `tool-calls`, `content-filter`, `error`, `other`, `unknown`),
        `usage` (a `Usage` or None), `provider_metadata` and `warnings`.

        No cancel scope and no task group stays open between two reads. Leaving early, also
        by cancellation, closes the connection. Many calls may be open at a time.

        Raises:
            ModelError: On entering, or at a read: the provider refused or broke off.
        """
        ...
