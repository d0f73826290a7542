"""`VectorStore`: where the embeddings of messages are, and the one in memory."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any, Protocol, Self

from sluiceway.errors import ConfigurationError
from sluiceway.memory._port import MessageKey

__all__ = ["InMemoryVectors", "Match", "VectorEntry", "VectorStore", "check_index"]


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """The embedding of a message, and whose it is.

    Args:
        thread_id: The thread of the message.
        message_id: The message.
        resource_id: Whose thread it is, or None.
        vector: As many numbers as the index has dimensions.
    """

    thread_id: str
    message_id: str
    resource_id: str | None
    vector: Sequence[float]


@dataclass(frozen=True, slots=True)
class Match:
    """A message that is near to what was asked for; `score` is the cosine of the angle.

    Args:
        thread_id: The thread of the message.
        message_id: The message.
        score: From -1 to 1.
    """

    thread_id: str
    message_id: str
    score: float


class VectorStore(Protocol):
    """Embeddings of messages in named indexes.

    Safe from any number of tasks. Every method raises `StorageError` where the database fails.
    """

    async def __aenter__(self) -> Any: ...

    async def __aexit__(self, *error: Any) -> None: ...

    async def aclose(self) -> None:
        """Let go of connections; a later call opens them again."""
        ...

    async def prepare(self, index: str, dimension: int, model_id: str) -> None:
        """Make an index, or check that it is of this model.

        Raises:
            ConfigurationError: It has vectors of another model or length.
        """
        ...

    async def upsert(self, index: str, entries: Sequence[VectorEntry]) -> None:
        """Put embeddings in, in place of those that their messages had."""
        ...

    async def query(
        self,
        index: str,
        vector: Sequence[float],
        *,
        top_k: int,
        resource_id: str | None = None,
        thread_id: str | None = None,
    ) -> list[Match]:
        """Return the nearest messages of a thread, or without one of a resource; the nearest first.

        Args:
            index: The index.
            vector: What is looked for, of the index's dimension.
            top_k: How many at most.
            resource_id: Whose, where no thread is given.
            thread_id: The thread; None: all of the resource.
        """
        ...

    async def delete(self, keys: Collection[MessageKey]) -> None:
        """Delete the embeddings of messages from every index."""
        ...

    async def delete_thread(self, thread_id: str) -> None:
        """Delete the embeddings of a thread from every index."""
        ...


def check_index(index: str, there: tuple[int, str], dimension: int, model_id: str) -> None:
    """Check that an index is of this model.

    Raises:
        ConfigurationError: It is not.
    """
    if there != (dimension, model_id):
        raise ConfigurationError(
            f"the vector index {index!r} holds vectors of {there[1]!r} with {there[0]} numbers, the embedder is "
            f"{model_id!r} with {dimension}; give another index_name, or the embedder that it was made with"
        )


class InMemoryVectors:
    """Embeddings in this process: for tests and first steps."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[str, tuple[int, str]] = {}
        self._entries: dict[str, dict[MessageKey, VectorEntry]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: Any) -> None:
        return None

    async def aclose(self) -> None:
        """Do nothing: there is nothing to let go of."""

    async def prepare(self, index: str, dimension: int, model_id: str) -> None:
        """Make an index, or check that it is of this model."""
        with self._lock:
            there = self._made.setdefault(index, (dimension, model_id))
        check_index(index, there, dimension, model_id)

    async def upsert(self, index: str, entries: Sequence[VectorEntry]) -> None:
        """Put embeddings in, in place of those that their messages had."""
        with self._lock:
            kept = self._entries.setdefault(index, {})
            for entry in entries:
                kept[entry.thread_id, entry.message_id] = entry

    async def query(
        self,
        index: str,
        vector: Sequence[float],
        *,
        top_k: int,
        resource_id: str | None = None,
        thread_id: str | None = None,
    ) -> list[Match]:
        """Return the nearest messages of a thread, or without one of a resource; the nearest first."""
        with self._lock:
            entries = [
                entry
                for entry in self._entries.get(index, {}).values()
                if (entry.resource_id == resource_id if thread_id is None else entry.thread_id == thread_id)
            ]
        found = [Match(e.thread_id, e.message_id, _cosine(vector, e.vector)) for e in entries]
        found.sort(key=lambda match: (-match.score, match.thread_id, match.message_id))
        return found[:top_k]

    async def delete(self, keys: Collection[MessageKey]) -> None:
        """Delete the embeddings of messages from every index."""
        with self._lock:
            for entries in self._entries.values():
                for key in keys:
                    entries.pop(key, None)

    async def delete_thread(self, thread_id: str) -> None:
        """Delete the embeddings of a thread from every index."""
        with self._lock:
            for entries in self._entries.values():
                for key in [key for key in entries if key[0] == thread_id]:
                    del entries[key]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    length = math.sqrt(sum(map(mul, one, one))) * math.sqrt(sum(map(mul, other, other)))
    return sum(map(mul, one, other)) / length if length else 0.0
