"""`Ask`: what a client wants, whatever API it speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from sluiceway.agent import CallOptions
from sluiceway.errors import ConfigurationError
from sluiceway.models import Settings
from sluiceway.serve._refusal import Refusal
from sluiceway.tools import Tool

__all__ = ["Ask", "check_settings", "client_tool", "read"]

Body = TypeVar("Body", bound=BaseModel)


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
        reasoning: Whether the client wants to see the reasoning.
        max_tokens_name: What the client calls the bound on the answer.
    """

    model: str
    messages: Sequence[Any]
    tools: tuple[Tool, ...] = ()
    options: CallOptions = field(default_factory=CallOptions)
    passed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool = False
    include_usage: bool = False
    reasoning: bool = False
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
    where = ".".join(str(key) for key in first["loc"])
    said = f"{where}: {first['msg']}" if where else first["msg"]
    return Refusal(400, said, code="invalid_body", param=where or None)


def client_tool(name: str, description: str | None, parameters: Mapping[str, Any] | None, where: str) -> Tool:
    """Return a tool that the client runs.

    Raises:
        Refusal: No name, or a wrong schema.
    """
    try:
        return Tool(name, description or "", parameters)
    except ConfigurationError as error:
        raise Refusal(400, f"{where}: {error}", code="invalid_tool", param=where) from error
