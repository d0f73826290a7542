"""`SQLiteVectors`: embeddings in an SQLite file, searched by brute force."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final, Self

from sluiceway.memory._blocks import Blocks, VectorRow, to_blob
from sluiceway.memory._port import MessageKey
from sluiceway.memory._vectors import Match, VectorEntry, check_index
from sluiceway.storage import SQLite

__all__ = ["SQLiteVectors"]

_MIGRATIONS: Final = (
    """
    CREATE TABLE memory_vector_indexes (
        name TEXT PRIMARY KEY,
        dimension INTEGER NOT NULL,
        model_id TEXT NOT NULL,
        deletions INTEGER NOT NULL
    );
    CREATE TABLE memory_vectors (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        index_name TEXT NOT NULL REFERENCES memory_vector_indexes (name) ON DELETE CASCADE,
        thread_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        resource_id TEXT,
        vector BLOB NOT NULL,
        UNIQUE (thread_id, message_id, index_name)
    );
    CREATE INDEX memory_vectors_by_resource ON memory_vectors (index_name, resource_id, seq);
    CREATE INDEX memory_vectors_by_thread ON memory_vectors (index_name, thread_id, seq)
    """,
)

_OWNED: Final = (
    "SELECT seq, thread_id, message_id, vector FROM memory_vectors "
    "WHERE index_name = ? AND {0} IS ? AND seq > ? ORDER BY seq"
)


class SQLiteVectors:
    """Embeddings in an SQLite file, which may be the one that the messages are in.

    Searched by brute force with numpy, one resource or thread at a time; what was read is kept
    in memory, up to 256 MB, so that the next search reads only what is new.

    Args:
        path: The file, made with its folder where it is not there; `":memory:"`: in memory.
        busy_s: How long to wait for another program that writes, in seconds.
    """

    def __init__(self, path: str | Path, *, busy_s: float = 10.0) -> None:
        file = None if str(path) == ":memory:" else path
        self._db = SQLite(file, component="vectors", migrations=_MIGRATIONS, busy_s=busy_s)
        self._blocks = Blocks()

    async def __aenter__(self) -> Self:
        await self._db.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._db.__aexit__(*error)

    async def aclose(self) -> None:
        """Close the file; a later call opens it again."""
        await self._db.aclose()

    async def prepare(self, index: str, dimension: int, model_id: str) -> None:
        """Make an index, or check that it is of this model."""
        query = "SELECT dimension, model_id FROM memory_vector_indexes WHERE name = ?"
        there = await self._db.read(lambda connection: connection.execute(query, (index,)).fetchone())
        if there is None:

            def make(connection: sqlite3.Connection) -> Any:
                # Deletions are counted from anywhere: what was read of a file that was here before is then not taken
                # for this one's.
                connection.execute(
                    "INSERT INTO memory_vector_indexes VALUES (?, ?, ?, RANDOM() / 4) ON CONFLICT DO NOTHING",
                    (index, dimension, model_id),
                )
                return connection.execute(query, (index,)).fetchone()

            there = await self._db.write(make)
        check_index(index, tuple(there), dimension, model_id)

    async def upsert(self, index: str, entries: Sequence[VectorEntry]) -> None:
        """Put embeddings in, in place of those that their messages had."""
        rows = [(index, e.thread_id, e.message_id, e.resource_id, to_blob(e.vector)) for e in entries]

        def work(connection: sqlite3.Connection) -> None:
            _delete(connection, [(e.thread_id, e.message_id) for e in entries], index)
            connection.executemany(
                "INSERT INTO memory_vectors (index_name, thread_id, message_id, resource_id, vector) "
                "VALUES (?, ?, ?, ?, ?)",
                rows,
            )

        await self._db.write(work)

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
        column, value = ("resource_id", resource_id) if thread_id is None else ("thread_id", thread_id)

        def work(connection: sqlite3.Connection) -> list[Match]:
            made = connection.execute("SELECT deletions FROM memory_vector_indexes WHERE name = ?", (index,)).fetchone()
            if made is None:
                return []

            def rows_since(last: int) -> list[VectorRow]:
                return connection.execute(_OWNED.format(column), (index, value, last)).fetchall()

            return self._blocks.search((index, column, value), made[0], rows_since, vector, top_k)

        return await self._db.read(work)

    async def delete(self, keys: Collection[MessageKey]) -> None:
        """Delete the embeddings of messages from every index."""
        await self._db.write(lambda connection: _delete(connection, keys, None))

    async def delete_thread(self, thread_id: str) -> None:
        """Delete the embeddings of a thread from every index."""

        def work(connection: sqlite3.Connection) -> None:
            rows = connection.execute(
                "SELECT thread_id, message_id FROM memory_vectors WHERE thread_id = ?", (thread_id,)
            )
            _delete(connection, rows.fetchall(), None)

        await self._db.write(work)


def _delete(connection: sqlite3.Connection, keys: Collection[MessageKey], index: str | None) -> None:
    touched: set[str] = set()
    for thread_id, message_id in keys:
        rows = connection.execute(
            "DELETE FROM memory_vectors WHERE thread_id = ? AND message_id = ? "
            "AND (?3 IS NULL OR index_name = ?3) RETURNING index_name",
            (thread_id, message_id, index),
        )
        touched.update(row[0] for row in rows)
    connection.execute(
        "UPDATE memory_vector_indexes SET deletions = deletions + 1 WHERE name IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(touched)),),
    )
