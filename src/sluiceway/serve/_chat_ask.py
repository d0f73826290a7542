"""A request of Chat Completions, read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from sluiceway.agent import CallOptions
from sluiceway.serve._ask import Ask, check_settings, checked_part, client_tool, read
from sluiceway.serve._refusal import Refusal
from sluiceway.tools import Tool

__all__ = ["chat_ask"]

_SETTINGS: Final = (
    "temperature",
    "top_p",
    "seed",
    "stop",
    "presence_penalty",
    "frequency_penalty",
    "reasoning_effort",
    "parallel_tool_calls",
)
_UNSUPPORTED: Final = {
    "logprobs": "the log probabilities of a text that guardrails may change are not told",
    "top_logprobs": "the log probabilities of a text that guardrails may change are not told",
    "audio": "sound cannot be checked; ask for text",
    "functions": "functions are an older form; use tools",
    "function_call": "function_call is an older form; use tool_choice",
    "prediction": "a text outside of the messages would pass by the guards",
    "documents": "texts outside of the messages would pass by the guards; put them into a message",
    "chat_template": "a text outside of the messages would pass by the guards",
}
"""What cannot be done, and would be missed if it were passed over."""
_FIELDS: Final = ("role", "content", "name", "tool_calls", "tool_call_id")
"""Of a message. What else a message of ours may have, such as its id and time, is not a client's to say."""
_PARTS: Final = frozenset({"text", "image_url", "input_audio", "file", "refusal"})
_CHOICES: Final = frozenset({"auto", "none", "required"})


class _Loose(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Function(_Loose):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _ToolSpec(_Loose):
    type: str = "function"
    function: _Function | None = None


class _JsonSchema(_Loose):
    name: str = "answer"
    schema_: dict[str, Any] | None = Field(None, alias="schema")


class _Format(_Loose):
    type: str
    json_schema: _JsonSchema | None = None


class _StreamOptions(_Loose):
    include_usage: bool | None = None


class _ChatBody(_Loose):
    model: str = ""
    messages: list[dict[str, Any]] = Field(min_length=1)
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    n: int | None = None
    tools: list[_ToolSpec] | None = None
    tool_choice: str | dict[str, Any] | None = None
    response_format: _Format | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    reasoning_effort: str | None = None
    parallel_tool_calls: bool | None = None


def chat_ask(body: bytes) -> Ask:
    """Return what a body of Chat Completions asks for.

    Raises:
        Refusal: It cannot be read, or asks for what cannot be done.
    """
    given = read(_ChatBody, body)
    rest: dict[str, Any] = given.model_extra or {}
    _check(given, rest)
    messages = [_message(message, f"messages.{number}") for number, message in enumerate(given.messages)]
    tools = tuple(_tools(given.tools or ()))
    settings = {name: getattr(given, name) for name in _SETTINGS if getattr(given, name) is not None}
    most = given.max_tokens if given.max_completion_tokens is None else given.max_completion_tokens
    if most is not None:
        settings["max_tokens"] = most
    check_settings(settings)
    options: CallOptions = {"model_settings": settings}
    if given.tool_choice is not None:
        options["tool_choice"] = _choice(given.tool_choice)
    shape = _shape(given.response_format)
    passed = dict(rest)
    if shape is not None and given.response_format is not None:
        options["structured_output"] = shape
        passed["response_format"] = given.response_format.model_dump(exclude_unset=True, by_alias=True)
    return Ask(
        given.model,
        messages,
        tools=tools,
        options=options,
        passed=passed,
        stream=bool(given.stream),
        include_usage=bool(given.stream_options and given.stream_options.include_usage),
        reasoning=rest["include_reasoning"] if isinstance(rest.get("include_reasoning"), bool) else None,
        max_tokens_name="max_tokens" if given.max_completion_tokens is None else "max_completion_tokens",
    )


def _check(given: _ChatBody, rest: Mapping[str, Any]) -> None:
    if given.n not in (None, 1):
        raise Refusal(400, "n: one answer at a time; n must be 1", code="unsupported_parameter", param="n")
    for name, why in _UNSUPPORTED.items():
        if rest.get(name):
            raise Refusal(400, f"{name}: {why}", code="unsupported_parameter", param=name)
    if rest.get("modalities", ["text"]) not in (None, ["text"]):
        text = "modalities: only text can be checked"
        raise Refusal(400, text, code="unsupported_parameter", param="modalities")


def _message(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    message = {name: given[name] for name in _FIELDS if name in given}
    content = given.get("content")
    if isinstance(content, list):
        for number, part in enumerate(cast("list[object]", content)):
            _check_part(part, f"{where}.content.{number}")
    elif not content and isinstance(given.get("refusal"), str):
        message["content"] = given["refusal"]  # what an answer says that a guard has stopped
    return message


def _check_part(part: object, where: str) -> None:
    known = checked_part(part, _PARTS, where)
    file = cast("object", known.get("file"))
    if known["type"] == "file" and not (isinstance(file, Mapping) and "file_data" in file):
        text = f"{where}: a file has to be sent along as file_data; one that is elsewhere cannot be looked at"
        raise Refusal(400, text, code="unsupported_content", param=where)


def _tools(specs: list[_ToolSpec] | tuple[()]) -> list[Tool]:
    tools: dict[str, Tool] = {}
    for number, spec in enumerate(specs):
        where = f"tools.{number}"
        if spec.type != "function" or spec.function is None:
            raise Refusal(400, f"{where}: only tools of type function can be passed through", param=where)
        function = spec.function
        if function.name in tools:
            raise Refusal(400, f"{where}: there are two tools {function.name!r}", param=where)
        tools[function.name] = client_tool(function.name, function.description, function.parameters, where)
    return list(tools.values())


def _choice(choice: str | Mapping[str, Any]) -> Any:
    if isinstance(choice, str) and choice in _CHOICES:
        return choice
    if isinstance(choice, str):
        raise Refusal(400, "tool_choice: auto, none, required, or a function by name", param="tool_choice")
    function = choice.get("function")
    if choice.get("type") == "function" and isinstance(function, dict):
        name = cast("dict[str, Any]", function).get("name")
        if isinstance(name, str):
            return {"type": "tool", "tool_name": name}
    raise Refusal(400, "tool_choice: auto, none, required, or a function by name", param="tool_choice")


def _shape(wanted: _Format | None) -> dict[str, Any] | None:
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return {"type": "object"}
    if wanted.type == "json_schema" and wanted.json_schema is not None:
        schema: dict[str, Any] = wanted.json_schema.schema_ or {"type": "object"}
        return {"title": wanted.json_schema.name, **schema}
    raise Refusal(400, "response_format: text, json_object, or json_schema with its schema", param="response_format")
