"""What the bodies of all providers' requests are made of."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from sluiceway.errors import ConfigurationError, MessageError
from sluiceway.messages import PromptFile, PromptImage
from sluiceway.models._port import StructuredOutput, ToolChoice

__all__ = ["Body", "Choice", "choice_of", "data_url", "encoded", "options_for", "schema_of"]

Choice: TypeAlias = "tuple[Literal['auto', 'none', 'required', 'tool'], str]"


@dataclass(slots=True)
class Body:
    """The body of a request, and what could not be put into it."""

    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    warnings: list[str] = field(default_factory=list[str])


def choice_of(choice: ToolChoice) -> Choice | None:
    """Return which tools the model may or must use, and the name where it is one tool.

    Raises:
        ConfigurationError: It says neither.
    """
    if choice is None:
        return None
    if isinstance(choice, str):
        if choice in ("auto", "none", "required"):
            return choice, ""
    else:
        name = choice.get("tool_name", choice.get("name"))
        if choice.get("type") == "tool" and isinstance(name, str):
            return "tool", name
    raise ConfigurationError(
        f'tool_choice is "auto", "none", "required" or {{"type": "tool", "tool_name": name}}, not {choice!r}'
    )


def schema_of(wanted: StructuredOutput) -> tuple[str, dict[str, Any]]:
    """Return a name and the JSON schema of what is asked for; objects in it take no further names.

    Raises:
        ConfigurationError: A type that has no JSON schema.
    """
    if isinstance(wanted, Mapping):
        schema = dict(wanted)
    else:
        try:
            schema = TypeAdapter(cast("Any", wanted)).json_schema()
        except (PydanticUserError, PydanticSchemaGenerationError) as error:
            raise ConfigurationError(f"structured_output: no JSON schema for {wanted!r}") from error
    name = str(schema.get("title") or "answer")
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in name)
    return plain[:64], cast("dict[str, Any]", _closed(schema))


def _closed(schema: object) -> object:
    """Say of every object that it takes no other names, where the schema does not say."""
    if isinstance(schema, list):
        return [_closed(item) for item in cast("list[object]", schema)]
    if not isinstance(schema, Mapping):
        return schema
    fields = {key: _closed(value) for key, value in cast("Mapping[str, object]", schema).items()}
    if fields.get("type") == "object" and "properties" in fields:
        fields.setdefault("additionalProperties", False)
    return fields


def data_url(item: PromptFile | PromptImage) -> str:
    """Return the URL of a file, or its bytes as a data URL."""
    if item.url is not None:
        return item.url
    return f"data:{item.media_type};base64,{base64.b64encode(item.data or b'').decode('ascii')}"


def options_for(provider: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a request says to one provider only.

    Raises:
        ConfigurationError: It is no mapping.
    """
    own = options.get(provider, {})
    if isinstance(own, Mapping):
        return cast("Mapping[str, Any]", own)
    raise ConfigurationError(f"provider_options[{provider!r}] is a mapping, not {type(own).__name__}")


def encoded(fields: Mapping[str, Any]) -> bytes:
    """Return a body as JSON; halves of characters become question marks.

    Raises:
        MessageError: Something in it is no JSON.
    """
    try:
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"the prompt cannot be written as JSON: {error}") from None
