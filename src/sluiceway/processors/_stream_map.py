"""Maps in the stream: they get what branches made of a segment and return what goes on."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isawaitable
from typing import Any

from sluiceway.engine import Map
from sluiceway.errors import ConfigurationError
from sluiceway.messages import Chunk
from sluiceway.processors._call import HookCall
from sluiceway.processors._scope import HookScope

__all__ = ["checked", "mapped", "with_parts"]


def with_parts(base: HookCall, parts: Sequence[Chunk]) -> HookCall:
    """Return the call with these chunks in hand."""
    data = base.shallow()
    data.parts = tuple(parts)
    return data


async def mapped(node: Map, data: Any, scope: HookScope) -> HookCall:
    """Ask a map.

    Raises:
        ConfigurationError: It returned something else than a `HookCall`.
    """
    output = node.fn(data, scope)
    if isawaitable(output):
        output = await output
    return checked(node, output)


def checked(node: Map, output: object) -> HookCall:
    """Return what a map returned.

    Raises:
        ConfigurationError: It is no `HookCall`.
    """
    if not isinstance(output, HookCall):
        raise ConfigurationError(
            f"{node.path}: the map returned {type(output).__name__}; in a hook it must return one of the HookCalls "
            "it was given, or one made with .replace(...)"
        )
    return output
