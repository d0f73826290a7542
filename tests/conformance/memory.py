"""The memory of a scenario: one thread in an in-memory store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluiceway.memory import InMemoryStore, Memory

__all__ = ["build", "stored"]


def build(spec: Mapping[str, Any]) -> tuple[Memory, Memory]:
    """Return what `stored` reads, and what the agent takes as `memory`."""
    memory = Memory(storage=InMemoryStore(), last_messages=spec["last_messages"])
    return memory, memory


async def stored(memory: Memory) -> list[dict[str, Any]]:
    """Return role, text and kinds of parts of everything in the thread."""
    return [
        {"role": message.role, "text": message.text, "parts": [kind(part) for part in message.parts]}
        for message in await memory.recall("t1")
    ]


def kind(part: Any) -> str:
    """Return the type of a part; of a tool call its name and state too."""
    return f"tool:{part.tool_name}:{part.state}" if part.type == "tool" else part.type
