"""Run a turn again and again in a child, and kill it before its n-th statement, for every n.

Usage: `python -m tests.integration.memory.killed sqlite FOLDER` or `… postgres DSN`. A line of
JSON for each n: how the child ended, and what a new process then finds.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psycopg
from sqlalchemy import Engine, event

from sluiceway import Agent
from sluiceway.memory import HashEmbedder, InMemoryVectors, Memory, MemoryStore, PostgresStore, SQLiteStore
from sluiceway.models import Reply, ScriptedModel
from tests.support.postgres import fresh_schema

ON = {"thread": "t1", "resource": "u1"}


class Countdown:
    """Kills this process when so many statements have been begun."""

    left = -1

    @classmethod
    def tick(cls) -> None:
        cls.left -= 1
        if cls.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Connection(sqlite3.Connection):
    """A connection that counts."""

    def execute(self, *args: Any) -> sqlite3.Cursor:
        Countdown.tick()
        if args == ("PRAGMA synchronous = FULL",):  # what a machine loses with its power is not the question here
            args = ("PRAGMA synchronous = OFF",)
        return super().execute(*args)

    def executemany(self, *args: Any) -> sqlite3.Cursor:
        Countdown.tick()
        return super().executemany(*args)


def agent_on(store: MemoryStore) -> tuple[Agent, Memory]:
    memory = Memory(
        store,
        semantic_recall=True,
        working_memory=True,
        vector=InMemoryVectors(),
        embedder=HashEmbedder(8),
        thread_wait_s=5,
    )
    update = {"id": "c1", "name": "update_working_memory", "args": {"memory": "- Name: Ann"}}
    model = ScriptedModel([Reply("noted", tool_calls=[update]), "hello Ann"])
    return Agent(id="a", model=model, memory=memory), memory


async def turn(store: MemoryStore) -> None:
    agent, _ = agent_on(store)
    await agent.generate("I am Ann", memory=ON)


async def found(store: MemoryStore) -> dict[str, Any]:
    """Return what is there, and whether the next turn goes through at once."""
    _, memory = agent_on(store)
    state = {
        "messages": [(m.role, m.text) for m in await memory.recall("t1")],
        "working": await memory.working_memory(resource="u1"),
        "pending": len(await store.pending("messages", "u1", 99)),
        "thread": await store.thread("t1") is not None,
    }
    await turn(store)
    state["then"] = len(await memory.recall("t1"))
    return state


def run(make: Callable[[int], MemoryStore], prepare: Callable[[int], None] = lambda _: None) -> None:
    for number in range(1, 500):
        prepare(number)
        child = os.fork()
        if not child:
            Countdown.left = number
            anyio.run(turn, make(number))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        outcome: dict[str, Any] = {"n": number, "killed": killed, "exit": os.WEXITSTATUS(status)}
        child = os.fork()
        if not child:
            outcome |= anyio.run(found, make(number))
            sys.stdout.write(json.dumps(outcome) + "\n")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
        if not killed:
            return


def sqlite_stores(folder: Path) -> Callable[[int], MemoryStore]:
    """Return what makes a store on a file of its own for each number."""
    connect = sqlite3.connect

    def counting(*args: Any, **more: Any) -> sqlite3.Connection:
        return connect(*args, factory=Connection, **more)

    sqlite3.connect = counting
    return lambda number: SQLiteStore(folder / str(number) / "memory.db")


def postgres_stores(url: str) -> tuple[Callable[[int], MemoryStore], Callable[[int], None]]:
    """Return what makes a store in one schema, and what empties that."""
    schema = fresh_schema(url)
    anyio.run(PostgresStore(schema).threads)
    event.listen(Engine, "before_cursor_execute", lambda *_: Countdown.tick())

    def empty(number: int) -> None:
        del number
        with psycopg.connect(schema, autocommit=True) as connection:
            connection.execute("TRUNCATE memory_threads, memory_working, memory_leases CASCADE")

    return lambda _: PostgresStore(schema), empty


def main() -> None:
    kind, where = sys.argv[1:]
    if kind == "sqlite":
        run(sqlite_stores(Path(where)))
    else:
        run(*postgres_stores(where))


if __name__ == "__main__":
    main()
