"""The rules of `ProviderHistoryCompat`: what providers do not take in a history, and the remedy."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from sluiceway.errors import ConfigurationError, ModelError
from sluiceway.messages import (
    Message,
    Part,
    Prompt,
    PromptContent,
    PromptMessage,
    PromptReasoning,
    ReasoningPart,
    StepStartPart,
    ToolPart,
)
from sluiceway.models import Model
from sluiceway.processors.context._item_ids import unlinked, without_ids

__all__ = ["BUILT_IN", "HistoryRule"]

Fix = Callable[[Sequence[Message]], bool | None]
Apply = Callable[[Prompt, Model], Prompt]


@dataclass(frozen=True, slots=True)
class HistoryRule:
    """What a provider does not take in a history, and the remedy.

    Args:
        name: Unique among the rules of a processor.
        error_patterns: Texts (in any case) or patterns in an error that say that this is the
            trouble. Then `fix` is called.
        fix: Mends the messages in place; returns False where it changed nothing.
        apply_to_prompt: Called before every request with the prompt and the model; returns
            the prompt to send, the same one if nothing is to be done.

    Raises:
        ConfigurationError: No name, neither remedy, or a `fix` without a pattern.
    """

    name: str
    error_patterns: Sequence[str | re.Pattern[str]] = ()
    fix: Fix | None = None
    apply_to_prompt: Apply | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"a HistoryRule needs a name, not {self.name!r}")
        if self.fix is None and self.apply_to_prompt is None:
            raise ConfigurationError(f"rule {self.name!r} does nothing: give it fix= or apply_to_prompt=")
        if (self.fix is not None) != bool(self.error_patterns) or isinstance(self.error_patterns, str):
            raise ConfigurationError(f"rule {self.name!r}: fix= and a list of error_patterns go together")

    def is_about(self, error: ModelError) -> bool:
        """Whether an error says that this is the trouble."""
        text = f"{error} {error.body or ''}"
        return any(
            pattern.lower() in text.lower() if isinstance(pattern, str) else pattern.search(text)
            for pattern in self.error_patterns
        )


# --- tool-call ids

_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")


def _plain_ids(messages: Sequence[Message]) -> bool:
    """Give every call an id of letters, digits, `_` and `-` only; the result is in the same part."""
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolPart)]
    taken = {part.tool_call_id for part in parts}
    changed = False
    for part in parts:
        old = part.tool_call_id
        plain = _ODD.sub("_", old) or "call"
        if plain == old:
            continue
        number = 1
        new = plain
        while new in taken:
            number += 1
            new = f"{plain}_{number}"
        taken.add(new)
        part.tool_call_id = new
        changed = True
    return changed


# --- reasoning


def _provider(model: Model) -> str:
    return model.provider.lower()


def _is_cerebras(model: Model) -> bool:
    return "cerebras" in _provider(model)


def _is_azure(model: Model) -> bool:
    return "azure" in _provider(model)


def _takes_signatures(model: Model) -> bool:
    """Whether a model speaks Anthropic's protocol, where a thought must carry its signature."""
    return "anthropic" in _provider(model)


def _without_reasoning(prompt: Prompt, drop: Callable[[PromptReasoning], bool]) -> Prompt:
    """Return a prompt without some reasoning, and without the item ids that go with it."""
    messages: list[PromptMessage] = []
    changed = False
    for message in prompt.messages:
        kept = [item for item in message.content if not (isinstance(item, PromptReasoning) and drop(item))]
        if len(kept) == len(message.content):
            messages.append(message)
            continue
        changed = True
        if kept:
            metadata = without_ids(message.provider_metadata)
            messages.append(message.replace(content=map(unlinked, kept), provider_metadata=metadata))
    return prompt.replace(messages) if changed else prompt


def _no_reasoning(prompt: Prompt, model: Model) -> Prompt:
    return _without_reasoning(prompt, lambda _: True) if _is_cerebras(model) else prompt


def _own_reasoning(prompt: Prompt, model: Model) -> Prompt:
    """Leave out reasoning that another provider sent; where signatures count, also what nobody signed."""
    provider, signed = model.provider, _takes_signatures(model)

    def foreign(item: PromptReasoning) -> bool:
        return provider not in item.provider_metadata and (signed or bool(item.provider_metadata))

    prompt = _without_reasoning(prompt, foreign)
    return _without_signatures(prompt, provider) if signed else prompt


def _without_signatures(prompt: Prompt, provider: str) -> Prompt:
    """Leave out the signatures of other providers, wherever they are."""
    messages = [_own_signatures(message, provider) for message in prompt.messages]
    same = all(new is old for new, old in zip(messages, prompt.messages, strict=True))
    return prompt if same else prompt.replace(messages)


def _own_signatures(message: PromptMessage, provider: str) -> PromptMessage:
    content: list[PromptContent] = []
    changed = False
    for item in message.content:
        kept = {key: value for key, value in item.provider_metadata.items() if key == provider or not _signs(value)}
        if len(kept) != len(item.provider_metadata):
            item = dataclasses.replace(item, provider_metadata=kept)  # noqa: PLW2901 - the same item without it
            changed = True
        content.append(item)
    return message.replace(content=content) if changed else message


def _signs(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    return any("signature" in str(key).lower() for key in cast("Mapping[Any, Any]", value))


# --- item ids of OpenAI's Responses API


def _drop_orphan_ids(messages: Sequence[Message]) -> bool:
    """Drop the item ids of steps that lack their reasoning, or whose reasoning lacks what it led to."""
    changed = False
    for message in messages:
        if message.role != "assistant":
            continue
        orphans = [part for step in _steps(message.parts) if _is_orphan(step) for part in step]
        for part in orphans:
            bare = without_ids(part.provider_metadata)
            if bare is not part.provider_metadata:
                part.provider_metadata = dict(bare)
                changed = True
        if orphans and (bare := without_ids(message.provider_metadata)) is not message.provider_metadata:
            message.provider_metadata = dict(bare)
            changed = True
    return changed


def _steps(parts: Iterable[Part]) -> list[list[Part]]:
    steps: list[list[Part]] = [[]]
    for part in parts:
        if isinstance(part, StepStartPart):
            steps.append([])
        else:
            steps[-1].append(part)
    return steps


def _is_orphan(step: Sequence[Part]) -> bool:
    thoughts = [part for part in step if isinstance(part, ReasoningPart)]
    return not thoughts or len(thoughts) == len(step) or isinstance(step[-1], ReasoningPart)


# --- tags

_REMINDER: Final = re.compile(r"<(/?)system-reminder(?=[\s>/])", re.IGNORECASE)


def _renamed_tags(prompt: Prompt, model: Model) -> Prompt:
    """Call a signal by another tag, since Azure's filter takes `<system-reminder>` for an attack."""
    if not _is_azure(model):
        return prompt
    return prompt.map_text(lambda text: _REMINDER.sub(r"<\1context-note", text), roles=("user",))


BUILT_IN: Final[tuple[HistoryRule, ...]] = (
    HistoryRule(
        "anthropic-tool-ids",
        error_patterns=(
            re.compile(r"tool_use(?:_id|\.id|\b.*\bid\b)", re.IGNORECASE),
            re.compile(r"tool.{0,20}\bid.{0,80}(?:pattern|match)", re.IGNORECASE),
            re.compile(r"match pattern.{0,10}\[a-zA-Z0-9_-\]", re.IGNORECASE),
        ),
        fix=_plain_ids,
    ),
    HistoryRule("cerebras-no-reasoning", apply_to_prompt=_no_reasoning),
    HistoryRule("own-reasoning", apply_to_prompt=_own_reasoning),
    HistoryRule("azure-reminder-tag", apply_to_prompt=_renamed_tags),
    HistoryRule(
        "openai-orphan-items",
        error_patterns=(
            re.compile(r"without its required.{0,30}item", re.IGNORECASE),
            re.compile(r"\bitem\b.{0,120}\bof type\b.{0,120}\b(?:reasoning|required|not found)", re.IGNORECASE),
            re.compile(r"\bitem with id\b.{0,120}\bnot found", re.IGNORECASE),
        ),
        fix=_drop_orphan_ids,
    ),
)
"""The rules that every `ProviderHistoryCompat` has, in the order in which they are tried."""
