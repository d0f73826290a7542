"""What a prompt is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = [
    "PromptContent",
    "PromptFile",
    "PromptImage",
    "PromptMessage",
    "PromptReasoning",
    "PromptRole",
    "PromptText",
    "PromptToolCall",
    "PromptToolResult",
]

PromptRole: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""Whom a message of a prompt is from."""


@dataclass(frozen=True, slots=True)
class PromptText:
    """Text.

    Args:
        text: The text.
        provider_metadata: By provider name.
    """

    text: str
    provider_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class PromptReasoning:
    """Reasoning of an earlier answer.

    Args:
        text: The reasoning.
        provider_metadata: By provider name; signatures among it.
    """

    text: str
    provider_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class PromptToolCall:
    """A tool call of an earlier answer.

    Args:
        tool_call_id: The id of the call.
        tool_name: The tool.
        args: What the model asked for.
        provider_executed: Whether the provider ran it itself.
        provider_metadata: By provider name.
    """

    tool_call_id: str
    tool_name: str
    args: Any
    provider_executed: bool = False
    provider_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class PromptToolResult:
    """What came of a tool call: a plain value, or the text of an error.

    Args:
        tool_call_id: The id of the call.
        tool_name: The tool.
        output: The value, or the text of the error.
        is_error: Whether it is an error.
        provider_executed: Whether the provider ran it itself.
        provider_metadata: By provider name.
    """

    tool_call_id: str
    tool_name: str
    output: Any
    is_error: bool = False
    provider_executed: bool = False
    provider_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A file, as bytes or by URL (a data URL among them).

    Args:
        media_type: Such as `application/pdf`.
        data: The bytes, or None.
        url: Where it is, or None.
        filename: Its name, or None.
        provider_metadata: By provider name.
    """

    media_type: str
    data: bytes | None = None
    url: str | None = None
    filename: str | None = None
    provider_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class PromptImage:
    """An image, as bytes or by URL (a data URL among them).

    Args:
        media_type: Such as `image/png`.
        data: The bytes, or None.
        url: Where it is, or None.
        filename: Its name, or None.
        provider_metadata: By provider name.
    """

    media_type: str
    data: bytes | None = None
    url: str | None = None
    filename: str | None = None
    provider_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


PromptContent: TypeAlias = PromptText | PromptReasoning | PromptToolCall | PromptToolResult | PromptFile | PromptImage
"""What a message of a prompt is made of."""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt.

    Args:
        role: Who speaks.
        content: What it is made of, in order.
        message_id: The message it came from; several of a prompt can share one.
        source: That message's source; None for a system message.
        provider_metadata: What providers attached to the message, by provider.
    """

    role: PromptRole
    content: tuple[PromptContent, ...]
    message_id: str | None = None
    source: str | None = None
    provider_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        """The text of its text content, joined."""
        return "".join([item.text for item in self.content if isinstance(item, PromptText)])

    def replace(
        self,
        *,
        role: PromptRole | None = None,
        content: Iterable[PromptContent] | None = None,
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> PromptMessage:
        """Return a copy with some of it changed.

        Args:
            role: Whom it is from; None keeps it, as for each of these.
            content: What it is made of.
            provider_metadata: By provider name.
        """
        return PromptMessage(
            self.role if role is None else role,
            self.content if content is None else tuple(content),
            self.message_id,
            self.source,
            self.provider_metadata if provider_metadata is None else provider_metadata,
        )
