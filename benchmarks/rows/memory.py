"""Memory: the newest of a long thread, a turn's load and save, recall by meaning."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from psycopg import sql

from benchmarks._measure import least
from benchmarks._row import Row, Size, ratio, time
from sluiceway import Agent
from sluiceway.memory import (
    Memory,
    MemoryStore,
    PostgresStore,
    PostgresVectors,
    SQLiteStore,
    SQLiteVectors,
    VectorEntry,
    VectorStore,
)
from sluiceway.models import ScriptedModel
from tests.support.postgres import fresh_schema, has_postgres, postgres_server

DIMENSION = 384
DOCUMENT = '{"parts":[{"type":"text","text":"some words that say little, as most messages do"}]}'
NUMBERED = (
    "SELECT '{thread}', n, 'm' || n, CASE n % 2 WHEN 0 THEN 'assistant' ELSE 'user' END, n, '{document}' FROM {n}"
)


def fill_sqlite(path: Path, lengths: dict[str, int]) -> None:
    """Write threads of so many messages."""
    connection = sqlite3.connect(path)
    with connection:
        for thread, length in lengths.items():
            connection.execute("INSERT INTO memory_threads VALUES (?, 'u', 0, 0, NULL, '{}')", (thread,))
            numbers = (
                f"(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {length}) SELECT n FROM c)"
            )
            rows = NUMBERED.format(thread=thread, document=DOCUMENT, n=numbers)
            connection.execute(f"INSERT INTO memory_messages {rows}")
    connection.close()


def fill_postgres(dsn: str, lengths: dict[str, int]) -> None:
    """Write threads of so many messages."""
    with psycopg.connect(dsn) as connection:
        for thread, length in lengths.items():
            connection.execute("INSERT INTO memory_threads VALUES (%s, 'u', 0, 0, NULL, '{}')", (thread,))
            rows = NUMBERED.format(thread=thread, document=DOCUMENT, n=f"generate_series(1, {length}) AS n")
            connection.execute(sql.SQL(f"INSERT INTO memory_messages {rows}"))  # pyright: ignore[reportArgumentType]
        connection.commit()
        connection.autocommit = True
        connection.execute("ANALYZE memory_messages")


async def newest(store: MemoryStore, fill: Callable[[dict[str, int]], None], size: Size, where: str) -> Row:
    """Load the newest ten of a thread a thousand times as long."""
    short, long = 1_000, 1_000_000 if size.n >= 20_000 else 100_000
    await store.threads()
    fill({"short": short, "long": long})

    calls = size.calls // 16

    async def load(thread: str) -> None:
        for _ in range(calls):
            assert len(await store.newest(thread, 10)) == 10

    # Short rounds, and many: the disk is still busy with what was filled in.
    one, other = await least(3 * size.rounds, partial(load, "short"), partial(load, "long"))
    per_ms = 1e3 / calls
    details = {"short_ms": one * per_ms, "long_ms": other * per_ms}
    return ratio(f"newest 10 of {long:,} messages, {where}", f"of {short:,}", other / one, 1.5, **details)


async def turn(store: MemoryStore, size: Size, where: str, *, held: bool) -> Row:
    """Run a turn in a thread of its own, beside one without memory."""
    agent = Agent(id="bench", model=ScriptedModel(["fine"]), memory=Memory(store))
    plain = Agent(id="plain", model=ScriptedModel(["fine"]))
    threads = count()
    calls = size.calls // 10

    async def turns() -> None:
        thread = f"turns-{next(threads)}"
        for _ in range(calls):
            await agent.generate("go", memory={"thread": thread, "resource": "u"})

    async def without() -> None:
        for _ in range(calls):
            await plain.generate("go")

    async with AsyncExitStack() as stack:
        if held:
            await stack.enter_async_context(store)
        own, base = await least(size.rounds, turns, without)
    name = f"load and save of a turn, {where}{', kept open' if held else ''}"
    return time(name, own / calls * 1e3, "ms", 10.0 if held else 30.0, without_memory_ms=base / calls * 1e3)


async def recall(store: VectorStore, size: Size, where: str) -> list[Row]:
    """Find the nearest four of ever more vectors of one user."""
    numbers = np.random.default_rng(7)
    rows: list[Row] = []
    written = 0
    await store.prepare("messages", DIMENSION, "bench")
    steps = ((1_000, 2.0), (10_000, 10.0), (100_000, 20.0))
    for total, target in steps[: 3 if size.n >= 20_000 else 2]:
        while written < total:
            batch = numbers.standard_normal((1_000, DIMENSION), dtype="f4").tolist()
            entries = [VectorEntry("t", f"m{written + n}", "u", vector) for n, vector in enumerate(batch)]
            await store.upsert("messages", entries)
            written += len(entries)
        wanted = numbers.standard_normal(DIMENSION, dtype="f4").tolist()

        async def ask(wanted: Any = wanted) -> None:
            for _ in range(5):
                assert len(await store.query("messages", wanted, top_k=4, resource_id="u")) == 4

        [seconds] = await least(size.rounds, ask)
        rows.append(time(f"recall among {total:,} vectors, {where}", seconds / 5 * 1e3, "ms", target))
    return rows


async def on(
    stores: tuple[MemoryStore, VectorStore], fill: Callable[[dict[str, int]], None], size: Size, where: str
) -> list[Row]:
    """Measure everything on one database."""
    store, vectors = stores
    rows: list[Row] = []
    async with store:
        rows.append(await newest(store, fill, size, where))
    rows += [await turn(store, size, where, held=False), await turn(store, size, where, held=True)]
    async with vectors:
        rows += await recall(vectors, size, where)
    return rows


async def measure(size: Size) -> list[Row]:
    """Measure on SQLite, and on PostgreSQL where there is one."""
    measured: list[Awaitable[list[Row]]] = []
    with ExitStack() as stack:
        path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "memory.db"
        made: Any = (SQLiteStore(path), SQLiteVectors(path))
        measured.append(on(made, partial(fill_sqlite, path), size, "SQLite"))
        if has_postgres():
            dsn = fresh_schema(stack.enter_context(postgres_server()))
            made = (PostgresStore(dsn), PostgresVectors(dsn))
            measured.append(on(made, partial(fill_postgres, dsn), size, "PostgreSQL"))
        return [row for part in measured for row in await part]
