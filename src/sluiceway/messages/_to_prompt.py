"""From messages to a prompt."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from sluiceway._types import MISSING
from sluiceway.messages._box import copy_value
from sluiceway.messages._escape import SIGNAL_TAG, escape_tags, escape_value, signal_text, tag_escapes
from sluiceway.messages._jsonable import jsonable
from sluiceway.messages._media import FilePart, ImagePart
from sluiceway.messages._message import Message, SystemMessage
from sluiceway.messages._part import Part
from sluiceway.messages._parts import StepStartPart
from sluiceway.messages._prompt import Prompt
from sluiceway.messages._prompt_parts import (
    PromptContent,
    PromptFile,
    PromptImage,
    PromptMessage,
    PromptReasoning,
    PromptText,
    PromptToolCall,
    PromptToolResult,
)
from sluiceway.messages._text import ReasoningPart, TextPart
from sluiceway.messages._tool import ToolPart

__all__ = ["ToModelOutput", "build_prompt"]

ToModelOutput: TypeAlias = Callable[[Any], Any]
"""Turns a tool's result into what the model sees; None means the result itself."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def build_prompt(
    messages: Iterable[Message],
    system: Sequence[SystemMessage],
    tools: Mapping[str, ToModelOutput] | None = None,
) -> Prompt:
    """Return what a provider is to receive: system messages first, then the conversation.

    A reply becomes an assistant message per step, each followed by one tool message with the
    results of that step. Calls without a result are left out, but for a provider's own open
    call in the last message; so is whatever has nothing left to say.
    """
    items = list(messages)
    writer = _Writer(frozenset(_tags(items)), tools)
    out = [PromptMessage("system", (PromptText(item.text),)) for item in system]
    last = len(items) - 1
    while last >= 0 and items[last]._role == "signal":
        last -= 1
    position = 0
    while position < len(items):
        message = items[position]
        position += 1
        if message._role == "signal":
            out.append(_signal(message))
        elif message._role == "user":
            out += writer.cached(message)
        else:
            end = position
            while end < len(items) and items[end]._role == "signal":
                end += 1
            if end == position:
                out += writer.cached(message, is_last=position - 1 == last)
            else:
                out += writer.with_signals(message, items[position:end], is_last=position - 1 == last)
            position = end
    return Prompt(tuple(out))


def _tags(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        if message._role == "signal":
            tag, _ = _signal_fields(message)
            if tag != SIGNAL_TAG:
                yield tag


def _signal_fields(message: Message) -> tuple[str, Mapping[str, Any]]:
    found = message._metadata.peek().get("signal")
    fields = cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else _NOTHING
    attributes = fields.get("attributes")
    return (
        str(fields.get("tag_name") or SIGNAL_TAG),
        cast("Mapping[str, Any]", attributes) if isinstance(attributes, Mapping) else _NOTHING,
    )


def _signal(message: Message) -> PromptMessage:
    tag, attributes = _signal_fields(message)
    text = signal_text(message.text, tag, attributes)
    return PromptMessage("user", (PromptText(text),), message._id, message._source)


def _after_step(message: Message) -> int | None:
    found = message._metadata.peek().get("signal")
    step = cast("Mapping[str, Any]", found).get("after_step") if isinstance(found, Mapping) else None
    return step if isinstance(step, int) else None


class _Writer:
    """Writes messages; knows the tags that must not be forged and the tools of the run."""

    __slots__ = ("_tags", "_tools")

    def __init__(self, tags: frozenset[str], tools: Mapping[str, ToModelOutput] | None) -> None:
        self._tags = tags
        self._tools = tools or {}

    def cached(self, message: Message, *, is_last: bool = False) -> Sequence[PromptMessage]:
        """Return a message's part of the prompt, from last time where nobody can have changed it."""
        if message._seen is not None:
            return self.write(message, is_last=is_last)
        owner = message
        while owner._parts is None and owner._base is not None:
            owner = owner._base
            if owner._seen is not None:
                return self.write(message, is_last=is_last)
        kept = owner._cache
        if kept is not None and kept[0] == self._tags:
            return kept[1]
        out = self.write(message, is_last=is_last)
        if owner._armed and all(type(item) is PromptText for m in out for item in m.content):
            owner._cache = (self._tags, out)
        return out

    def with_signals(self, message: Message, signals: Sequence[Message], *, is_last: bool) -> list[PromptMessage]:
        """Write a reply with the signals sent during it, each after the step it was sent in."""
        steps = list(self.steps(message, is_last=is_last))
        out: list[PromptMessage] = []
        rest = list(signals)
        for i, step in enumerate(steps):
            out += step
            while rest and i < len(steps) - 1:
                after = _after_step(rest[0])
                if after is None or after > i:
                    break
                out.append(_signal(rest.pop(0)))
        return out + [_signal(signal) for signal in rest]

    def write(self, message: Message, *, is_last: bool = False) -> list[PromptMessage]:
        """Write one message."""
        if message._role == "user":
            content = self._user(message)
            return [self._message("user", content, message)] if content else []
        return [item for step in self.steps(message, is_last=is_last) for item in step]

    def steps(self, message: Message, *, is_last: bool) -> Iterator[list[PromptMessage]]:
        """Write a reply step by step."""
        step: list[Part] = []
        for part in message._peek():
            if type(part) is StepStartPart:
                yield self._step(message, step, is_last=is_last)
                step = []
            else:
                step.append(part)
        step += message._peek_attachments()
        yield self._step(message, step, is_last=is_last)

    def _step(self, message: Message, parts: Sequence[Part], *, is_last: bool) -> list[PromptMessage]:
        content: list[PromptContent] = []
        results: list[PromptContent] = []
        for part in parts:
            if isinstance(part, ToolPart):
                self._tool(part, content, results, is_last=is_last)
            else:
                item = self._plain(part)
                if item is not None and not (type(item) is PromptText and not item.text):
                    content.append(item)
        out: list[PromptMessage] = []
        if content:
            out.append(self._message("assistant", self._safe(content), message))
        if results:
            out.append(self._message("tool", results, message))
        return out

    def _tool(
        self, part: ToolPart, content: list[PromptContent], results: list[PromptContent], *, is_last: bool
    ) -> None:
        if part._state_name == "call" and not (part._provider_executed and is_last):
            return
        part._sync()
        metadata = _metadata(part)
        content.append(
            PromptToolCall(
                part._tool_call_id,
                part._tool_name,
                escape_value(jsonable(part._args.peek()), self._tags),
                part._provider_executed,
                metadata,
            )
        )
        if part._state_name == "call":
            return
        is_error = part._state_name == "error"
        output = part._error if is_error else self._output(part)
        result = PromptToolResult(
            part._tool_call_id,
            part._tool_name,
            escape_value(jsonable(output), self._tags),
            is_error,
            part._provider_executed,
            metadata,
        )
        (content if part._provider_executed else results).append(result)

    def _output(self, part: ToolPart) -> Any:
        output = MISSING if part._model_output is None else part._model_output.peek()
        if output is MISSING:
            shown = self._tools.get(part._tool_name)
            output = None if shown is None else shown(copy_value(part._result.peek()))
        return part._result.peek() if output is None else output

    def _user(self, message: Message) -> list[PromptContent]:
        parts = message._peek()
        attachments = message._peek_attachments()
        if len(parts) == 1 and type(parts[0]) is TextPart and not attachments:
            only = parts[0]
            return [PromptText(escape_tags(only.text, self._tags), _metadata(only))]
        spoken = [part for part in (*parts, *attachments) if not isinstance(part, ReasoningPart)]
        content = [item for part in spoken if (item := self._plain(part)) is not None]
        full = [item for item in content if not (type(item) is PromptText and not item.text)]
        return self._safe(full or content)

    def _plain(self, part: Part) -> PromptContent | None:
        if isinstance(part, ReasoningPart):
            return PromptReasoning(escape_tags(part.text, self._tags), _metadata(part))
        if isinstance(part, TextPart):
            return PromptText(part.text, _metadata(part))
        if isinstance(part, FilePart):
            kind = PromptImage if isinstance(part, ImagePart) else PromptFile
            source = part._source
            return kind(
                part._media_type,
                source if isinstance(source, bytes) else None,
                source if isinstance(source, str) else None,
                None if part._filename is None else escape_tags(part._filename, self._tags),
                _metadata(part),
            )
        return None

    def _safe(self, content: list[PromptContent]) -> list[PromptContent]:
        """Return the content with forged tags escaped, also one cut between two texts."""
        at = [i for i, item in enumerate(content) if type(item) is PromptText]
        texts = [cast("PromptText", content[i]).text for i in at]
        for i, old, new in zip(at, texts, tag_escapes(texts, self._tags), strict=True):
            if new != old:
                content[i] = PromptText(new, content[i].provider_metadata)
        return content

    @staticmethod
    def _message(role: Any, content: Collection[PromptContent], message: Message) -> PromptMessage:
        meta = message._meta
        kept = _NOTHING if meta is None else copy_value(meta.peek())
        return PromptMessage(role, tuple(content), message._id, message._source, kept)


def _metadata(part: Part) -> Mapping[str, Any]:
    return _NOTHING if part._meta is None else copy_value(part._meta.peek())
