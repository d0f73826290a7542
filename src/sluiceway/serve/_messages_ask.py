"""A request of Anthropic's Messages, read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from sluiceway.agent import CallOptions
from sluiceway.serve._ask import Ask, check_settings, checked_part, client_tool, read
from sluiceway.serve._refusal import Refusal
from sluiceway.tools import Tool

__all__ = ["messages_ask"]

_CHOICES: Final = {"auto": "auto", "any": "required", "none": "none"}
_BLOCKS: Final = frozenset({"text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking"})


class _Loose(BaseModel):
    model_config = ConfigDict(extra="allow")


class _ToolSpec(_Loose):
    name: str
    type: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class _Turn(_Loose):
    role: str
    content: str | list[dict[str, Any]]


class _TextBlock(_Loose):
    type: str
    text: str


class _MessagesBody(_Loose):
    model: str = ""
    messages: list[_Turn] = Field(min_length=1)
    max_tokens: int
    system: str | list[_TextBlock] | None = None
    stream: bool | None = None
    tools: list[_ToolSpec] | None = None
    tool_choice: dict[str, Any] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None


def messages_ask(body: bytes) -> Ask:
    """Return what a body of Messages asks for.

    Raises:
        Refusal: It cannot be read, or asks for what cannot be done.
    """
    given = read(_MessagesBody, body)
    passed: dict[str, Any] = dict(given.model_extra or {})
    settings: dict[str, Any] = {"max_tokens": given.max_tokens}
    for name in ("temperature", "top_p", "top_k"):
        if getattr(given, name) is not None:
            settings[name] = getattr(given, name)
    if given.stop_sequences:
        settings["stop"] = given.stop_sequences
    check_settings(settings)
    options: CallOptions = {"model_settings": settings}
    _add_choice(options, settings, given.tool_choice)
    if given.thinking is not None:
        passed["thinking"] = given.thinking
    if given.output_config is not None:
        passed["output_config"] = given.output_config
        shape = given.output_config.get("format")
        if isinstance(shape, Mapping) and "schema" in shape:
            options["structured_output"] = cast("Mapping[str, Any]", shape["schema"])
    return Ask(
        given.model,
        _messages(given),
        tools=tuple(_tools(given.tools or [])),
        options=options,
        passed=passed,
        stream=bool(given.stream),
        include_usage=True,
        reasoning=(given.thinking or {}).get("type", "disabled") != "disabled",
    )


def _messages(given: _MessagesBody) -> list[dict[str, Any]]:
    system = given.system
    texts = [system] if isinstance(system, str) else [block.text for block in system or ()]
    messages: list[dict[str, Any]] = [{"role": "system", "content": text} for text in texts if text]
    for number, turn in enumerate(given.messages):
        content = turn.content
        if not isinstance(content, str):
            content = [_block(block, f"messages.{number}.content.{at}") for at, block in enumerate(content)]
        messages.append({"role": turn.role, "content": content})
    return messages


def _block(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a block with what only its API knows of it where an adapter for that API looks for it."""
    block = dict(checked_part(given, _BLOCKS, where))
    if block["type"] == "document":
        block = _document(block, where)
    kept: dict[str, Any] = {}
    if block.get("cache_control"):
        kept["cache_control"] = block["cache_control"]
    if block.get("type") == "redacted_thinking":
        data = block.get("data")
        if not isinstance(data, str):
            raise Refusal(400, f"{where}: a redacted_thinking block has its data, a text", param=where)
        return {"type": "reasoning", "text": "", "provider_metadata": {"anthropic": {"redacted_data": data}}}
    if kept and block["type"] != "tool_result":
        return {**block, "provider_metadata": {"anthropic": kept}}
    return block


def _document(block: dict[str, Any], where: str) -> dict[str, Any]:
    """Return a document as what it is made of: one of plain text is text, and looked at as such."""
    given = block.get("source")
    source: Mapping[str, Any] = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
    kind = source.get("type")
    if kind == "text" and isinstance(source.get("data"), str):
        return {**block, "type": "text", "text": source["data"]}
    if kind not in ("base64", "url"):
        text = f"{where}: the source of a document is base64, url, or text"
        raise Refusal(400, text, code="unsupported_content", param=where)
    return block


def _tools(specs: list[_ToolSpec]) -> list[Tool]:
    tools: dict[str, Tool] = {}
    for number, spec in enumerate(specs):
        where = f"tools.{number}"
        if spec.type not in (None, "custom"):
            raise Refusal(400, f"{where}: only tools of the client's own can be passed through", param=where)
        if spec.name in tools:
            raise Refusal(400, f"{where}: there are two tools {spec.name!r}", param=where)
        tools[spec.name] = client_tool(spec.name, spec.description, spec.input_schema, where)
    return list(tools.values())


def _add_choice(options: CallOptions, settings: dict[str, Any], choice: Mapping[str, Any] | None) -> None:
    if choice is None:
        return
    kind = choice.get("type")
    if kind == "tool" and isinstance(choice.get("name"), str):
        options["tool_choice"] = {"type": "tool", "tool_name": choice["name"]}
    elif isinstance(kind, str) and kind in _CHOICES:
        options["tool_choice"] = _CHOICES[kind]
    else:
        raise Refusal(400, "tool_choice: of type auto, any, none, or tool with a name", param="tool_choice")
    if choice.get("disable_parallel_tool_use"):
        settings["parallel_tool_calls"] = False
