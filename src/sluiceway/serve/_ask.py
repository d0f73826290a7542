"""`Ask`: what a client wants, whatever API it speaks."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel, ValidationError

from sluiceway.agent import CallOptions
from sluiceway.errors import ConfigurationError
from sluiceway.models import Settings
from sluiceway.serve._refusal import Refusal
from sluiceway.tools import Tool

__all__ = ["Ask", "check_settings", "checked_part", "client_tool", "read"]

Body = TypeVar("Body", bound=BaseModel)

_SHAPE: Final = re.compile(r"str|int|float|bool|_\w+|(list|dict)\[.*\]")
"""What pydantic adds to the place of a value that may have one of several shapes."""


@dataclass(slots=True)
class Ask:
    """A request.

    Args:
        model: As the client calls it.
        messages: As `Agent.stream` takes them.
        tools: The client's own: their calls are returned to it.
        options: What the call of the agent is told.
        passed: The fields that a provider behind us gets as they came.
        stream: Whether the answer comes in pieces.
        include_usage: Whether the pieces end with the count of tokens.
        reasoning: Whether the client wants to see the reasoning; None: it does not say.
        max_tokens_name: What the client calls the bound on the answer.
    """

    model: str
    messages: Sequence[Any]
    tools: tuple[Tool, ...] = ()
    options: CallOptions = field(default_factory=CallOptions)
    passed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool = False
    include_usage: bool = False
    reasoning: bool | None = None
    max_tokens_name: str = "max_tokens"


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse a setting that no model takes.

    Raises:
        Refusal: It is out of range; the text says which one, and holds no value.
    """
    try:
        Settings.model_validate(dict(settings))
    except ValidationError as error:
        raise _invalid(error) from None


def read(kind: type[Body], body: bytes) -> Body:
    """Return a request's body.

    Raises:
        Refusal: It is no JSON, or not of this shape; the text says where and holds no value.
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise _invalid(error) from None


def _invalid(error: ValidationError) -> Refusal:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(key) for key in first["loc"] if not _SHAPE.fullmatch(str(key)))
    said = f"{where}: {first['msg']}" if where else first["msg"]
    return Refusal(400, said, code="invalid_body", param=where or None)


def checked_part(part: object, known: Collection[str], where: str) -> Mapping[str, Any]:
    """Return a part of a message's content, where it is of a kind that can be looked at and passed on.

    Raises:
        Refusal: It is of another: to leave it out would change what was said, to pass it on unread
            is not what a guard is for.
    """
    kind = cast("Mapping[str, Any]", part).get("type") if isinstance(part, Mapping) else None
    if not isinstance(kind, str) or kind not in known:
        text = f"{where}: a part is an object whose type is one of {', '.join(sorted(known))}"
        raise Refusal(400, text, code="unsupported_content", param=where)
    return cast("Mapping[str, Any]", part)


def client_tool(name: str, description: str | None, parameters: Mapping[str, Any] | None, where: str) -> Tool:
    """Return a tool that the client runs.

    Raises:
        Refusal: No name, or a wrong schema.
    """
    try:
        return Tool(name, description or "", parameters)
    except ConfigurationError as error:
        raise Refusal(400, f"{where}: {error}", code="invalid_tool", param=where) from error
