"""Agents that remember, and what they have stored."""

from __future__ import annotations

from typing import Any

from sluiceway.memory import InMemoryStore, Memory
from sluiceway.messages import Message

__all__ = ["THREAD", "new_memory", "stored"]

THREAD = {"thread": "t1", "resource": "u1"}
"""What a call passes as `memory`."""


def new_memory() -> Memory:
    """Return a memory of its own."""
    return Memory(storage=InMemoryStore())


async def stored(memory: Memory) -> list[str]:
    """Return everything in the thread, as `role: part + part`."""
    return [shown(message) for message in await memory.recall(THREAD["thread"])]


def shown(message: Message) -> str:
    """Return a message as `assistant: looking + t:result=7`."""
    parts: list[Any] = [part for part in message.parts if part.type != "step-start"]
    return f"{message.role}: {' + '.join(_part(part) for part in parts)}"


def _part(part: Any) -> str:
    if part.type in ("text", "reasoning"):
        return part.text
    if part.type != "tool":
        return part.type
    outcome = part.error if part.state == "error" else part.result
    return f"{part.tool_name}:{part.state}={outcome}"
