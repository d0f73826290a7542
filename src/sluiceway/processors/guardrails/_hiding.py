"""Values kept out of a prompt that a vault has placeholders for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from sluiceway.messages import (
    Prompt,
    PromptContent,
    PromptMessage,
    PromptReasoning,
    PromptText,
    PromptToolCall,
    PromptToolResult,
)
from sluiceway.processors.guardrails._values import rewrite_value

__all__ = ["hidden_prompt"]


def hidden_prompt(prompt: Prompt, hide: Callable[[str], str]) -> Prompt | None:
    """Return a prompt whose texts, calls and results went through a function; None if nothing changed."""
    messages = [_message(message, hide) for message in prompt.messages]
    if all(new is old for new, old in zip(messages, prompt.messages, strict=True)):
        return None
    return prompt.replace(messages)


def _message(message: PromptMessage, hide: Callable[[str], str]) -> PromptMessage:
    content = [_content(item, hide) for item in message.content]
    if all(new is old for new, old in zip(content, message.content, strict=True)):
        return message
    return message.replace(content=content)


def _content(item: PromptContent, hide: Callable[[str], str]) -> PromptContent:
    def rewrite(text: str, _: Any) -> str:
        return hide(text)

    if isinstance(item, PromptText | PromptReasoning):
        text = hide(item.text)
        return item if text == item.text else dataclasses.replace(item, text=text)
    if isinstance(item, PromptToolCall):
        args = rewrite_value(item.args, rewrite)
        return item if args is item.args else dataclasses.replace(item, args=args)
    if isinstance(item, PromptToolResult):
        output = rewrite_value(item.output, rewrite)
        return item if output is item.output else dataclasses.replace(item, output=output)
    return item
