"""`Prompt`: what a provider is about to receive, in no provider's own form."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sluiceway.messages._openai import openai_messages
from sluiceway.messages._prompt_parts import PromptContent, PromptMessage, PromptRole, PromptText

__all__ = ["Prompt"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a provider is about to receive.

    Args:
        messages: In the order in which they are sent, system messages first.
    """

    messages: tuple[PromptMessage, ...] = ()

    @property
    def text(self) -> str:
        """The texts of all messages, one per line."""
        return "\n".join([message.text for message in self.messages])

    def replace(self, messages: Iterable[PromptMessage]) -> Prompt:
        """Return a prompt with these messages."""
        return Prompt(tuple(messages))

    def map_text(self, fn: Callable[[str], str], roles: Iterable[PromptRole] | None = None) -> Prompt:
        """Return a prompt whose texts went through a function.

        Args:
            fn: Text to text; where nothing changes, the prompt itself is returned.
            roles: Only messages of these roles; None: all.
        """
        wanted = None if roles is None else frozenset(roles)
        messages = [
            message if wanted is not None and message.role not in wanted else _mapped(message, fn)
            for message in self.messages
        ]
        if all(new is old for new, old in zip(messages, self.messages, strict=True)):
            return self
        return Prompt(tuple(messages))

    def to_openai(self) -> list[dict[str, Any]]:
        """Return the messages as the OpenAI chat API takes them."""
        return openai_messages(self)


def _mapped(message: PromptMessage, fn: Callable[[str], str]) -> PromptMessage:
    content: list[PromptContent] = []
    changed = False
    for item in message.content:
        if isinstance(item, PromptText):
            text = fn(item.text)
            if text != item.text:
                changed = True
                content.append(dataclasses.replace(item, text=text))
                continue
        content.append(item)
    return message.replace(content=content) if changed else message
