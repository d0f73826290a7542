"""`PostgresVectors`: embeddings in PostgreSQL, searched by pgvector where it is there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, Self

from sluiceway.errors import ConfigurationError
from sluiceway.memory._blocks import Blocks, VectorRow, to_blob
from sluiceway.memory._port import MessageKey
from sluiceway.memory._vectors import Match, VectorEntry, check_index
from sluiceway.storage import PgConnection, Postgres

__all__ = ["PostgresVectors"]

_MIGRATIONS: Final = (
    """
    CREATE TABLE memory_vector_indexes (
        name TEXT PRIMARY KEY,
        dimension INTEGER NOT NULL,
        model_id TEXT NOT NULL,
        deletions BIGINT NOT NULL
    );
    CREATE TABLE memory_vectors (
        seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        index_name TEXT NOT NULL REFERENCES memory_vector_indexes (name) ON DELETE CASCADE,
        thread_id TEXT COLLATE "C" NOT NULL,
        message_id TEXT COLLATE "C" NOT NULL,
        resource_id TEXT COLLATE "C",
        vector BYTEA,
        UNIQUE (thread_id, message_id, index_name)
    );
    CREATE INDEX memory_vectors_by_resource ON memory_vectors (index_name, resource_id, seq);
    CREATE INDEX memory_vectors_by_thread ON memory_vectors (index_name, thread_id, seq)
    """,
)

_INSERT: Final = (
    "INSERT INTO memory_vectors (index_name, thread_id, message_id, resource_id, {0}) "
    "VALUES (:index, :thread_id, :message_id, :resource_id, {1})"
)
_OWNED: Final = "FROM memory_vectors WHERE index_name = :index AND {0} IS NOT DISTINCT FROM CAST(:owner AS TEXT)"
_BY_HAND: Final = f"SELECT seq, thread_id, message_id, vector {_OWNED} AND seq > :last ORDER BY seq"
_BY_DATABASE: Final = (
    "SELECT thread_id, message_id, COALESCE(NULLIF(1 - (embedding <=> CAST(:vector AS vector)), 'NaN'), 0) AS score "
    f"{_OWNED} AND embedding IS NOT NULL ORDER BY score DESC, thread_id, message_id LIMIT :count"
)


class PostgresVectors:
    """Embeddings in PostgreSQL: extra `postgres`.

    With the extension pgvector the database searches, exactly, among the vectors of a resource
    or thread. Without it they are searched by brute force with numpy (extra `vectors`); what
    was read is kept in memory, up to 256 MB.

    Args:
        dsn: Such as `postgresql://user@host/database`.
        pgvector: Whether to use the extension; None: where the database has it or may make it.
            One database is to be used one way.
        pool_size: How many connections, and calls at once.

    Raises:
        ConfigurationError: The address is none of PostgreSQL, or a package is missing.
    """

    def __init__(self, dsn: str, *, pgvector: bool | None = None, pool_size: int = 8) -> None:
        self._db = Postgres(dsn, component="vectors", migrations=_MIGRATIONS, pool_size=pool_size)
        self._wanted = pgvector
        self._native: bool | None = None
        self._blocks = Blocks()

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

    def _is_native(self, connection: PgConnection) -> bool:
        """Whether pgvector is used; its column is made at the first call that finds it."""
        if self._native is None:
            there = self._run(connection, "SELECT 1 FROM pg_extension WHERE extname = 'vector'").first()
            if there is None and self._wanted is not False:
                may = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
                there = self._run(connection, may).first()
                if there is not None:
                    self._run(connection, "CREATE EXTENSION IF NOT EXISTS vector")
            if there is None and self._wanted:
                raise ConfigurationError("pgvector=True, but the database has no extension `vector`")
            self._native = there is not None and self._wanted is not False
            if self._native:
                self._run(connection, "ALTER TABLE memory_vectors ADD COLUMN IF NOT EXISTS embedding vector")
        return self._native

    async def prepare(self, index: str, dimension: int, model_id: str) -> None:
        """Make an index, or check that it is of this model."""
        query = "SELECT dimension, model_id FROM memory_vector_indexes WHERE name = :index"

        def work(connection: PgConnection) -> Any:
            there = self._run(connection, query, index=index).first()
            if there is None:
                self._run(
                    connection,
                    "INSERT INTO memory_vector_indexes VALUES (:index, :dimension, :model_id, 0) "
                    "ON CONFLICT DO NOTHING",
                    index=index,
                    dimension=dimension,
                    model_id=model_id,
                )
                there = self._run(connection, query, index=index).first()
            return there

        there = await self._db.write(work)
        check_index(index, (there[0], there[1]), dimension, model_id)

    async def upsert(self, index: str, entries: Sequence[VectorEntry]) -> None:
        """Put embeddings in, in place of those that their messages had."""

        def work(connection: PgConnection) -> None:
            native = self._is_native(connection)
            query = _INSERT.format(*(("embedding", "CAST(:vector AS vector)") if native else ("vector", ":vector")))
            self._lock(connection, index)
            self._delete(connection, [(e.thread_id, e.message_id) for e in entries], index)
            for entry in entries:
                self._run(
                    connection,
                    query,
                    index=index,
                    thread_id=entry.thread_id,
                    message_id=entry.message_id,
                    resource_id=entry.resource_id,
                    vector=_literal(entry.vector) if native else to_blob(entry.vector),
                )

        await self._db.write(work)

    def _lock(self, connection: PgConnection, index: str) -> None:
        """Let writers of an index wait for one another, so that no sequence number shows up late."""
        self._run(connection, "SELECT 1 FROM memory_vector_indexes WHERE name = :index FOR UPDATE", index=index)

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
        column, owner = ("resource_id", resource_id) if thread_id is None else ("thread_id", thread_id)
        by_database = _BY_DATABASE.format(column)
        by_hand = _BY_HAND.format(column)

        def work(connection: PgConnection) -> list[Match]:
            if self._is_native(connection):
                values = {"index": index, "owner": owner, "vector": _literal(vector), "count": top_k}
                return [Match(*row) for row in self._run(connection, by_database, **values)]
            made = "SELECT deletions FROM memory_vector_indexes WHERE name = :index"
            deletions = self._run(connection, made, index=index).scalar()
            if deletions is None:
                return []

            def rows_since(last: int) -> list[VectorRow]:
                rows = self._run(connection, by_hand, index=index, owner=owner, last=last)
                return [(row[0], row[1], row[2], bytes(row[3])) for row in rows]

            return self._blocks.search((index, column, owner), deletions, rows_since, vector, top_k)

        return await self._db.read(work)

    async def delete(self, keys: Collection[MessageKey]) -> None:
        """Delete the embeddings of messages from every index."""
        await self._db.write(lambda connection: self._delete(connection, keys, None))

    async def delete_thread(self, thread_id: str) -> None:
        """Delete the embeddings of a thread from every index."""
        query = "SELECT thread_id, message_id FROM memory_vectors WHERE thread_id = :thread_id"

        def work(connection: PgConnection) -> None:
            rows = self._run(connection, query, thread_id=thread_id).all()
            self._delete(connection, [(row[0], row[1]) for row in rows], None)

        await self._db.write(work)

    def _delete(self, connection: PgConnection, keys: Collection[MessageKey], index: str | None) -> None:
        query = (
            "DELETE FROM memory_vectors WHERE thread_id = :thread_id AND message_id = :message_id "
            "AND (CAST(:index AS TEXT) IS NULL OR index_name = :index) RETURNING index_name"
        )
        touched: set[str] = set()
        for thread_id, message_id in sorted(set(keys)):
            rows = self._run(connection, query, thread_id=thread_id, message_id=message_id, index=index)
            touched.update(row[0] for row in rows)
        if touched:
            bump = "UPDATE memory_vector_indexes SET deletions = deletions + 1 WHERE name = ANY(:names)"
            self._run(connection, bump, names=sorted(touched))


def _literal(vector: Sequence[float]) -> str:
    return f"[{','.join(repr(float(x)) for x in vector)}]"
