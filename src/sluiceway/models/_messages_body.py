"""From a request to the body of an Anthropic Messages request."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, cast

from sluiceway.errors import MessageError
from sluiceway.messages import (
    PromptContent,
    PromptFile,
    PromptImage,
    PromptMessage,
    PromptReasoning,
    PromptText,
    PromptToolCall,
    PromptToolResult,
    output_text,
)
from sluiceway.models._body import Body, choice_of, options_for, schema_of
from sluiceway.models._port import ModelRequest
from sluiceway.models._settings import Settings

__all__ = ["messages_body"]

_EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})
_CHOICES = {"auto": "auto", "none": "none", "required": "any", "tool": "tool"}


def messages_body(request: ModelRequest, model_id: str, provider: str, settings: Settings, max_tokens: int) -> Body:
    """Return the body.

    Args:
        request: What is asked.
        model_id: As the provider calls it.
        provider: Whose options and metadata are looked at.
        settings: Of the request.
        max_tokens: Where the settings do not say; the API needs a number.

    Raises:
        ConfigurationError: A tool choice or a shape of the answer that cannot be asked for.
        MessageError: A file of a type that the API does not take.
    """
    body = Body()
    fields = body.fields
    fields["model"] = model_id
    fields["max_tokens"] = settings.max_tokens or max_tokens
    writer = _Writer(provider)
    if system := writer.system(request.prompt.messages):
        fields["system"] = system
    fields["messages"] = writer.messages(request.prompt.messages)
    fields["stream"] = True
    _add_settings(body, settings)
    _add_tools(body, request, settings)
    if request.structured_output is not None:
        _, schema = schema_of(request.structured_output)
        fields.setdefault("output_config", {})["format"] = {"type": "json_schema", "schema": schema}
    fields.update(options_for(provider, request.provider_options))
    return body


def _add_settings(body: Body, settings: Settings) -> None:
    for name in ("temperature", "top_p", "top_k"):
        value = getattr(settings, name)
        if value is not None:
            body.fields[name] = value
    if settings.stop is not None:
        body.fields["stop_sequences"] = [settings.stop] if isinstance(settings.stop, str) else list(settings.stop)
    effort = settings.reasoning_effort
    if effort in _EFFORTS:
        body.fields["output_config"] = {"effort": effort}
    elif effort is not None:
        body.warnings.append(f"reasoning_effort {effort!r} is not known to this provider and was left out")
    body.warnings += [
        f"{name} is not known to this provider and was left out"
        for name in ("seed", "presence_penalty", "frequency_penalty")
        if getattr(settings, name) is not None
    ]


def _add_tools(body: Body, request: ModelRequest, settings: Settings) -> None:
    tools = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
        for tool in request.tools
    ]
    choice = choice_of(request.tool_choice)
    if not tools:
        # The API refuses a history of tool calls without tools: those of the history, not to be called.
        tools = [{"name": name, "input_schema": {"type": "object"}} for name in _tools_called(request)]
        choice = ("none", "")
    if not tools:
        return
    body.fields["tools"] = tools
    wanted: dict[str, Any] = {}
    if choice is not None:
        wanted["type"] = _CHOICES[choice[0]]
        if choice[0] == "tool":
            wanted["name"] = choice[1]
    if settings.parallel_tool_calls is False and wanted.get("type") != "none":
        wanted = {"type": "auto", **wanted, "disable_parallel_tool_use": True}
    if wanted:
        body.fields["tool_choice"] = wanted


def _tools_called(request: ModelRequest) -> list[str]:
    names = [
        item.tool_name
        for message in request.prompt.messages
        for item in message.content
        if isinstance(item, PromptToolCall) and not item.provider_executed
    ]
    return list(dict.fromkeys(names))


class _Writer:
    """Writes the messages of a prompt as content blocks."""

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def system(self, prompt: tuple[PromptMessage, ...]) -> list[dict[str, Any]]:
        """Return the system messages, which the API takes apart from the others."""
        return [
            block
            for message in prompt
            if message.role == "system"
            for item in message.content
            for block in self._blocks(item)
        ]

    def messages(self, prompt: tuple[PromptMessage, ...]) -> list[dict[str, Any]]:
        """Return the messages; neighbours of one role become one."""
        written: list[dict[str, Any]] = []
        for message in prompt:
            if message.role == "system":
                continue
            role = "assistant" if message.role == "assistant" else "user"
            blocks = [block for item in message.content for block in self._blocks(item)]
            if not blocks:
                continue
            if written and written[-1]["role"] == role:
                written[-1]["content"] += blocks
            else:
                written.append({"role": role, "content": blocks})
        return written

    def _blocks(self, item: PromptContent) -> list[dict[str, Any]]:
        block = self._block(item)
        if block is None:
            return []
        mark = self._own(item).get("cache_control")
        return [{**block, "cache_control": mark} if mark else block]

    def _block(self, item: PromptContent) -> dict[str, Any] | None:
        if isinstance(item, PromptText):
            return {"type": "text", "text": item.text} if item.text else None
        if isinstance(item, PromptReasoning):
            return self._reasoning(item)
        if isinstance(item, PromptToolCall):
            kind = "server_tool_use" if item.provider_executed else "tool_use"
            given = cast("Mapping[str, Any]", item.args if isinstance(item.args, Mapping) else {})
            return {"type": kind, "id": item.tool_call_id, "name": item.tool_name, "input": dict(given)}
        if isinstance(item, PromptToolResult):
            return _result(item)
        return _file(item)

    def _reasoning(self, item: PromptReasoning) -> dict[str, Any] | None:
        """Write a thought with its signature; one without, which is another's, would be refused."""
        own = self._own(item)
        if "redacted_data" in own:
            return {"type": "redacted_thinking", "data": own["redacted_data"]}
        if "signature" in own:
            return {"type": "thinking", "thinking": item.text, "signature": own["signature"]}
        return None

    def _own(self, item: PromptContent) -> Mapping[str, Any]:
        own = item.provider_metadata.get(self._provider, {})
        return cast("Mapping[str, Any]", own) if isinstance(own, Mapping) else {}


def _result(item: PromptToolResult) -> dict[str, Any]:
    if item.provider_executed:
        kind = f"{item.tool_name}_tool_result"
        return {"type": kind, "tool_use_id": item.tool_call_id, "content": item.output}
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": item.tool_call_id,
        "content": output_text(item.output),
    }
    return {**block, "is_error": True} if item.is_error else block


def _file(item: PromptFile | PromptImage) -> dict[str, Any]:
    media_type, data, url = item.media_type, item.data, item.url
    if url is not None and url[:5].lower() == "data:":
        media_type, data, url = _taken_apart(url, media_type)
    if isinstance(item, PromptImage) or media_type.startswith("image/"):
        return {"type": "image", "source": _source(media_type, data, url)}
    if media_type.startswith("text/") and data is not None:
        text = data.decode("utf-8", "replace")
        return _document(item, {"type": "text", "media_type": "text/plain", "data": text})
    if media_type == "application/pdf" or url is not None:
        return _document(item, _source(media_type, data, url))
    raise MessageError(f"anthropic: files of type {media_type} are not taken; images, PDF and text are")


def _document(item: PromptFile | PromptImage, source: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "document", "source": source}
    return {**block, "title": item.filename} if item.filename else block


def _source(media_type: str, data: bytes | None, url: str | None) -> dict[str, Any]:
    if url is not None:
        return {"type": "url", "url": url}
    encoded = base64.b64encode(data or b"").decode("ascii")
    known = "image/png" if media_type == "image/*" else media_type
    return {"type": "base64", "media_type": known, "data": encoded}


def _taken_apart(url: str, media_type: str) -> tuple[str, bytes, None]:
    head, _, text = url[5:].partition(",")
    if not head.endswith(";base64"):
        raise MessageError("anthropic: a data URL must be in base64")
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise MessageError(f"anthropic: a data URL that is no base64: {error}") from None
    return head.split(";", 1)[0] or media_type, data, None
