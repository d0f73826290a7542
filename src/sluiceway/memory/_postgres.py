"""`PostgresStore`: memory in PostgreSQL, for more than one machine."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
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
from sluiceway.memory._postgres_schema import MIGRATIONS
from sluiceway.memory._rows import message_of, metadata_text, resource_of, thread_of, to_us
from sluiceway.storage import PgConnection, Postgres, holder_is_gone

__all__ = ["PostgresStore"]

_THREAD: Final = "SELECT id, resource_id, created_at, updated_at, title, metadata FROM memory_threads"
_MESSAGE: Final = "SELECT thread_id, id, role, created_at, document, position FROM memory_messages"


class PostgresStore:
    """Memory in PostgreSQL: extra `postgres`.

    Safe from any number of tasks, processes and machines. Leases go by the database's clock.
    Connections are open only during a call, a run, or `async with store:`.

    Args:
        dsn: Such as `postgresql://user@host/database`.
        pool_size: How many connections, and calls at once.

    Raises:
        ConfigurationError: The address is none of PostgreSQL, or a package is missing.
    """

    def __init__(self, dsn: str, *, pool_size: int = 8) -> None:
        self._db = Postgres(dsn, component="memory", migrations=MIGRATIONS, pool_size=pool_size)

    @property
    def key(self) -> str:
        """What is the same for two stores of one database."""
        return self._db.key

    async def __aenter__(self) -> Self:
        await self._db.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._db.__aexit__(None, None, None)

    async def aclose(self) -> None:
        """Close the connections, unless they are in use or held; a later call opens them again."""
        await self._db.aclose()

    def _run(self, connection: PgConnection, query: str, **values: Any) -> Any:
        return connection.execute(self._db.sql(query), values)

    # threads and resources

    async def thread(self, thread_id: str) -> Thread | None:
        """Return a thread, or None."""

        def work(connection: PgConnection) -> Thread | None:
            row = self._run(connection, f"{_THREAD} WHERE id = :id", id=thread_id).first()
            return None if row is None else thread_of(row)

        return await self._db.read(work)

    async def threads(self, resource_id: str | None = None, *, limit: int = 100, offset: int = 0) -> list[Thread]:
        """Return the threads of a resource, or all, the one with the newest turn first."""
        where = "" if resource_id is None else "WHERE resource_id = :resource_id"
        query = f"{_THREAD} {where} ORDER BY updated_at DESC, id LIMIT :count OFFSET :skipped"
        values: dict[str, Any] = {"count": limit, "skipped": offset}
        if resource_id is not None:
            values["resource_id"] = resource_id
        return await self._db.read(
            lambda connection: [thread_of(row) for row in self._run(connection, query, **values)]
        )

    async def save_thread(self, thread: Thread) -> None:
        """Make a thread, or replace the title and metadata of one; its owner stays."""
        await self._db.write(partial(self._put_thread, thread))

    def _put_thread(self, thread: Thread, connection: PgConnection) -> None:
        self._touch_thread(connection, thread)
        self._run(
            connection,
            "UPDATE memory_threads SET title = :title, metadata = :metadata WHERE id = :id",
            id=thread.id,
            title=None if thread.title is None else clean_text(thread.title),
            metadata=metadata_text(thread.metadata),
        )

    def _touch_thread(self, connection: PgConnection, thread: Thread) -> None:
        """Make a thread or lock the one that is there.

        Raises:
            StorageError: It belongs to another resource.
        """
        row = self._run(
            connection,
            "INSERT INTO memory_threads VALUES (:id, :resource_id, :created_at, :updated_at, NULL, '{}') "
            "ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at RETURNING resource_id",
            id=thread.id,
            resource_id=thread.resource_id,
            created_at=to_us(thread.created_at),
            updated_at=to_us(thread.updated_at),
        ).one()
        if row[0] != thread.resource_id:
            raise foreign_thread(thread.id)

    async def delete_thread(self, thread_id: str) -> bool:
        """Delete a thread with all that hangs on it; say whether there was one."""

        def work(connection: PgConnection) -> bool:
            query = "DELETE FROM memory_working WHERE scope = 'thread' AND owner = :id"
            self._run(connection, query, id=thread_id)
            return self._run(connection, "DELETE FROM memory_threads WHERE id = :id", id=thread_id).rowcount == 1

        return await self._db.write(work)

    async def resource(self, resource_id: str) -> Resource | None:
        """Return a resource, or None."""
        query = "SELECT id, metadata, created_at, updated_at FROM memory_resources WHERE id = :id"

        def work(connection: PgConnection) -> Resource | None:
            row = self._run(connection, query, id=resource_id).first()
            return None if row is None else resource_of(row)

        return await self._db.read(work)

    async def save_resource(self, resource: Resource) -> None:
        """Make a resource, or replace the metadata of one."""
        await self._db.write(
            lambda connection: self._run(
                connection,
                "INSERT INTO memory_resources VALUES (:id, :metadata, :created_at, :updated_at) "
                "ON CONFLICT (id) DO UPDATE SET metadata = excluded.metadata, updated_at = excluded.updated_at",
                id=resource.id,
                metadata=metadata_text(resource.metadata),
                created_at=to_us(resource.created_at),
                updated_at=to_us(resource.updated_at),
            )
        )

    # messages

    async def newest(self, thread_id: str, count: int | None = None, *, before: str | None = None) -> list[MessageRow]:
        """Return the newest messages of a thread, oldest first; signals are not counted."""
        return await self._db.read(partial(self._newest, thread_id, count, before))

    def _newest(
        self, thread_id: str, count: int | None, before: str | None, connection: PgConnection
    ) -> list[MessageRow]:
        upto: int | None = 1 << 62
        if before is not None:
            query = "SELECT position FROM memory_messages WHERE thread_id = :thread_id AND id = :id"
            upto = self._run(connection, query, thread_id=thread_id, id=before).scalar()
        if upto is None or (count is not None and count <= 0):
            return []
        since = 0
        if count is not None:
            query = (
                "SELECT position FROM memory_messages WHERE thread_id = :thread_id AND position < :upto "
                "AND role <> 'signal' ORDER BY position DESC LIMIT 1 OFFSET :skipped"
            )
            found = self._run(connection, query, thread_id=thread_id, upto=upto, skipped=count - 1).scalar()
            since = found or 0
        query = f"{_MESSAGE} WHERE thread_id = :thread_id AND position >= :since AND position < :upto ORDER BY position"
        rows = self._run(connection, query, thread_id=thread_id, since=since, upto=upto)
        return [message_of(row) for row in rows]

    async def around(self, thread_id: str, ids: Collection[str], before: int, after: int) -> list[MessageRow]:
        """Return messages of a thread with neighbours, in order, each once; no signals."""
        near = (
            "SELECT position FROM memory_messages WHERE thread_id = :thread_id AND role <> 'signal' "
            "AND position {} :position ORDER BY position {} LIMIT :count"
        )
        matched = (
            "SELECT position FROM memory_messages WHERE thread_id = :thread_id AND role <> 'signal' AND id = ANY(:ids)"
        )

        def work(connection: PgConnection) -> list[MessageRow]:
            wanted: set[int] = set()
            for (position,) in self._run(connection, matched, thread_id=thread_id, ids=list(ids)).all():
                wanted.add(position)
                for sign, order, count in (("<", "DESC", before), (">", "ASC", after)):
                    query = near.format(sign, order)
                    rows = self._run(connection, query, thread_id=thread_id, position=position, count=count)
                    wanted.update(row[0] for row in rows)
            query = f"{_MESSAGE} WHERE thread_id = :thread_id AND position = ANY(:wanted) ORDER BY position"
            rows = self._run(connection, query, thread_id=thread_id, wanted=sorted(wanted))
            return [message_of(row) for row in rows]

        return await self._db.read(work)

    async def find(self, ids: Collection[str], thread_id: str | None = None) -> list[MessageRow]:
        """Return the messages with these ids, of one thread or of all."""
        query = f"{_MESSAGE} WHERE id = ANY(:ids)"
        values: dict[str, Any] = {"ids": list(ids)}
        if thread_id is not None:
            query += " AND thread_id = :thread_id"
            values["thread_id"] = thread_id
        return await self._db.read(
            lambda connection: [
                message_of(row) for row in self._run(connection, f"{query} ORDER BY thread_id, position", **values)
            ]
        )

    async def delete_messages(self, keys: Collection[MessageKey]) -> int:
        """Delete messages; return how many there were."""
        query = "DELETE FROM memory_messages WHERE thread_id = :thread_id AND id = :id"

        def work(connection: PgConnection) -> int:
            return sum(self._run(connection, query, thread_id=t, id=m).rowcount for t, m in sorted(set(keys)))

        return await self._db.write(work)

    async def save_turn(self, turn: Turn) -> None:
        """Save a turn, wholly or not at all."""
        await self._db.write(partial(self._save, turn))

    def _save(self, turn: Turn, connection: PgConnection) -> None:
        if turn.lease is not None:
            query = "SELECT token FROM memory_leases WHERE thread_id = :id FOR UPDATE"
            if self._run(connection, query, id=turn.thread_id).scalar() != turn.lease:
                raise lost_lease(turn.thread_id)
        self._save_rows(turn, connection)
        for change in turn.working:
            self._change(change, connection)
        if turn.lease is not None and turn.release:
            self._release(connection, turn.thread_id, turn.lease)
        from_thread.check_cancelled()

    def _save_rows(self, turn: Turn, connection: PgConnection) -> None:
        if turn.thread is not None:
            self._put_thread(turn.thread, connection)
        if not turn.rows:
            query = "SELECT resource_id FROM memory_threads WHERE id = :id"
            row = self._run(connection, query, id=turn.thread_id).first()
            if row is not None and row[0] != turn.resource_id:
                raise foreign_thread(turn.thread_id)
            return
        self._touch_thread(connection, Thread(turn.thread_id, turn.resource_id, turn.now, turn.now))
        query = "SELECT COALESCE(MAX(position), 0) FROM memory_messages WHERE thread_id = :id"
        last: int = self._run(connection, query, id=turn.thread_id).scalar()
        for row in turn.rows:
            position = self._run(
                connection,
                "INSERT INTO memory_messages VALUES (:thread_id, :position, :id, :role, :created_at, :document) "
                "ON CONFLICT (thread_id, id) DO UPDATE SET role = excluded.role, document = excluded.document "
                "RETURNING position",
                thread_id=turn.thread_id,
                position=last + 1,
                id=row.id,
                role=row.role,
                created_at=to_us(row.created_at),
                document=row.document,
            ).scalar()
            last = max(last, position)
        for index, message_id in turn.pending:
            self._run(
                connection,
                "INSERT INTO memory_pending VALUES (:index, :thread_id, :message_id) ON CONFLICT DO NOTHING",
                index=index,
                thread_id=turn.thread_id,
                message_id=message_id,
            )

    # working memory

    async def working(self, scope: WorkingScope, owner: str) -> str | None:
        """Return a working memory, or None where there is none yet."""
        return await self._db.read(partial(self._working, scope, owner))

    def _working(self, scope: WorkingScope, owner: str, connection: PgConnection) -> str | None:
        query = "SELECT document FROM memory_working WHERE scope = :scope AND owner = :owner"
        return self._run(connection, query, scope=scope, owner=owner).scalar()

    async def change_working(self, change: WorkingChange) -> str | None:
        """Change a working memory; return it as it stands then."""
        return await self._db.write(partial(self._change, change))

    def _change(self, change: WorkingChange, connection: PgConnection) -> str | None:
        lock = "SELECT pg_advisory_xact_lock(hashtextextended(:name, 7))"
        self._run(connection, lock, name=f"working/{change.scope}/{change.owner}")
        text = self._working(change.scope, change.owner, connection)
        new = change.change(text)
        if new is not None and new != text:
            self._run(
                connection,
                "INSERT INTO memory_working VALUES (:scope, :owner, :document) "
                "ON CONFLICT (scope, owner) DO UPDATE SET document = excluded.document",
                scope=change.scope,
                owner=change.owner,
                document=new,
            )
        return text if new is None else new

    # texts to be embedded

    async def pending(self, index: str, resource_id: str | None, limit: int) -> list[MessageRow]:
        """Return messages of a resource's threads that are still to be embedded, oldest first."""
        query = (
            "SELECT m.thread_id, m.id, m.role, m.created_at, m.document, m.position FROM memory_pending p "
            "JOIN memory_messages m ON m.thread_id = p.thread_id AND m.id = p.message_id "
            "JOIN memory_threads t ON t.id = p.thread_id WHERE p.index_name = :index "
            "AND t.resource_id IS NOT DISTINCT FROM CAST(:resource_id AS TEXT) "
            "ORDER BY m.created_at, m.thread_id, m.position LIMIT :count"
        )

        def work(connection: PgConnection) -> list[MessageRow]:
            rows = self._run(connection, query, index=index, resource_id=resource_id, count=limit)
            return [message_of(row) for row in rows]

        return await self._db.read(work)

    async def clear_pending(self, index: str, keys: Collection[MessageKey]) -> None:
        """Note that messages are embedded."""
        query = (
            "DELETE FROM memory_pending WHERE index_name = :index AND thread_id = :thread_id "
            "AND message_id = :message_id"
        )

        def work(connection: PgConnection) -> None:
            for thread_id, message_id in sorted(set(keys)):
                self._run(connection, query, index=index, thread_id=thread_id, message_id=message_id)

        await self._db.write(work)

    # leases

    async def acquire(self, thread_id: str, token: str, lease_s: float) -> bool:
        """Take the lease of a thread; one whose holder's process is gone is free."""
        query = (
            "INSERT INTO memory_leases VALUES (:id, :token, clock_timestamp() + make_interval(secs => :lease_s)) "
            "ON CONFLICT (thread_id) DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at "
            "WHERE memory_leases.token = :token OR memory_leases.token = :gone "
            "OR memory_leases.expires_at <= clock_timestamp() RETURNING token"
        )

        def work(connection: PgConnection) -> bool:
            held = self._run(connection, "SELECT token FROM memory_leases WHERE thread_id = :id", id=thread_id).scalar()
            gone = held if held is not None and holder_is_gone(held) else ""
            values = {"id": thread_id, "token": token, "lease_s": lease_s, "gone": gone}
            return self._run(connection, query, **values).first() is not None

        return await self._db.write(work)

    async def renew(self, thread_id: str, token: str, lease_s: float) -> bool:
        """Hold a lease for longer; False: it is no longer one's own."""
        query = (
            "UPDATE memory_leases SET expires_at = clock_timestamp() + make_interval(secs => :lease_s) "
            "WHERE thread_id = :id AND token = :token"
        )

        def work(connection: PgConnection) -> bool:
            return self._run(connection, query, id=thread_id, token=token, lease_s=lease_s).rowcount == 1

        return await self._db.write(work)

    async def release(self, thread_id: str, token: str) -> None:
        """Give a lease back."""
        await self._db.write(lambda connection: self._release(connection, thread_id, token))

    def _release(self, connection: PgConnection, thread_id: str, token: str) -> None:
        query = "DELETE FROM memory_leases WHERE thread_id = :id AND token = :token"
        self._run(connection, query, id=thread_id, token=token)
