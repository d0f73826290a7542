"""How many tokens a prompt is: texts are counted once, media at a flat rate."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from operator import is_
from typing import Any, Final, cast

from sluiceway.messages import (
    PromptContent,
    PromptFile,
    PromptImage,
    PromptMessage,
    PromptReasoning,
    PromptText,
    PromptToolCall,
    PromptToolResult,
    jsonable,
)
from sluiceway.processors.context._token_counter import TokenCounter
from sluiceway.tools import Tool

__all__ = ["CONVERSATION_TOKENS", "MESSAGE_TOKENS", "TokenCounts"]

MESSAGE_TOKENS: Final = 3.8
"""What a message costs besides its content."""
CONVERSATION_TOKENS: Final = 24
"""What a conversation costs besides its messages."""

_IMAGE_TOKENS: Final = 765
_MEDIA_TOKENS: Final = 258
_MEDIA_BYTES: Final = 50_000
"""About a page of a scanned document, which is what `_MEDIA_TOKENS` stands for."""

_URL_HEAD: Final = r"data:([\w.+-]{1,100}/[\w.+-]{1,100})?(?:;[^;,\s]{0,100}){0,5}?;base64,"
_DATA_URL: Final = re.compile(_URL_HEAD, re.IGNORECASE)
_LEAST_CHARS: Final = 512
_BASE64: Final = re.compile(
    rf"(?:{_URL_HEAD})?"
    r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{60,}+(?:\r?\n|(?:\\r)?\\n)?)++[A-Za-z0-9+/_-]*+={0,2}"
)
"""Base64 within a text: with or without a data URL's head, in lines or not, also within JSON."""

_TYPE_NAMES: Final = ("media_type", "mediaType", "mime_type", "mimeType")
_DATA_NAMES: Final = ("data", "url", "base64", "image", "image_url", "file_data", "blob", "bytes")


class TokenCounts:
    """Counts, and remembers what it has counted; one per run.

    Args:
        counter: What texts are counted with.
    """

    __slots__ = ("_before", "_counter", "_texts", "_tools")

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._before: tuple[Sequence[PromptMessage], list[float]] = ((), [])
        self._texts: dict[str, float] = {}
        self._tools: dict[Tool, float] = {}

    def text(self, text: str) -> float:
        """Return the tokens of a text."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = self._counter.count(text)
        return known

    def messages(self, messages: Sequence[PromptMessage]) -> list[float]:
        """Return the tokens of each message.

        Most are the same objects as in the prompt before, or one text that is known: for
        these this is a comparison or a look-up.
        """
        old, known = self._before
        if len(messages) >= len(old) and all(map(is_, messages, old)):
            counts = known + self._fresh(messages[len(old) :])
        else:
            counts = self._fresh(messages)
        self._before = (messages, counts)
        return counts

    def _fresh(self, messages: Sequence[PromptMessage]) -> list[float]:
        texts = self._texts
        counts: list[float] = []
        add = counts.append
        for message in messages:
            content = message.content
            if len(content) == 1:
                only = content[0]
                if type(only) is PromptText:
                    known = texts.get(only.text)
                    add((self.text(only.text) if known is None else known) + MESSAGE_TOKENS)
                    continue
            add(self.message(message))
        return counts

    def message(self, message: PromptMessage) -> float:
        """Return the tokens of one message."""
        return MESSAGE_TOKENS + sum(self._content(item) for item in message.content)

    def tools(self, tools: Iterable[Tool]) -> float:
        """Return the tokens of the definitions of tools."""
        return sum(self._tool(tool) for tool in tools)

    def _tool(self, tool: Tool) -> float:
        known = self._tools.get(tool)
        if known is None:
            fields = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
            known = self._tools[tool] = self.text(_json(fields))
        return known

    def _content(self, item: PromptContent) -> float:
        if isinstance(item, PromptText | PromptReasoning):
            return self.text(item.text)
        if isinstance(item, PromptToolCall):
            return self.text(item.tool_name) + self._value(item.args)
        if isinstance(item, PromptToolResult):
            return self._value(item.output)
        return self._file(item)

    def _file(self, item: PromptFile | PromptImage) -> float:
        if isinstance(item, PromptImage):
            return _IMAGE_TOKENS
        if item.data is not None and item.media_type.startswith("text/"):
            return self.text(item.data.decode("utf-8", "replace"))
        if item.data is not None:
            return _media(item.media_type, len(item.data))
        return _by_url(item.media_type, item.url or "")

    def _value(self, value: Any) -> float:
        media: list[float] = []
        left = _without_media(jsonable(value) if not isinstance(value, str) else value, media)
        text = left if isinstance(left, str) else _json(left)
        return self.text(text) + sum(media)


def _media(media_type: str, size: int) -> float:
    if media_type.startswith("image/"):
        return _IMAGE_TOKENS
    return _MEDIA_TOKENS * max(1, ceil(size / _MEDIA_BYTES))


def _by_url(media_type: str, url: str) -> float:
    """Return the flat rate for a URL; one that holds the data says how much there is."""
    found = _DATA_URL.match(url)
    if found is None:
        return _media(media_type, 0)
    return _media(found[1] or media_type, (len(url) - found.end()) * 3 // 4)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _without_media(value: Any, media: list[float]) -> Any:
    """Return a value without what is no text in it; the flat rates for that go to `media`."""
    if isinstance(value, str):
        if _DATA_URL.match(value):
            media.append(_by_url("application/octet-stream", value))
            return ""
        return _BASE64.sub(lambda found: _flat(found[0], media), value) if len(value) >= _LEAST_CHARS else value
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        if (kind := _media_type(fields)) is not None:
            return _without_data(fields, kind, media)
        return {key: _without_media(item, media) for key, item in fields.items()}
    if isinstance(value, list):
        return [_without_media(item, media) for item in cast("list[Any]", value)]
    return value


def _flat(found: str, media: list[float]) -> str:
    """Return what is left of base64; a short piece is no media, but a digest or a key."""
    if len(found) < _LEAST_CHARS:
        return found
    is_url = _DATA_URL.match(found) is not None
    kind = "application/octet-stream"
    media.append(_by_url(kind, found) if is_url else _media(kind, len(found) * 3 // 4))
    return ""


def _media_type(fields: Mapping[str, Any]) -> str | None:
    """Return the type of the media that a mapping is, or None where it is none."""
    named = next((fields[name] for name in _TYPE_NAMES if isinstance(fields.get(name), str)), None)
    if named is None and fields.get("type") in ("image", "image_url", "input_image", "image-data", "image-url"):
        named = "image/*"
    if named is None or not any(name in fields for name in _DATA_NAMES):
        return None
    return named if not named.startswith("text/") else None


def _without_data(fields: Mapping[str, Any], kind: str, media: list[float]) -> dict[str, Any]:
    data = next(fields[name] for name in _DATA_NAMES if name in fields)
    size = len(data) * 3 // 4 if isinstance(data, str) and "://" not in data[:16] else 0
    media.append(_media(kind, size))
    return {key: value for key, value in fields.items() if key not in _DATA_NAMES}
