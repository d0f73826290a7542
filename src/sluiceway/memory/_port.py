"""`MemoryStore`: what memory needs of a database, and the rows that go in and out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from sluiceway.errors import StorageError

__all__ = [
    "MemoryStore",
    "MessageKey",
    "MessageRow",
    "Resource",
    "Thread",
    "Turn",
    "WorkingChange",
    "WorkingScope",
    "checked_id",
    "clean_text",
    "foreign_thread",
    "lost_lease",
]

WorkingScope: TypeAlias = Literal["resource", "thread"]

MessageKey: TypeAlias = "tuple[str, str]"
"""The thread of a message and its id; ids are unique within a thread only, since clients may give them."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation.

    Args:
        id: Its id.
        resource_id: Whose it is, such as a user's id; None: nobody's in particular.
        created_at: When its first turn was saved.
        updated_at: When its newest turn was saved.
        title: For people, or None.
        metadata: Anything JSON.
    """

    id: str
    resource_id: str | None
    created_at: datetime
    updated_at: datetime
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Resource:
    """Whose conversations and working memory are kept: a user, a project.

    Args:
        id: Its id.
        metadata: Anything JSON.
        created_at: When it was first saved.
        updated_at: When it was last saved.
    """

    id: str
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message as a store keeps it.

    Args:
        thread_id: Its thread.
        id: Its id, unique in the thread.
        role: `user`, `assistant` or `signal`.
        created_at: When it was made.
        document: Everything else, as JSON text.
        position: Its place in the thread; the store gives it when it first sees the message.
    """

    thread_id: str
    id: str
    role: str
    created_at: datetime
    document: str
    position: int = 0

    @property
    def key(self) -> MessageKey:
        """What names it among all messages."""
        return self.thread_id, self.id


@dataclass(frozen=True, slots=True)
class WorkingChange:
    """A change of working memory, made inside the transaction that saves the turn.

    Args:
        scope: Whether it belongs to a resource or to a thread.
        owner: The id of that resource or thread.
        change: Takes the text as it stands (None: nothing yet) and returns the new one; called
            once per try, in a worker thread.
    """

    scope: WorkingScope
    owner: str
    change: Callable[[str | None], str | None]


@dataclass(frozen=True, slots=True)
class Turn:
    """What one run leaves behind; saved wholly or not at all.

    Args:
        thread_id: The thread; made if it is not there and the turn has messages.
        resource_id: Whose it is.
        now: The time.
        rows: Messages, in order. One that the thread has keeps its place and time.
        pending: Index and message id of texts that are still to be embedded.
        working: Changes of working memory.
        lease: The token of the lease that the run holds; None: it is not checked.
        release: Whether the lease ends with the transaction.
        thread: What the thread is to be, its title and metadata too; one that is there keeps the
            time at which it was made. None: it stays as it is.
    """

    thread_id: str
    resource_id: str | None
    now: datetime
    rows: Sequence[MessageRow] = ()
    pending: Sequence[tuple[str, str]] = ()
    working: Sequence[WorkingChange] = ()
    lease: str | None = None
    release: bool = True
    thread: Thread | None = None


class MemoryStore(Protocol):
    """Threads with their messages, resources, working memory, and leases on threads.

    Every method may be called from any number of tasks at once, is one transaction, and raises
    `StorageError` where the database cannot do it. `async with store:` keeps connections open.
    """

    async def __aenter__(self) -> Any: ...

    async def __aexit__(self, *error: Any) -> None: ...

    async def aclose(self) -> None:
        """Let go of connections; a later call opens them again."""
        ...

    # threads and resources

    async def thread(self, thread_id: str) -> Thread | None:
        """Return a thread, or None."""
        ...

    async def threads(self, resource_id: str | None = None, *, limit: int = 100, offset: int = 0) -> list[Thread]:
        """Return the threads of a resource, or all, the one with the newest turn first.

        Args:
            resource_id: Whose; None: all.
            limit: How many at most.
            offset: How many are passed over.
        """
        ...

    async def save_thread(self, thread: Thread) -> None:
        """Make a thread, or replace the title and metadata of one; its owner stays.

        Raises:
            StorageError: It belongs to another resource.
        """
        ...

    async def delete_thread(self, thread_id: str) -> bool:
        """Delete a thread with all that hangs on it; say whether there was one."""
        ...

    async def resource(self, resource_id: str) -> Resource | None:
        """Return a resource, or None."""
        ...

    async def save_resource(self, resource: Resource) -> None:
        """Make a resource, or replace the metadata of one."""
        ...

    # messages

    async def newest(self, thread_id: str, count: int | None = None, *, before: str | None = None) -> list[MessageRow]:
        """Return the newest messages of a thread, oldest first.

        Args:
            thread_id: The thread.
            count: How many; signals among them come along and are not counted. None: all.
            before: Only messages older than the one with this id.
        """
        ...

    async def around(self, thread_id: str, ids: Collection[str], before: int, after: int) -> list[MessageRow]:
        """Return messages of a thread with neighbours, in order, each once; no signals."""
        ...

    async def find(self, ids: Collection[str], thread_id: str | None = None) -> list[MessageRow]:
        """Return the messages with these ids, of one thread or of all.

        Args:
            ids: The ids; one that is not there is left out.
            thread_id: The thread; None: any.
        """
        ...

    async def delete_messages(self, keys: Collection[MessageKey]) -> int:
        """Delete messages; return how many there were."""
        ...

    async def save_turn(self, turn: Turn) -> None:
        """Save a turn.

        Raises:
            StorageError: The thread belongs to another resource, the lease was lost, or the
                database cannot be written; it is as before.
        """
        ...

    # working memory

    async def working(self, scope: WorkingScope, owner: str) -> str | None:
        """Return a working memory, or None where there is none yet."""
        ...

    async def change_working(self, change: WorkingChange) -> str | None:
        """Change a working memory; return it as it stands then."""
        ...

    # texts to be embedded

    async def pending(self, index: str, resource_id: str | None, limit: int) -> list[MessageRow]:
        """Return messages of a resource's threads that are still to be embedded, oldest first."""
        ...

    async def clear_pending(self, index: str, keys: Collection[MessageKey]) -> None:
        """Note that messages are embedded."""
        ...

    # leases

    async def acquire(self, thread_id: str, token: str, lease_s: float) -> bool:
        """Take the lease of a thread, or hold one's own for longer; False: another has it."""
        ...

    async def renew(self, thread_id: str, token: str, lease_s: float) -> bool:
        """Hold a lease for longer; False: it is no longer one's own."""
        ...

    async def release(self, thread_id: str, token: str) -> None:
        """Give a lease back."""
        ...


def checked_id(name: str, value: str) -> str:
    """Return an id if every store can keep it.

    Raises:
        StorageError: It is no text, is empty, or holds NUL or half a character.
    """
    if not isinstance(value, str) or not value or "\0" in value or not _encodes(value):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise StorageError(f"{name} {value!r} cannot be stored: an id is not empty, and valid text without NUL")
    return value


def clean_text(text: str) -> str:
    """Return a text that every database can hold: without NUL, half characters replaced."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def foreign_thread(thread_id: str) -> StorageError:
    """Return the error for a thread of somebody else; it does not say whose it is."""
    return StorageError(
        f"thread {thread_id!r} belongs to another resource; give the one that it was begun with, or another thread"
    )


def lost_lease(thread_id: str) -> StorageError:
    """Return the error for a run that was taken for dead."""
    return StorageError(
        f"thread {thread_id!r} was taken over by another run, since this one did not renew its lease in time; "
        "nothing of this turn was saved"
    )
