"""`ToolCallFilter`: sends prompts without the tool calls of earlier turns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sluiceway._types import MISSING
from sluiceway.messages import (
    MessageList,
    Prompt,
    PromptContent,
    PromptMessage,
    PromptText,
    PromptToolCall,
    PromptToolResult,
    output_text,
)
from sluiceway.processors._base import Processor
from sluiceway.processors._contexts import RequestHookContext
from sluiceway.processors._effects import Effects
from sluiceway.processors._results import LLMRequest
from sluiceway.processors.context._item_ids import unlinked, without_ids
from sluiceway.processors.context._options import checked_count, checked_flag, checked_names
from sluiceway.processors.context._turn import turn_start

__all__ = ["ToolCallFilter"]


class ToolCallFilter(Processor):
    """Leaves tool calls and their results out of the prompt; messages and storage stay as they are.

    The text next to a call stays; a message left empty goes.

    Args:
        exclude: Names of the tools whose calls go; None: all.
        filter_after_tool_steps: None leaves the calls of the turn at work in. A number leaves
            those of the newest so many steps with calls in, whichever turn they are of.
        preserve_model_output: Whether a call that was answered becomes a text with its model
            output (see `Tool.to_model_output`), where it has one.
        id: The id.

    Raises:
        ConfigurationError: An option that is not allowed.
    """

    def __init__(
        self,
        *,
        exclude: Collection[str] | None = None,
        filter_after_tool_steps: int | None = None,
        preserve_model_output: bool = False,
        id: str = "tool-call-filter",  # noqa: A002 - the field's own name
    ) -> None:
        super().__init__(id)
        self.exclude = None if exclude is None else checked_names(id, "exclude", exclude)
        if filter_after_tool_steps is not None:
            checked_count(id, "filter_after_tool_steps", filter_after_tool_steps, 0)
        self.filter_after_tool_steps = filter_after_tool_steps
        self.preserve_model_output = checked_flag(id, "preserve_model_output", preserve_model_output)
        self.effects = Effects(reads=("messages", "prompt"), writes=("prompt",), aborts=False)

    def process_llm_request(self, ctx: RequestHookContext) -> LLMRequest | None:
        """Return the prompt without these calls."""
        prompt, messages = ctx.prompt, ctx.message_list
        gone, old = self._gone(prompt, messages)
        if not gone:
            return None
        texts = _outputs(gone, messages) if self.preserve_model_output else {}
        filtered = [
            _without(message, gone, texts) if index in old else message for index, message in enumerate(prompt.messages)
        ]
        return LLMRequest(prompt=prompt.replace(message for message in filtered if message.content))

    def _gone(self, prompt: Prompt, messages: MessageList) -> tuple[set[str], set[int]]:
        """Return the ids of the calls that go, and where: a later step may have calls of the same ids."""
        steps = [
            (index, message)
            for index, message in enumerate(prompt.messages)
            if any(isinstance(item, PromptToolCall) for item in message.content)
        ]
        newest = self.filter_after_tool_steps
        if newest is None:
            turn = turn_start(prompt, messages)
            old = {i for i, message in enumerate(prompt.messages[:turn]) if message.source != "response"}
        else:
            kept = steps[max(0, len(steps) - newest) :]
            old = set(range(kept[0][0] if kept else len(prompt.messages)))
        gone = {
            item.tool_call_id
            for index, message in steps
            for item in message.content
            if index in old
            and isinstance(item, PromptToolCall)
            and (self.exclude is None or item.tool_name in self.exclude)
        }
        return gone, old


def _outputs(gone: Collection[str], messages: MessageList) -> dict[str, str]:
    texts: dict[str, str] = {}
    for call_id in gone:
        part = messages.find_call(call_id)
        if part is not None and part.state == "result" and part.model_output is not MISSING:
            output: Any = part.model_output
            texts[call_id] = output_text(output)
    return texts


def _without(message: PromptMessage, gone: Collection[str], texts: Mapping[str, str]) -> PromptMessage:
    content: list[PromptContent] = []
    for item in message.content:
        if not isinstance(item, PromptToolCall | PromptToolResult) or item.tool_call_id not in gone:
            content.append(item)
        elif isinstance(item, PromptToolCall) and item.tool_call_id in texts:
            content.append(PromptText(texts[item.tool_call_id]))
    if content == list(message.content):
        return message
    # What is left of the step no longer has what its thought led to.
    return message.replace(content=map(unlinked, content), provider_metadata=without_ids(message.provider_metadata))
