"""From a request to the body of a Chat Completions request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, cast

from sluiceway.messages import (
    Prompt,
    PromptMessage,
    PromptReasoning,
    PromptToolCall,
    openai_messages,
    output_text,
)
from sluiceway.models._body import Body, choice_of, options_for, schema_of
from sluiceway.models._port import ModelRequest
from sluiceway.models._providers import ChatQuirks
from sluiceway.models._settings import Settings
from sluiceway.tools import Tool

__all__ = ["chat_body"]


def chat_body(request: ModelRequest, model_id: str, provider: str, settings: Settings, quirks: ChatQuirks) -> Body:
    """Return the body.

    Args:
        request: What is asked.
        model_id: As the provider calls it.
        provider: Whose options and metadata are looked at.
        settings: Of the request.
        quirks: Of the server.

    Raises:
        ConfigurationError: A tool choice or a shape of the answer that cannot be asked for.
    """
    body = Body()
    messages = _Messages(provider, quirks).messages(request.prompt)
    body.fields = {"model": model_id, "messages": messages, "stream": True}
    if quirks.usage_option:
        body.fields["stream_options"] = {"include_usage": True}
    _add_settings(body, settings, quirks)
    _add_tools(body, request, settings, quirks)
    _add_shape(body, request, quirks)
    body.fields.update(options_for(provider, request.provider_options))
    return body


def _add_settings(body: Body, settings: Settings, quirks: ChatQuirks) -> None:
    names = {
        "temperature": "temperature",
        "top_p": "top_p",
        "max_tokens": quirks.max_tokens,
        "stop": "stop",
        "seed": quirks.seed,
        "presence_penalty": "presence_penalty",
        "frequency_penalty": "frequency_penalty",
        "reasoning_effort": "reasoning_effort",
    }
    if quirks.top_k:
        names["top_k"] = "top_k"
    elif settings.top_k is not None:
        body.warnings.append("top_k is not known to this provider and was left out")
    for name, theirs in names.items():
        value = getattr(settings, name)
        if value is not None:
            body.fields[theirs] = value


def _add_tools(body: Body, request: ModelRequest, settings: Settings, quirks: ChatQuirks) -> None:
    tools = [{"type": "function", "function": _function(tool)} for tool in request.tools]
    if tools:
        body.fields["tools"] = tools
        if settings.parallel_tool_calls is not None:
            body.fields["parallel_tool_calls"] = settings.parallel_tool_calls
    choice = choice_of(request.tool_choice)
    if choice is None or not (tools or (choice[0] == "none" and quirks.bare_tool_choice)):
        return
    kind, name = choice
    if kind == "tool":
        body.fields["tool_choice"] = {"type": "function", "function": {"name": name}}
    else:
        body.fields["tool_choice"] = quirks.required_choice if kind == "required" else kind


def _function(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _add_shape(body: Body, request: ModelRequest, quirks: ChatQuirks) -> None:
    if request.structured_output is None:
        return
    name, schema = schema_of(request.structured_output)
    if quirks.structured == "json_schema":
        wanted = {"name": name, "schema": schema, "strict": _is_strict(schema)}
        body.fields["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return
    if quirks.structured == "json_object":
        body.fields["response_format"] = {"type": "json_object"}
    # Such a server is told the shape in words.
    text = f"Answer with one JSON object, and nothing else, that fits this JSON schema:\n{output_text(schema)}"
    body.fields["messages"] = [{"role": "system", "content": text}, *body.fields["messages"]]


def _is_strict(schema: object) -> bool:
    """Whether OpenAI takes a schema as strict: every object is closed and all its names are required."""
    if isinstance(schema, list):
        return all(_is_strict(item) for item in cast("list[object]", schema))
    if not isinstance(schema, Mapping):
        return True
    fields = cast("Mapping[str, Any]", schema)
    if fields.get("type") == "object":
        names: Mapping[str, Any] = fields.get("properties", {})
        if fields.get("additionalProperties") is not False or set(fields.get("required", ())) != set(names):
            return False
    return all(_is_strict(value) for value in fields.values())


class _Messages:
    """Writes the messages of a prompt, as the quirks of a server have it."""

    def __init__(self, provider: str, quirks: ChatQuirks) -> None:
        self._provider = provider
        self._quirks = quirks

    def messages(self, prompt: Prompt) -> list[dict[str, Any]]:
        """Return the messages."""
        written: list[dict[str, Any]] = []
        for message in prompt.messages:
            entries = openai_messages(Prompt((message,)))
            if message.role == "assistant" and entries:
                self._add_what_is_theirs(entries[0], message)
            written += entries
        if self._quirks.tool_id_chars is not None:
            _shorten_ids(written, self._quirks.tool_id_chars)
        return written

    def _add_what_is_theirs(self, entry: dict[str, Any], message: PromptMessage) -> None:
        """Give reasoning and marks back to the provider that sent them."""
        thoughts = [item for item in message.content if isinstance(item, PromptReasoning)]
        if thoughts and self._quirks.reasoning_field is not None:
            entry[self._quirks.reasoning_field] = "".join(item.text for item in thoughts)
        if self._quirks.reasoning_details:
            details = [detail for item in thoughts for detail in self._own(item).get("reasoning_details", ())]
            if details:
                entry["reasoning_details"] = details
        calls = [item for item in message.content if isinstance(item, PromptToolCall)]
        for call, written in zip(calls, entry.get("tool_calls", ()), strict=bool(calls)):
            if extra := self._own(call).get("extra_content"):
                written["extra_content"] = extra

    def _own(self, item: PromptReasoning | PromptToolCall) -> Mapping[str, Any]:
        own = item.provider_metadata.get(self._provider, {})
        return cast("Mapping[str, Any]", own) if isinstance(own, Mapping) else {}


def _shorten_ids(written: list[dict[str, Any]], chars: int) -> None:
    """Give every call an id of the length that the server asks for, the same one to its result."""
    for entry in written:
        if "tool_call_id" in entry:
            entry["tool_call_id"] = _short_id(entry["tool_call_id"], chars)
        for call in entry.get("tool_calls", ()):
            call["id"] = _short_id(call["id"], chars)


def _short_id(given: str, chars: int) -> str:
    if len(given) == chars and given.isalnum() and given.isascii():
        return given
    return hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:chars]
