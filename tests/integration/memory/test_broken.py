"""A database that is locked, full, read-only, damaged or gone: a clear error, and nothing half written."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from sqlalchemy import create_engine, text

from sluiceway import Message
from sluiceway.errors import ConfigurationError, StorageError
from sluiceway.memory import Memory, MemoryStore, PostgresStore, SQLiteStore
from tests.support.memory import ON, kept, remembering
from tests.support.postgres import fresh_schema
from tests.support.runs import collect

pytestmark = pytest.mark.anyio


def with_pragma(monkeypatch: pytest.MonkeyPatch, pragma: str) -> None:
    """Let every new connection begin with a pragma."""
    connect = sqlite3.connect

    def connected(*args: Any, **more: Any) -> sqlite3.Connection:
        connection = connect(*args, **more)
        connection.execute(pragma)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connected)


async def fails(store: MemoryStore, match: str) -> None:
    """See that a call on the store streams its answer, then ends in one clear error."""
    agent, _, _ = remembering("x" * 50_000, memory=Memory(store))
    ran = await collect(agent, "hi" * 20_000, memory=ON)

    assert isinstance(ran.error, StorageError)
    with pytest.raises(StorageError, match=match):
        raise ran.error
    assert [chunk.type for chunk in ran.chunks][-2:] == ["error", "finish"]


async def test_locked(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db", busy_s=0.02)
    await store.threads()
    holder = sqlite3.connect(tmp_path / "memory.db")
    try:
        holder.execute("BEGIN IMMEDIATE")
        await fails(store, "another program holds it; try again")
    finally:
        holder.close()
    agent, _, memory = remembering("now", memory=Memory(store))
    await agent.generate("hi", memory=ON)
    assert await kept(memory) == [("user", "hi"), ("assistant", "now")]


async def test_locked_when_the_turn_is_saved(tmp_path: Path) -> None:
    """What was streamed stays streamed; the result is the error, and nothing is stored."""
    store = SQLiteStore(tmp_path / "memory.db", busy_s=0.02)
    agent, _, memory = remembering("fine", memory=Memory(store))
    holder = sqlite3.connect(tmp_path / "memory.db")
    try:
        async with agent.stream("hi", memory=ON) as stream:
            text, last = "", None
            async for chunk in stream:
                if chunk.type == "text-delta":
                    text += chunk.text
                    holder.execute("BEGIN IMMEDIATE")
                last = chunk
            with pytest.raises(StorageError, match="another program holds it"):
                await stream.result()
    finally:
        holder.close()

    assert text == "fine"
    assert last is not None
    assert last.get("reason") == "error"
    assert await kept(memory) == []


async def test_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await SQLiteStore(tmp_path / "memory.db").threads()
    with_pragma(monkeypatch, "PRAGMA query_only = ON")

    await fails(SQLiteStore(tmp_path / "memory.db"), "it may only be read; see to the rights")


async def test_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading works, saving does not: none of the turn is there."""
    store = SQLiteStore(tmp_path / "memory.db")
    agent, _, memory = remembering("one", memory=Memory(store))
    await agent.generate("hi", memory=ON)
    pages = sqlite3.connect(tmp_path / "memory.db").execute("PRAGMA page_count").fetchone()[0]
    with monkeypatch.context() as patch:
        with_pragma(patch, f"PRAGMA max_page_count = {pages + 1}")
        await fails(store, "there is no space left on the disk")

    assert await kept(memory) == [("user", "hi"), ("assistant", "one")]
    await agent.generate("again", memory=ON)
    assert len(await kept(memory)) == 4


async def test_damaged(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"no database" * 1000)

    await fails(SQLiteStore(tmp_path / "memory.db"), "the file is something else, or damaged")


async def test_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    await fails(SQLiteStore(tmp_path / "file" / "memory.db"), "File exists")


async def test_written_by_a_newer_version(tmp_path: Path) -> None:
    await SQLiteStore(tmp_path / "memory.db").threads()
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        connection.execute("UPDATE sluiceway_schema SET version = 99")
    connection.close()

    await fails(SQLiteStore(tmp_path / "memory.db"), "have version 99, this program knows 1")


async def test_gone_while_it_runs(tmp_path: Path) -> None:
    """A file that is deleted is made anew; nothing hangs."""
    store = SQLiteStore(tmp_path / "memory.db")
    agent, _, memory = remembering("one", "two", memory=Memory(store))
    await agent.generate("hi", memory=ON)
    shutil.rmtree(tmp_path)

    await agent.generate("again", memory=ON)

    assert await kept(memory) == [("user", "again"), ("assistant", "two")]


def remove(path: Path) -> None:
    """Delete an SQLite file, with what lies beside it."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


@pytest.mark.parametrize("moved", [False, True])
async def test_gone_while_it_is_held_open(tmp_path: Path, moved: bool) -> None:
    """What is said from then on is in the file that is there, and not in one that nobody can open."""
    path = tmp_path / "memory.db"
    agent, _, memory = remembering("one", "two", "three", memory=Memory(SQLiteStore(path)))
    async with memory:
        await agent.generate("hi", memory=ON)
        if moved:
            shutil.move(path, tmp_path / "old.db")
        remove(path)
        await agent.generate("again", memory=ON)
        await agent.generate("more", memory=ON)

    expected = [("user", "again"), ("assistant", "two"), ("user", "more"), ("assistant", "three")]
    assert await kept(Memory(SQLiteStore(path))) == expected


async def test_no_server() -> None:
    await fails(PostgresStore("postgresql://nobody:secret-word@127.0.0.1:1/none"), "the database 'none' at 127.0.0.1")


async def test_an_error_of_the_server_holds_no_password() -> None:
    with pytest.raises(StorageError) as caught:
        await PostgresStore("postgresql://nobody:secret-word@127.0.0.1:1/none").threads()

    assert "secret-word" not in repr(caught.value)


async def test_the_server_closes_the_connections(postgres_url: str) -> None:
    store = PostgresStore(fresh_schema(postgres_url))
    async with store:
        agent, _, memory = remembering("one", "two", memory=Memory(store))
        await agent.generate("hi", memory=ON)
        engine = create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            connection.execute(
                text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
            )
        engine.dispose()
        await agent.generate("again", memory=ON)
        assert len(await kept(memory)) == 4


@pytest.mark.parametrize("dsn", ["mysql://x", "memory.db", ""])
def test_an_address_of_something_else(dsn: str) -> None:
    with pytest.raises(ConfigurationError, match="begins with postgresql://"):
        PostgresStore(dsn)


async def test_a_thread_id_that_no_store_keeps(store: MemoryStore) -> None:
    agent, model, _ = remembering(memory=Memory(store))
    for thread in ("a\0b", "half \ud83d"):
        with pytest.raises(StorageError, match=r"the thread id .* cannot be stored"):
            await agent.generate("hi", memory={"thread": thread, "resource": "u1"})
    assert model.calls == []


@pytest.mark.parametrize("name", ["a\0b", "half \ud83d"])
async def test_an_id_that_no_store_keeps_is_refused_before_the_model_is_called(store: MemoryStore, name: str) -> None:
    agent, model, memory = remembering("one", memory=Memory(store, working_memory=True))
    with pytest.raises(StorageError, match=r"the message id .* cannot be stored"):
        await agent.generate(Message("hi", id=name), memory=ON)
    assert model.calls == []

    for call in (
        lambda: memory.recall(name),
        lambda: memory.delete_thread(name),
        lambda: memory.delete_messages(name),
        lambda: memory.working_memory(resource=name),
        lambda: memory.update_working_memory({"memory": "x"}, thread=name),
    ):
        with pytest.raises(StorageError, match="cannot be stored: an id is not empty, and valid text without NUL"):
            await call()


@pytest.mark.parametrize("value", ["half \ud83d", 1 << 70])
async def test_a_value_that_a_database_does_not_take_is_its_error(
    tmp_path: Path, postgres_url: str, value: Any
) -> None:
    for store in (SQLiteStore(tmp_path / "memory.db"), PostgresStore(fresh_schema(postgres_url))):
        with pytest.raises(StorageError, match="the database"):
            await (store.threads(limit=value) if isinstance(value, int) else store.thread(value))


async def test_a_newer_version_of_postgres_tables_leaves_no_connection_open(postgres_url: str) -> None:
    dsn = fresh_schema(postgres_url)
    store = PostgresStore(dsn)
    await store.threads()
    with psycopg.connect(dsn) as connection:
        connection.execute("UPDATE sluiceway_schema SET version = 99")
    mine = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    with psycopg.connect(dsn, autocommit=True) as connection:
        before = connection.execute(mine).fetchone()
        with pytest.raises(StorageError, match="have version 99, this program knows 1"):
            await store.threads()
        for _ in range(100):
            if connection.execute(mine).fetchone() == before:
                return
            await anyio.sleep(0.02)
        assert connection.execute(mine).fetchone() == before
