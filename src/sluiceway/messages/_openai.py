"""Prompts as the OpenAI chat API takes them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any, Final, Protocol

from sluiceway.errors import MessageError
from sluiceway.messages._jsonable import jsonable
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

__all__ = ["openai_messages", "output_text"]

_AUDIO: Final = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class _Messages(Protocol):
    @property
    def messages(self) -> tuple[PromptMessage, ...]: ...


def openai_messages(prompt: _Messages) -> list[dict[str, Any]]:
    """Return the messages of a prompt as dicts of the OpenAI chat API.

    Reasoning is left out, and so is provider metadata, for which that API has no place. What
    a provider ran itself becomes an ordinary call and its result; while it still runs, nothing.

    Args:
        prompt: A `Prompt`, or anything with its `messages`.
    """
    out: list[dict[str, Any]] = []
    for message in prompt.messages:
        if message.role == "assistant":
            out += _assistant(message)
        elif message.role == "tool":
            out += [_result(item) for item in message.content if isinstance(item, PromptToolResult)]
        else:
            out.append({"role": message.role, "content": _content(message.content)})
    return out


def output_text(output: Any) -> str:
    """Return a tool's output as text: a str as it is, anything else as JSON.

    Args:
        output: What a tool returned.
    """
    if isinstance(output, str):
        return output
    try:
        return json.dumps(jsonable(output), ensure_ascii=False)
    except RecursionError as error:
        raise MessageError("A tool's result is nested too deep to be sent.") from error


def _assistant(message: PromptMessage) -> list[dict[str, Any]]:
    texts = [item.text for item in message.content if isinstance(item, PromptText)]
    answered = {item.tool_call_id for item in message.content if isinstance(item, PromptToolResult)}
    calls = [
        _call(item)
        for item in message.content
        if isinstance(item, PromptToolCall) and (not item.provider_executed or item.tool_call_id in answered)
    ]
    if not texts and not calls:
        return []
    entry: dict[str, Any] = {"role": "assistant", "content": "".join(texts) if texts else None}
    if calls:
        entry["tool_calls"] = calls
    return [entry, *[_result(item) for item in message.content if isinstance(item, PromptToolResult)]]


def _call(item: PromptToolCall) -> dict[str, Any]:
    arguments = json.dumps(jsonable(item.args), ensure_ascii=False)
    return {
        "id": item.tool_call_id,
        "type": "function",
        "function": {"name": item.tool_name, "arguments": arguments},
    }


def _result(item: PromptToolResult) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": item.tool_call_id, "content": output_text(item.output)}


def _content(content: Iterable[PromptContent]) -> Any:
    items = list(content)
    if all(isinstance(item, PromptText) for item in items):
        if len(items) == 1 and isinstance(items[0], PromptText):
            return items[0].text
        return [{"type": "text", "text": item.text} for item in items if isinstance(item, PromptText)]
    return [entry for item in items if (entry := _entry(item)) is not None]


def _entry(item: PromptContent) -> dict[str, Any] | None:
    if isinstance(item, PromptText):
        return {"type": "text", "text": item.text}
    if isinstance(item, PromptImage):
        image: dict[str, Any] = {"url": _url(item)}
        detail = item.provider_metadata.get("openai", {}).get("detail")
        if detail is not None:
            image["detail"] = detail
        return {"type": "image_url", "image_url": image}
    if isinstance(item, PromptFile):
        return _file(item)
    if isinstance(item, PromptReasoning):
        return None
    return None


def _file(item: PromptFile) -> dict[str, Any]:
    sound = _AUDIO.get(item.media_type)
    url = _url(item)
    if sound is not None and url.startswith("data:"):
        return {"type": "input_audio", "input_audio": {"data": url.partition(",")[2], "format": sound}}
    return {"type": "file", "file": {"file_data": url, "filename": item.filename or "file"}}


def _url(item: PromptFile | PromptImage) -> str:
    if item.url is not None:
        return item.url
    media_type = "image/png" if item.media_type == "image/*" else item.media_type
    return f"data:{media_type};base64,{base64.b64encode(item.data or b'').decode('ascii')}"
