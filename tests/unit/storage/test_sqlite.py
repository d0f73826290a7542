"""SQLite from worker threads."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import anyio
import pytest

from sluiceway.errors import StorageError
from sluiceway.storage import SQLite

pytestmark = pytest.mark.anyio

TABLES = ("CREATE TABLE t (x INTEGER PRIMARY KEY)",)


def database(path: Path | None, migrations: tuple[str, ...] = TABLES) -> SQLite:
    return SQLite(path, component="test", migrations=migrations)


def add(x: int) -> object:
    return lambda connection: connection.execute("INSERT INTO t VALUES (?)", (x,))


def values(connection: sqlite3.Connection) -> list[int]:
    return [row[0] for row in connection.execute("SELECT x FROM t ORDER BY x")]


async def test_what_was_written_is_read(tmp_path: Path) -> None:
    db = database(tmp_path / "a.db")
    await db.write(add(1))  # pyright: ignore[reportArgumentType]
    assert await db.read(values) == [1]
    assert await database(tmp_path / "a.db").read(values) == [1]


async def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    db = database(tmp_path / "a.db")

    def half(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO t VALUES (1)")
        raise KeyError("kaput")

    with pytest.raises(KeyError):
        await db.write(half)
    assert await db.read(values) == []


async def test_a_change_that_is_cancelled_is_done_or_not_begun(tmp_path: Path) -> None:
    db = database(tmp_path / "a.db")
    with anyio.CancelScope() as scope:
        scope.cancel()
        await db.write(add(1))  # pyright: ignore[reportArgumentType]
    assert await db.read(values) == []


async def test_many_tasks_write_at_once(tmp_path: Path) -> None:
    db = database(tmp_path / "a.db")
    async with anyio.create_task_group() as group:
        for x in range(30):
            group.start_soon(db.write, add(x))  # pyright: ignore[reportArgumentType]
    assert await db.read(values) == list(range(30))


async def test_a_fault_of_the_database_is_a_storage_error(tmp_path: Path) -> None:
    db = database(tmp_path / "a.db")
    await db.write(add(1))  # pyright: ignore[reportArgumentType]
    with pytest.raises(StorageError, match=r"a\.db: UNIQUE constraint failed: t\.x") as caught:
        await db.write(add(1))  # pyright: ignore[reportArgumentType]
    assert isinstance(caught.value.__cause__, sqlite3.IntegrityError)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("held", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
async def test_opening_waits_for_another_program_that_has_made_the_file(tmp_path: Path, held: str) -> None:
    """The other has not turned on WAL mode yet; two that start together meet like that."""
    path = tmp_path / "new.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE theirs (x)")
    other.execute(held)
    timer = threading.Timer(0.1, other.execute, ["COMMIT"])
    timer.start()
    db = database(path)
    await db.write(add(1))  # pyright: ignore[reportArgumentType]
    assert await db.read(values) == [1]
    timer.join()
    other.close()


async def test_a_database_that_is_locked_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluiceway.storage._sqlite.BUSY_S", 0.05)
    db = database(tmp_path / "a.db")
    await db.read(values)
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(StorageError, match="another program holds it; try again"):
            await db.write(add(1))  # pyright: ignore[reportArgumentType]
    finally:
        other.close()
    await db.write(add(1))  # pyright: ignore[reportArgumentType]
    assert await db.read(values) == [1]


async def test_a_block_keeps_the_file_open_and_closes_it(tmp_path: Path) -> None:
    db = database(tmp_path / "a.db")
    async with db, db:
        await db.write(add(1))  # pyright: ignore[reportArgumentType]
        assert (tmp_path / "a.db-wal").exists()
    assert not (tmp_path / "a.db-wal").exists()


async def test_memory_stays_until_it_is_closed() -> None:
    db = database(None)
    await db.write(add(1))  # pyright: ignore[reportArgumentType]
    assert await db.read(values) == [1]
    await db.aclose()
    assert await db.read(values) == []
    await db.aclose()
