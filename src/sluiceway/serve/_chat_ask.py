"""A request of Chat Completions, read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from sluiceway.agent import CallOptions
from sluiceway.serve._ask import Ask, check_settings, client_tool, read
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
}
"""What cannot be done, and would be missed if it were passed over."""


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
    tools = tuple(_tools(given.tools or ()))
    settings = {name: getattr(given, name) for name in _SETTINGS if getattr(given, name) is not None}
    most = given.max_completion_tokens if given.max_tokens is None else given.max_tokens
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
        given.messages,
        tools=tools,
        options=options,
        passed=passed,
        stream=bool(given.stream),
        include_usage=bool(given.stream_options and given.stream_options.include_usage),
        max_tokens_name="max_tokens" if given.max_completion_tokens is None else "max_completion_tokens",
    )


def _check(given: _ChatBody, rest: Mapping[str, Any]) -> None:
    if given.n not in (None, 1):
        raise Refusal(400, "n: one answer at a time; n must be 1", code="unsupported_parameter", param="n")
    for name, why in _UNSUPPORTED.items():
        if rest.get(name):
            raise Refusal(400, f"{name}: {why}", code="unsupported_parameter", param=name)


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
    if isinstance(choice, str):
        return choice
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
