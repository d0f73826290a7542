"""Agents that remember, and what their threads hold."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sluiceway import Agent, Message
from sluiceway.engine import Result
from sluiceway.memory import InMemoryStore, Memory, MemoryStore, Turn
from sluiceway.memory._codec import encode
from sluiceway.messages import Prompt, parse_input
from sluiceway.models import ScriptedModel

__all__ = ["ON", "WordEmbedder", "fill", "kept", "remembering", "result_shape", "said", "shape"]

ON = {"thread": "t1", "resource": "u1"}
"""What a call passes as `memory`."""


class WordEmbedder:
    """An embedder that counts words, in 64 buckets; it can be told to fail, and notes what it was given."""

    model_id = "words-64"

    def __init__(self) -> None:
        self.given: list[list[str]] = []
        self.error: Exception | None = None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, or raise."""
        self.given.append(list(texts))
        if self.error is not None:
            raise self.error
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * 64
        for word in re.findall(r"\w+", text.casefold()):
            vector[zlib.crc32(word.encode()) % 64] += 1.0
        return vector


def remembering(*replies: Any, memory: Memory | None = None, **options: Any) -> tuple[Agent, ScriptedModel, Memory]:
    """Return an agent with a scripted model and a memory, the model, and the memory."""
    model = ScriptedModel(replies or ["ok"])
    memory = Memory(InMemoryStore()) if memory is None else memory
    return Agent(id="tested", instructions="sys", model=model, memory=memory, **options), model, memory


async def fill(
    store: MemoryStore,
    messages: Iterable[Message | str | Mapping[str, Any]],
    thread: str = "t1",
    resource: str | None = "u1",
) -> None:
    """Put messages into a thread, as if a run had saved them."""
    parsed = [message if isinstance(message, Message) else parse_input(message).messages[0] for message in messages]
    rows = [encode(message, thread, parts=message.parts) for message in parsed]
    await store.save_turn(Turn(thread, resource, datetime.now(UTC), rows))


async def kept(memory: Memory, thread: str = "t1") -> list[tuple[Any, ...]]:
    """Return the shape of everything in a thread."""
    return shape(await memory.recall(thread))


def result_shape(result: Result) -> list[tuple[Any, ...]]:
    """Return the shape of a reply."""
    return shape(result.response.messages)


def shape(messages: Iterable[Message]) -> list[tuple[Any, ...]]:
    """Return messages as `(role, part, …)`: texts as they are, calls as a tuple, else the type."""
    return [(message.role, *(_part(part) for part in message.parts)) for message in messages]


def _part(part: Any) -> Any:
    if part.type == "text":
        return part.text
    if part.type == "tool":
        return (part.tool_name, part.tool_call_id, dict(part.args), part.state, part.result)
    return part.type


def said(prompt: Prompt) -> list[str]:
    """Return the messages of a prompt as `role: text`, without system messages."""
    return [f"{message.role}: {message.text}" for message in prompt.messages if message.role != "system"]
