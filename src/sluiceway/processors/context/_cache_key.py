"""What a cached answer is found by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Final, cast

from pydantic import TypeAdapter

from sluiceway.messages import Prompt, PromptMessage, jsonable
from sluiceway.tools import Tool

__all__ = ["CacheInputs", "build_response_cache_key"]

_PREFIX: Final = "response"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class CacheInputs:
    """All that is sent to a model and changes its answer, and for whom.

    Args:
        agent_id: The agent.
        step_number: The step of the run, from 0.
        scope: Whose answers are shared; None: everybody's.
        model: Provider, name and, where it has one, address of the model.
        prompt: As it is sent.
        tools: That are offered.
        tool_choice: As it is sent.
        model_settings: Likewise.
        provider_options: Likewise.
        structured_output: Likewise.
    """

    agent_id: str | None
    step_number: int
    scope: str | None
    model: tuple[str, ...]
    prompt: Prompt
    tools: tuple[Tool, ...] = ()
    tool_choice: Any = None
    model_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    provider_options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    structured_output: Any = None


def build_response_cache_key(inputs: CacheInputs) -> str:
    """Return the key of an answer: a digest (SHA-256) of all that it depends on.

    Files and images count by their bytes; ids that a run gives to its messages do not count.

    Args:
        inputs: What it depends on.
    """
    parts = {
        "version": _VERSION,
        "agent": inputs.agent_id,
        "step": inputs.step_number,
        "scope": inputs.scope,
        "model": list(inputs.model),
        "prompt": [_message(message) for message in inputs.prompt.messages],
        "tools": [_tool(tool) for tool in inputs.tools],
        "tool_choice": _plain(inputs.tool_choice),
        "settings": _plain(inputs.model_settings),
        "options": _plain(inputs.provider_options),
        "shape": _shape(inputs.structured_output),
    }
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return f"{_PREFIX}:{hashlib.sha256(text.encode()).hexdigest()}"


def _message(message: PromptMessage) -> list[Any]:
    content = [
        [type(item).__name__, {f.name: _plain(getattr(item, f.name)) for f in fields(item)}] for item in message.content
    ]
    return [message.role, content, _plain(message.provider_metadata)]


def _tool(tool: Tool) -> list[Any]:
    return [tool.name, tool.description, _plain(tool.parameters), tool.run is None]


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it; bytes by their digest."""
    if isinstance(value, bytes | bytearray):
        return {"sha256": hashlib.sha256(value).hexdigest()}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in cast("Iterable[Any]", value)]
    return jsonable(value)


def _shape(wanted: Any) -> Any:
    if wanted is None or isinstance(wanted, Mapping):
        return _plain(wanted)
    return _schema(wanted)


@lru_cache(maxsize=256)
def _schema(wanted: Any) -> Any:
    return TypeAdapter(wanted).json_schema()
