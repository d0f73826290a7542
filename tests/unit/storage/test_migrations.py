"""Tables are brought up to date step by step."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from sluiceway.errors import StorageError
from sluiceway.storage import migrate

FIRST = "CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1)"
SECOND = "ALTER TABLE t ADD COLUMN y INTEGER DEFAULT 7"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    yield made
    made.close()


def rows(connection: sqlite3.Connection) -> list[tuple[int, ...]]:
    return connection.execute("SELECT * FROM t").fetchall()


def test_each_step_runs_once(connection: sqlite3.Connection) -> None:
    migrate(connection, "c", [FIRST])
    migrate(connection, "c", [FIRST])
    assert rows(connection) == [(1,)]
    migrate(connection, "c", [FIRST, SECOND])
    assert rows(connection) == [(1, 7)]


def test_components_have_versions_of_their_own(connection: sqlite3.Connection) -> None:
    migrate(connection, "a", [FIRST])
    migrate(connection, "b", ["CREATE TABLE u (x INTEGER)"])
    assert sorted(connection.execute("SELECT * FROM sluiceway_schema")) == [("a", 1), ("b", 1)]


def test_a_step_that_fails_leaves_all_as_it_was(connection: sqlite3.Connection) -> None:
    migrate(connection, "c", [FIRST])
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, "c", [FIRST, SECOND, "CREATE TABLE t (x INTEGER)"])
    assert rows(connection) == [(1,)]
    assert connection.execute("SELECT version FROM sluiceway_schema").fetchall() == [(1,)]


def test_tables_of_a_newer_version_are_left_alone(connection: sqlite3.Connection) -> None:
    migrate(connection, "c", [FIRST, SECOND])
    with pytest.raises(StorageError, match="the tables of 'c' have version 2, this program knows 1"):
        migrate(connection, "c", [FIRST])
    assert rows(connection) == [(1, 7)]
