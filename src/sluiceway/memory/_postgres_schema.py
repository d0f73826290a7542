"""The tables of memory in PostgreSQL, version by version. A step that was published is never changed."""

from __future__ import annotations

from typing import Final

__all__ = ["MIGRATIONS"]

MIGRATIONS: Final = (
    """
    CREATE TABLE memory_threads (
        id TEXT COLLATE "C" PRIMARY KEY,
        resource_id TEXT COLLATE "C",
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        title TEXT,
        metadata TEXT NOT NULL
    );
    CREATE INDEX memory_threads_by_resource ON memory_threads (resource_id, updated_at, id);
    CREATE TABLE memory_messages (
        thread_id TEXT COLLATE "C" NOT NULL REFERENCES memory_threads (id) ON DELETE CASCADE,
        position BIGINT NOT NULL,
        id TEXT COLLATE "C" NOT NULL,
        role TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (thread_id, position),
        UNIQUE (thread_id, id)
    );
    CREATE INDEX memory_messages_by_id ON memory_messages (id);
    CREATE TABLE memory_resources (
        id TEXT COLLATE "C" PRIMARY KEY,
        metadata TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL
    );
    CREATE TABLE memory_working (
        scope TEXT NOT NULL,
        owner TEXT COLLATE "C" NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (scope, owner)
    );
    CREATE TABLE memory_pending (
        index_name TEXT NOT NULL,
        thread_id TEXT COLLATE "C" NOT NULL,
        message_id TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY (index_name, thread_id, message_id),
        FOREIGN KEY (thread_id, message_id) REFERENCES memory_messages (thread_id, id) ON DELETE CASCADE
    );
    CREATE INDEX memory_pending_by_message ON memory_pending (thread_id, message_id);
    CREATE TABLE memory_leases (
        thread_id TEXT COLLATE "C" PRIMARY KEY,
        token TEXT NOT NULL,
        expires_at TIMESTAMPTZ NOT NULL
    )
    """,
)
