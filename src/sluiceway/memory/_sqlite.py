"""`SQLiteStore`: memory in an SQLite file."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from anyio import from_thread

from sluiceway.memory._port import (
    MessageKey,
    MessageRow,
    Resource,
    Thread,
    Turn,
    WorkingChange,
    WorkingScope,
    clean_text,
    foreign_thread,
    lost_lease,
)
from sluiceway.memory._rows import message_of, metadata_text, resource_of, thread_of, to_us
from sluiceway.memory._sqlite_schema import MIGRATIONS
from sluiceway.storage import SQLite, holder_is_gone

__all__ = ["SQLiteStore"]

_THREAD: Final = "SELECT id, resource_id, created_at, updated_at, title, metadata FROM memory_threads"
_MESSAGE: Final = "SELECT thread_id, id, role, created_at, document, position FROM memory_messages"
_MANY: Final = "IN (SELECT value FROM json_each(?))"
_MATCHED: Final = (
    "SELECT position FROM memory_messages WHERE thread_id = ? AND role <> 'signal' "
    "AND id IN (SELECT value FROM json_each(?))"
)


class SQLiteStore:
    """Memory in an SQLite file: the embedded default.

    Safe from any number of tasks, threads and processes: writers wait for one another, readers
    for nobody. The file is open only during a call, a run, or `async with store:`.

    Args:
        path: The file, made with its folder where it is not there; `":memory:"`: in memory.
        busy_s: How long to wait for another program that writes, in seconds.

    Examples:
        >>> store = SQLiteStore(":memory:")
        >>> store.path.name
        ':memory:'
    """

    def __init__(self, path: str | Path, *, busy_s: float = 10.0) -> None:
        file = None if str(path) == ":memory:" else path
        self._db = SQLite(file, component="memory", migrations=MIGRATIONS, busy_s=busy_s)

    @property
    def path(self) -> Path:
        """The file."""
        return self._db.path or Path(":memory:")

    @property
    def key(self) -> str | None:
        """What is the same for two stores of one file; None in memory."""
        return None if self._db.path is None else str(self._db.path.absolute())

    async def __aenter__(self) -> Self:
        await self._db.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._db.__aexit__(*error)

    async def aclose(self) -> None:
        """Close the file; a later call opens it again."""
        await self._db.aclose()

    # threads and resources

    async def thread(self, thread_id: str) -> Thread | None:
        """Return a thread, or None."""
        return await self._db.read(partial(_thread, thread_id))

    async def threads(self, resource_id: str | None = None, *, limit: int = 100, offset: int = 0) -> list[Thread]:
        """Return the threads of a resource, or all, the one with the newest turn first."""
        where = "" if resource_id is None else " WHERE resource_id = ?"
        values = () if resource_id is None else (resource_id,)
        query = f"{_THREAD}{where} ORDER BY updated_at DESC, id LIMIT ? OFFSET ?"

        def work(connection: sqlite3.Connection) -> list[Thread]:
            return [thread_of(row) for row in connection.execute(query, (*values, limit, offset))]

        return await self._db.read(work)

    async def save_thread(self, thread: Thread) -> None:
        """Make a thread, or replace the title and metadata of one; its owner stays."""
        await self._db.write(partial(_put_thread, thread))

    async def delete_thread(self, thread_id: str) -> bool:
        """Delete a thread with all that hangs on it; say whether there was one."""

        def work(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM memory_working WHERE scope = 'thread' AND owner = ?", (thread_id,))
            return connection.execute("DELETE FROM memory_threads WHERE id = ?", (thread_id,)).rowcount == 1

        return await self._db.write(work)

    async def resource(self, resource_id: str) -> Resource | None:
        """Return a resource, or None."""
        query = "SELECT id, metadata, created_at, updated_at FROM memory_resources WHERE id = ?"

        def work(connection: sqlite3.Connection) -> Resource | None:
            row = connection.execute(query, (resource_id,)).fetchone()
            return None if row is None else resource_of(row)

        return await self._db.read(work)

    async def save_resource(self, resource: Resource) -> None:
        """Make a resource, or replace the metadata of one."""
        values = (
            resource.id,
            metadata_text(resource.metadata),
            to_us(resource.created_at),
            to_us(resource.updated_at),
        )
        await self._db.write(
            lambda connection: connection.execute(
                "INSERT INTO memory_resources VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                "metadata = excluded.metadata, updated_at = excluded.updated_at",
                values,
            )
        )

    # messages

    async def newest(self, thread_id: str, count: int | None = None, *, before: str | None = None) -> list[MessageRow]:
        """Return the newest messages of a thread, oldest first; signals are not counted."""
        return await self._db.read(partial(_newest, thread_id, count, before))

    async def around(self, thread_id: str, ids: Collection[str], before: int, after: int) -> list[MessageRow]:
        """Return messages of a thread with neighbours, in order, each once; no signals."""
        return await self._db.read(partial(_around, thread_id, json.dumps(list(ids)), before, after))

    async def find(self, ids: Collection[str], thread_id: str | None = None) -> list[MessageRow]:
        """Return the messages with these ids, of one thread or of all."""
        query = f"{_MESSAGE} WHERE id {_MANY}"
        values = (json.dumps(list(ids)),)
        if thread_id is not None:
            query, values = f"{query} AND thread_id = ?", (*values, thread_id)

        def work(connection: sqlite3.Connection) -> list[MessageRow]:
            return [message_of(row) for row in connection.execute(f"{query} ORDER BY thread_id, position", values)]

        return await self._db.read(work)

    async def delete_messages(self, keys: Collection[MessageKey]) -> int:
        """Delete messages; return how many there were."""

        def work(connection: sqlite3.Connection) -> int:
            query = "DELETE FROM memory_messages WHERE thread_id = ? AND id = ?"
            return sum(connection.execute(query, key).rowcount for key in set(keys))

        return await self._db.write(work)

    async def save_turn(self, turn: Turn) -> None:
        """Save a turn, wholly or not at all."""
        await self._db.write(partial(_save, turn))

    # working memory

    async def working(self, scope: WorkingScope, owner: str) -> str | None:
        """Return a working memory, or None where there is none yet."""
        return await self._db.read(partial(_working, scope, owner))

    async def change_working(self, change: WorkingChange) -> str | None:
        """Change a working memory; return it as it stands then."""
        return await self._db.write(partial(_change, change))

    # texts to be embedded

    async def pending(self, index: str, resource_id: str | None, limit: int) -> list[MessageRow]:
        """Return messages of a resource's threads that are still to be embedded, oldest first."""
        query = (
            "SELECT m.thread_id, m.id, m.role, m.created_at, m.document, m.position FROM memory_pending p "
            "JOIN memory_messages m ON m.thread_id = p.thread_id AND m.id = p.message_id "
            "JOIN memory_threads t ON t.id = p.thread_id "
            "WHERE p.index_name = ? AND t.resource_id IS ? ORDER BY m.created_at, m.thread_id, m.position LIMIT ?"
        )

        def work(connection: sqlite3.Connection) -> list[MessageRow]:
            return [message_of(row) for row in connection.execute(query, (index, resource_id, limit))]

        return await self._db.read(work)

    async def clear_pending(self, index: str, keys: Collection[MessageKey]) -> None:
        """Note that messages are embedded."""
        values = [(index, *key) for key in keys]
        await self._db.write(
            lambda connection: connection.executemany(
                "DELETE FROM memory_pending WHERE index_name = ? AND thread_id = ? AND message_id = ?", values
            )
        )

    # leases

    async def acquire(self, thread_id: str, token: str, lease_s: float) -> bool:
        """Take the lease of a thread; one whose holder's process is gone is free."""

        def work(connection: sqlite3.Connection) -> bool:
            held = _lease(connection, thread_id)
            now = time.time()
            if held is not None and held[0] != token and held[1] > now and not holder_is_gone(held[0]):
                return False
            connection.execute(
                "INSERT INTO memory_leases VALUES (?, ?, ?) ON CONFLICT (thread_id) DO UPDATE SET "
                "token = excluded.token, expires_at = excluded.expires_at",
                (thread_id, token, now + lease_s),
            )
            return True

        return await self._db.write(work)

    async def renew(self, thread_id: str, token: str, lease_s: float) -> bool:
        """Hold a lease for longer; False: it is no longer one's own."""

        def work(connection: sqlite3.Connection) -> bool:
            done = connection.execute(
                "UPDATE memory_leases SET expires_at = ? WHERE thread_id = ? AND token = ?",
                (time.time() + lease_s, thread_id, token),
            )
            return done.rowcount == 1

        return await self._db.write(work)

    async def release(self, thread_id: str, token: str) -> None:
        """Give a lease back."""
        await self._db.write(lambda connection: _release(connection, thread_id, token))


def _thread(thread_id: str, connection: sqlite3.Connection) -> Thread | None:
    row = connection.execute(f"{_THREAD} WHERE id = ?", (thread_id,)).fetchone()
    return None if row is None else thread_of(row)


def _own(connection: sqlite3.Connection, thread_id: str, resource_id: str | None) -> bool:
    """Say whether there is such a thread.

    Raises:
        StorageError: It belongs to another resource.
    """
    row = connection.execute("SELECT resource_id FROM memory_threads WHERE id = ?", (thread_id,)).fetchone()
    if row is not None and row[0] != resource_id:
        raise foreign_thread(thread_id)
    return row is not None


def _newest(thread_id: str, count: int | None, before: str | None, connection: sqlite3.Connection) -> list[MessageRow]:
    upto = 1 << 62
    if before is not None:
        row = connection.execute(
            "SELECT position FROM memory_messages WHERE thread_id = ? AND id = ?", (thread_id, before)
        ).fetchone()
        if row is None:
            return []
        upto = row[0]
    since = 0
    if count is not None:
        if count <= 0:
            return []
        row = connection.execute(
            "SELECT position FROM memory_messages WHERE thread_id = ? AND position < ? AND role <> 'signal' "
            "ORDER BY position DESC LIMIT 1 OFFSET ?",
            (thread_id, upto, count - 1),
        ).fetchone()
        since = 0 if row is None else row[0]
    rows = connection.execute(
        f"{_MESSAGE} WHERE thread_id = ? AND position >= ? AND position < ? ORDER BY position",
        (thread_id, since, upto),
    )
    return [message_of(row) for row in rows]


def _around(thread_id: str, ids: str, before: int, after: int, connection: sqlite3.Connection) -> list[MessageRow]:
    near = (
        "SELECT position FROM memory_messages WHERE thread_id = ? AND role <> 'signal' AND position "
        "{} ? ORDER BY position {} LIMIT ?"
    )
    found = connection.execute(_MATCHED, (thread_id, ids)).fetchall()
    wanted: set[int] = set()
    for (position,) in found:
        wanted.add(position)
        for sign, order, count in (("<", "DESC", before), (">", "ASC", after)):
            rows = connection.execute(near.format(sign, order), (thread_id, position, count))
            wanted.update(row[0] for row in rows)
    rows = connection.execute(
        f"{_MESSAGE} WHERE thread_id = ? AND position {_MANY} ORDER BY position",
        (thread_id, json.dumps(sorted(wanted))),
    )
    return [message_of(row) for row in rows]


def _save(turn: Turn, connection: sqlite3.Connection) -> None:
    if turn.lease is not None:
        held = _lease(connection, turn.thread_id)
        if held is None or held[0] != turn.lease:
            raise lost_lease(turn.thread_id)
    _save_rows(turn, connection)
    for change in turn.working:
        _change(change, connection)
    if turn.lease is not None and turn.release:
        _release(connection, turn.thread_id, turn.lease)
    from_thread.check_cancelled()


def _put_thread(thread: Thread, connection: sqlite3.Connection) -> None:
    _own(connection, thread.id, thread.resource_id)
    connection.execute(
        "INSERT INTO memory_threads VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
        "updated_at = excluded.updated_at, title = excluded.title, metadata = excluded.metadata",
        (
            thread.id,
            thread.resource_id,
            to_us(thread.created_at),
            to_us(thread.updated_at),
            None if thread.title is None else clean_text(thread.title),
            metadata_text(thread.metadata),
        ),
    )


def _save_rows(turn: Turn, connection: sqlite3.Connection) -> None:
    if turn.thread is not None:
        _put_thread(turn.thread, connection)
    there = _own(connection, turn.thread_id, turn.resource_id)
    if not turn.rows:
        return
    now = to_us(turn.now)
    if there:
        connection.execute("UPDATE memory_threads SET updated_at = ? WHERE id = ?", (now, turn.thread_id))
    else:
        connection.execute(
            "INSERT INTO memory_threads VALUES (?, ?, ?, ?, NULL, '{}')",
            (turn.thread_id, turn.resource_id, now, now),
        )
    last: int = connection.execute(
        "SELECT COALESCE(MAX(position), 0) FROM memory_messages WHERE thread_id = ?", (turn.thread_id,)
    ).fetchone()[0]
    for row in turn.rows:
        done = connection.execute(
            "INSERT INTO memory_messages VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (thread_id, id) DO UPDATE SET "
            "role = excluded.role, document = excluded.document RETURNING position",
            (turn.thread_id, last + 1, row.id, row.role, to_us(row.created_at), row.document),
        ).fetchone()
        last = max(last, done[0])
    connection.executemany(
        "INSERT INTO memory_pending VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(index, turn.thread_id, message_id) for index, message_id in turn.pending],
    )


def _working(scope: WorkingScope, owner: str, connection: sqlite3.Connection) -> str | None:
    row = connection.execute(
        "SELECT document FROM memory_working WHERE scope = ? AND owner = ?", (scope, owner)
    ).fetchone()
    return None if row is None else row[0]


def _change(change: WorkingChange, connection: sqlite3.Connection) -> str | None:
    text = _working(change.scope, change.owner, connection)
    new = change.change(text)
    if new is not None and new != text:
        connection.execute(
            "INSERT INTO memory_working VALUES (?, ?, ?) ON CONFLICT (scope, owner) DO UPDATE SET "
            "document = excluded.document",
            (change.scope, change.owner, new),
        )
    return text if new is None else new


def _lease(connection: sqlite3.Connection, thread_id: str) -> tuple[str, float] | None:
    return connection.execute(
        "SELECT token, expires_at FROM memory_leases WHERE thread_id = ?", (thread_id,)
    ).fetchone()


def _release(connection: sqlite3.Connection, thread_id: str, token: str) -> None:
    connection.execute("DELETE FROM memory_leases WHERE thread_id = ? AND token = ?", (thread_id, token))
