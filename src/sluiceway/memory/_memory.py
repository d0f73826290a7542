"""`Memory`: conversations that an agent goes on with."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, cast

from sluiceway.errors import ConfigurationError, StorageError
from sluiceway.memory._embedders import Embedder
from sluiceway.memory._in_memory import InMemoryStore
from sluiceway.memory._memory_run import THREAD_WAIT_S
from sluiceway.memory._message_history import MessageHistory
from sluiceway.memory._placement import placed
from sluiceway.memory._port import MemoryStore, Thread, WorkingChange, WorkingScope, checked_id, foreign_thread
from sluiceway.memory._semantic_recall import SemanticRecall
from sluiceway.memory._transfer import export_lines, import_lines
from sluiceway.memory._vectors import VectorStore
from sluiceway.memory._window import messages_of
from sluiceway.memory._working_memory import WorkingMemory
from sluiceway.messages import Message
from sluiceway.processors import ListKind, Processor

__all__ = ["Memory"]

log: Final = logging.getLogger("sluiceway.memory")


class Memory:
    """Conversations that an agent goes on with, and what it knows of the user.

    Gives an agent its processors: in the input list `WorkingMemory`, `MessageHistory` and
    `SemanticRecall` before the user's, in the output list `SemanticRecall` and `MessageHistory`
    after them; one that the user lists by hand, by its id, is not added to that list. A run
    names its thread: `agent.generate(..., memory={"thread": "t1", "resource": "user-1"})`.

    One object serves any number of agents and runs.

    Args:
        storage: Where everything is kept; None: in this process, until it ends.
        last_messages: How many of a thread's newest messages a run begins with; 0: none.
        semantic_recall: True, a dict of `SemanticRecall`'s options, or a `SemanticRecall`.
        working_memory: True, a dict of `WorkingMemory`'s options, or a `WorkingMemory`.
        vector: Where embeddings are kept, for semantic recall.
        embedder: Makes them.
        thread_wait_s: How long a run waits for another one on its thread, in seconds.

    Raises:
        ConfigurationError: A value that is not allowed; semantic recall without `vector` or `embedder`.

    Examples:
        >>> Memory(InMemoryStore(), last_messages=20).input_processors
        (<MessageHistory 'message-history'>,)
    """

    def __init__(
        self,
        storage: MemoryStore | None = None,
        last_messages: int = 10,
        semantic_recall: bool | Mapping[str, Any] | SemanticRecall = False,
        working_memory: bool | Mapping[str, Any] | WorkingMemory = False,
        vector: VectorStore | None = None,
        embedder: Embedder | None = None,
        *,
        thread_wait_s: float = THREAD_WAIT_S,
    ) -> None:
        if thread_wait_s < 0:
            raise ConfigurationError(f"thread_wait_s={thread_wait_s!r} is not allowed; give a number from 0")
        if storage is None:
            log.warning("memory without storage= is kept in this process and gone when it ends")
            storage = InMemoryStore()
        self.storage = storage
        self.thread_wait_s = thread_wait_s
        self.history = MessageHistory(storage, last_messages=last_messages)
        self.working = _working(storage, working_memory)
        self.semantic = _semantic(storage, semantic_recall, vector, embedder)
        self.vector = vector if self.semantic is None else self.semantic.vector
        self.input_processors: tuple[Processor, ...] = tuple(
            processor for processor in (self.working, self.history, self.semantic) if processor is not None
        )
        self.output_processors: tuple[Processor, ...] = tuple(
            processor for processor in (self.semantic, self.history) if processor is not None
        )

    def placed(self, kind: ListKind, listed: Sequence[object]) -> Sequence[object]:
        """Return an agent's list with memory's processors in it."""
        if kind == "error":
            return listed
        first = kind == "input"
        return placed(self.input_processors if first else self.output_processors, listed, first=first)

    # reading

    async def recall(
        self,
        thread: str,
        *,
        last: int | None = None,
        before: str | None = None,
        resource: str | None = None,
        include_signals: bool = False,
    ) -> list[Message]:
        """Return stored messages of a thread, oldest first; of a thread that is not there, none.

        Args:
            thread: The thread.
            last: Only so many of the newest.
            before: Only those before the message with this id.
            resource: Whose the thread has to be; None: it is not checked.
            include_signals: Whether signals come along.

        Raises:
            StorageError: The thread belongs to another resource, or the store cannot be read.
        """
        found = await self._thread(thread, resource)
        if found is None:
            return []
        rows = await self.storage.newest(thread, last, before=before)
        remembered = messages_of(rows, found.resource_id)
        return [item.message for item in remembered if include_signals or item.message.role != "signal"]

    async def threads(self, resource: str | None = None, *, limit: int = 100, offset: int = 0) -> list[Thread]:
        """Return the threads of a resource, or all, the one with the newest turn first.

        Args:
            resource: Whose; None: all.
            limit: How many at most.
            offset: How many are passed over.

        Raises:
            ConfigurationError: `limit` or `offset` is less than 0.
            StorageError: The store cannot be read.
        """
        for name, value in (("limit", limit), ("offset", offset)):
            if value < 0:
                raise ConfigurationError(f"{name}={value!r} is not allowed; give a number from 0")
        return await self.storage.threads(resource, limit=limit, offset=offset)

    async def working_memory(self, *, thread: str | None = None, resource: str | None = None) -> str | None:
        """Return the working memory as it stands: text, or JSON where the template is a model.

        Args:
            thread: The thread, where it is kept by thread.
            resource: Whose, where it is kept by resource.

        Raises:
            ConfigurationError: This memory has no working memory, or neither id is given.
        """
        return await self.storage.working(*self._owner(thread, resource))

    # changing

    async def update_working_memory(
        self, update: Any, *, thread: str | None = None, resource: str | None = None
    ) -> str | None:
        """Change the working memory as the model's tool does; return it as it stands then.

        Args:
            update: The whole text, or the fields of the model that change; null removes one.
            thread: The thread.
            resource: The resource.

        Raises:
            ConfigurationError: This memory has no working memory, or neither id is given.
        """
        owner = self._owner(thread, resource)
        working = self.working
        assert working is not None
        change = WorkingChange(owner[0], owner[1], lambda text: working.updated(text, update))
        return await self.storage.change_working(change)

    async def delete_messages(self, ids: Collection[str] | str, *, thread: str | None = None) -> int:
        """Delete messages, with their embeddings; return how many there were.

        Args:
            ids: Their ids.
            thread: Where they are; None: wherever that is, if it is one place.

        Raises:
            StorageError: An id is that of messages of several threads, as ids given by clients may be,
                or one that cannot be stored.
        """
        given = [checked_id("the message id", name) for name in ([ids] if isinstance(ids, str) else ids)]
        rows = await self.storage.find(given, thread)
        if len({row.id for row in rows}) < len(rows):
            raise StorageError("one of these ids is in several threads; say in which with thread=")
        keys = [row.key for row in rows]
        if self.vector is not None and keys:
            await self.vector.delete(keys)
        return await self.storage.delete_messages(keys)

    async def delete_thread(self, id: str, *, resource: str | None = None) -> bool:  # noqa: A002 - the field's own name
        """Delete a thread, with its embeddings; say whether there was one.

        Args:
            id: The thread.
            resource: Whose it has to be; None: it is not checked.

        Raises:
            StorageError: It belongs to another resource.
        """
        await self._thread(id, resource)
        if self.vector is not None:
            await self.vector.delete_thread(id)
        return await self.storage.delete_thread(id)

    # moving

    def export_lines(self, *, thread: str | None = None, resource: str | None = None) -> AsyncGenerator[str]:
        """Give everything, or what belongs to one thread or resource, as JSON lines.

        Embeddings are not among it: they are made anew where it is imported.

        Args:
            thread: This thread only; None: all.
            resource: What belongs to this resource only; None: all.
        """
        return export_lines(self.storage, thread=thread, resource=resource)

    async def import_lines(self, lines: Iterable[str]) -> int:
        """Take in what `export_lines` gave; return how many messages there were.

        A thread is saved whole or not at all. A message that is there already is replaced. Texts
        are queued to be embedded in later turns.

        Raises:
            StorageError: A line that cannot be read, which is named, or a thread of another resource.
        """
        return await import_lines(self.storage, lines, None if self.semantic is None else self.semantic.index_name)

    # connections

    async def __aenter__(self) -> Self:
        await self.storage.__aenter__()
        if self.vector is not None:
            await self.vector.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self.vector is not None:
                await self.vector.__aexit__(kind, error, trace)
        finally:
            await self.storage.__aexit__(kind, error, trace)

    async def aclose(self) -> None:
        """Let go of connections that `async with` does not hold."""
        await self.storage.aclose()
        if self.vector is not None:
            await self.vector.aclose()

    async def _thread(self, thread_id: str, resource_id: str | None) -> Thread | None:
        found = await self.storage.thread(checked_id("the thread id", thread_id))
        if found is not None and resource_id is not None and found.resource_id != resource_id:
            raise foreign_thread(thread_id)
        return found

    def _owner(self, thread: str | None, resource: str | None) -> tuple[WorkingScope, str]:
        if self.working is None:
            raise ConfigurationError("this memory has no working memory: Memory(..., working_memory=True)")
        owner = self.working.owner(thread, resource)
        if owner is None:
            raise ConfigurationError("name whose working memory is meant: thread= or resource=")
        return owner[0], checked_id(f"the {owner[0]} id", owner[1])


def _working(storage: MemoryStore, given: Any) -> WorkingMemory | None:
    if given is None or given is False:
        return None
    if isinstance(given, WorkingMemory):
        return given
    return WorkingMemory(storage, **_options("working_memory", given))


def _semantic(
    storage: MemoryStore, given: Any, vector: VectorStore | None, embedder: Embedder | None
) -> SemanticRecall | None:
    if given is None or given is False:
        return None
    if isinstance(given, SemanticRecall):
        return given
    options = _options("semantic_recall", given)
    vector = options.pop("vector", vector)
    embedder = options.pop("embedder", embedder)
    if vector is None or embedder is None:
        missing = "vector" if vector is None else "embedder"
        raise ConfigurationError(
            f"semantic_recall needs {missing}=: Memory(..., semantic_recall=True, vector=SQLiteVectors(path), "
            "embedder=WordLlamaEmbedder())"
        )
    return SemanticRecall(storage, vector, embedder, **options)


def _options(name: str, given: Any) -> dict[str, Any]:
    if given is True:
        return {}
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{name}={given!r} is not allowed; give True, a dict of options, or the processor")
    options = cast("Mapping[str, Any]", given)
    allowed = _ALLOWED[name]
    unknown = sorted(set(options) - allowed)
    if unknown:
        raise ConfigurationError(
            f"{name}={{{unknown[0]!r}: …}} does not exist; there are: {', '.join(sorted(allowed))}"
        )
    return dict(options)


_ALLOWED: Final = {
    "working_memory": {"template", "scope", "read_only", "id"},
    "semantic_recall": {
        "top_k",
        "message_range",
        "scope",
        "threshold",
        "index_name",
        "id",
        "vector",
        "embedder",
    },
}
