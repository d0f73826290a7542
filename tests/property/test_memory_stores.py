"""One state machine drives every store and demands that they agree."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Coroutine, Generator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from sluiceway.errors import ConfigurationError, StorageError
from sluiceway.memory import (
    InMemoryStore,
    InMemoryVectors,
    MemoryStore,
    MessageRow,
    PostgresStore,
    PostgresVectors,
    Resource,
    SQLiteStore,
    SQLiteVectors,
    Thread,
    Turn,
    VectorEntry,
    VectorStore,
    WorkingChange,
)
from tests.support.postgres import fresh_schema, postgres_server

START = datetime(2026, 1, 1, tzinfo=UTC)

threads = st.sampled_from(["t1", "t2", "ü t/3"])
resources = st.sampled_from(["u1", "u2", None])
message_ids = st.sampled_from([f"m{n}" for n in range(6)])
indexes = st.sampled_from(["i", "j"])
tokens = st.sampled_from(["one", "two"])
texts = st.text(max_size=5).filter(lambda text: "\0" not in text and text.isprintable())


@pytest.fixture(scope="module")
def postgres_dsn() -> Generator[str]:
    """An empty schema on a PostgreSQL server."""
    with postgres_server() as url:
        yield fresh_schema(url)


class Stores(RuleBasedStateMachine):
    """The same calls on every store; whatever they return or raise has to be the same."""

    portal: BlockingPortal
    made: list[MemoryStore]

    def __init__(self) -> None:
        super().__init__()
        self.clock = 0
        for store in self.made:
            for thread in self.portal.call(store.threads):
                self.portal.call(store.delete_thread, thread.id)
            for scope in ("resource", "thread"):
                for owner in ("t1", "t2", "ü t/3", "u1", "u2"):
                    self.portal.call(store.change_working, WorkingChange(scope, owner, lambda _: ""))
            for owner in ("u1", "u2"):
                self.portal.call(store.save_resource, Resource(owner, {}, START, START))
            for thread in ("t1", "t2", "ü t/3"):
                for token in ("one", "two"):
                    self.portal.call(store.release, thread, token)

    def now(self) -> datetime:
        self.clock += 1
        return START + timedelta(seconds=self.clock)

    def agree(self, call: Callable[[MemoryStore], Coroutine[Any, Any, Any]]) -> Any:
        """Call every store and return what all of them say."""
        outcomes = [self.portal.call(_outcome, call, store) for store in self.made]
        assert outcomes[1:] == outcomes[:1] * (len(outcomes) - 1)
        return outcomes[0]

    @rule(
        thread=threads,
        resource=resources,
        ids=st.lists(message_ids, max_size=4),
        role=st.sampled_from(["user", "assistant", "signal"]),
        text=texts,
        pending=st.lists(indexes, max_size=2),
        lease=st.none() | tokens,
        release=st.booleans(),
        changes=st.lists(st.tuples(st.sampled_from(["resource", "thread"]), threads, texts), max_size=2),
        made=st.none() | texts,
    )
    def save(
        self,
        thread: str,
        resource: str | None,
        ids: list[str],
        role: str,
        text: str,
        pending: list[str],
        lease: str | None,
        release: bool,
        changes: list[tuple[Any, str, str]],
        made: str | None,
    ) -> None:
        now = self.now()
        turn = Turn(
            thread,
            resource,
            now,
            [MessageRow(thread, name, role, now, f'"{text}"') for name in ids],
            [(index, name) for index in pending for name in ids],
            [WorkingChange(scope, owner, lambda old, new=new: f"{old}|{new}") for scope, owner, new in changes],
            lease,
            release,
            None if made is None else Thread(thread, resource, now, now, made, {"title": made}),
        )
        self.agree(lambda store: store.save_turn(turn))

    @rule(thread=threads, resource=resources, title=st.none() | texts)
    def save_thread(self, thread: str, resource: str | None, title: str | None) -> None:
        now = self.now()
        self.agree(lambda store: store.save_thread(Thread(thread, resource, now, now, title, {"title": title})))

    @rule(resource=st.sampled_from(["u1", "u2"]), text=texts)
    def save_resource(self, resource: str, text: str) -> None:
        now = self.now()
        self.agree(lambda store: store.save_resource(Resource(resource, {"text": text}, now, now)))

    @rule(keys=st.lists(st.tuples(threads, message_ids), max_size=3))
    def delete_messages(self, keys: list[tuple[str, str]]) -> None:
        self.agree(lambda store: store.delete_messages(keys))

    @rule(thread=threads)
    def delete_thread(self, thread: str) -> None:
        self.agree(lambda store: store.delete_thread(thread))

    @rule(thread=threads, count=st.none() | st.integers(-1, 4), before=st.none() | message_ids)
    def newest(self, thread: str, count: int | None, before: str | None) -> None:
        self.agree(lambda store: store.newest(thread, count, before=before))

    @rule(thread=threads, ids=st.lists(message_ids, max_size=3), before=st.integers(0, 2), after=st.integers(0, 2))
    def around(self, thread: str, ids: list[str], before: int, after: int) -> None:
        self.agree(lambda store: store.around(thread, ids, before, after))

    @rule(ids=st.lists(message_ids, max_size=3), thread=st.none() | threads)
    def find(self, ids: list[str], thread: str | None) -> None:
        self.agree(lambda store: store.find(ids, thread))

    @rule(resource=resources, limit=st.integers(0, 3), offset=st.integers(0, 2))
    def list_threads(self, resource: str | None, limit: int, offset: int) -> None:
        self.agree(lambda store: store.threads(resource, limit=limit, offset=offset))

    @rule(index=indexes, resource=resources, limit=st.integers(0, 3))
    def pending(self, index: str, resource: str | None, limit: int) -> None:
        self.agree(lambda store: store.pending(index, resource, limit))

    @rule(index=indexes, keys=st.lists(st.tuples(threads, message_ids), max_size=3))
    def clear_pending(self, index: str, keys: list[tuple[str, str]]) -> None:
        self.agree(lambda store: store.clear_pending(index, keys))

    @rule(thread=threads, token=tokens, lease_s=st.sampled_from([0.0, 1000.0]))
    def acquire(self, thread: str, token: str, lease_s: float) -> None:
        self.agree(lambda store: store.acquire(thread, token, lease_s))

    @rule(thread=threads, token=tokens)
    def renew(self, thread: str, token: str) -> None:
        self.agree(lambda store: store.renew(thread, token, 1000.0))

    @rule(thread=threads, token=tokens)
    def release(self, thread: str, token: str) -> None:
        self.agree(lambda store: store.release(thread, token))

    @invariant()
    def all_is_the_same(self) -> None:
        async def everything(store: MemoryStore) -> Any:
            found = await store.threads()
            return (
                found,
                [await store.newest(thread.id) for thread in found],
                [await store.pending(index, owner, 99) for index in ("i", "j") for owner in ("u1", "u2", None)],
                [await store.working(s, o) for s in ("resource", "thread") for o in ("t1", "t2", "ü t/3")],
                [await store.resource(owner) for owner in ("u1", "u2")],
            )

        self.agree(everything)


async def _outcome(call: Callable[[Any], Coroutine[Any, Any, Any]], store: Any) -> Any:
    try:
        return await call(store)
    except StorageError as error:
        return f"{type(error).__name__}: {error}"


class Vectors(RuleBasedStateMachine):
    """The same for the vector stores; scores agree to single precision."""

    portal: BlockingPortal
    made: list[VectorStore]

    def __init__(self) -> None:
        super().__init__()
        for store in self.made:
            for index in ("i", "j"):
                self.portal.call(store.prepare, index, 3, "m")
            for thread in ("t1", "t2", "ü t/3"):
                self.portal.call(store.delete_thread, thread)

    def agree(self, call: Callable[[VectorStore], Coroutine[Any, Any, Any]]) -> None:
        outcomes = [self.portal.call(_outcome, call, store) for store in self.made]
        assert outcomes[1:] == outcomes[:1] * (len(outcomes) - 1)

    @rule(
        index=indexes,
        keys=st.dictionaries(
            st.tuples(threads, message_ids), st.tuples(*[st.sampled_from([-1.0, 0.0, 0.5, 1.0])] * 3), max_size=3
        ),
        resource=resources,
    )
    def upsert(self, index: str, keys: dict[tuple[str, str], tuple[float, ...]], resource: str | None) -> None:
        entries = [VectorEntry(thread, name, resource, vector) for (thread, name), vector in keys.items()]
        self.agree(lambda store: store.upsert(index, entries))

    @rule(
        index=indexes,
        vector=st.tuples(*[st.sampled_from([-1.0, 0.0, 0.25, 1.0])] * 3),
        resource=resources,
        thread=st.none() | threads,
    )
    def query(self, index: str, vector: tuple[float, ...], resource: str | None, thread: str | None) -> None:
        async def ask(store: VectorStore) -> Any:
            found = await store.query(index, vector, top_k=99, resource_id=resource, thread_id=thread)
            assert [match.score for match in found] == sorted((match.score for match in found), reverse=True)
            best = await store.query(index, vector, top_k=2, resource_id=resource, thread_id=thread)
            assert [round(match.score, 4) for match in best] == [round(match.score, 4) for match in found[:2]]
            return {(match.thread_id, match.message_id): round(match.score, 4) + 0.0 for match in found}

        self.agree(ask)

    @rule(keys=st.lists(st.tuples(threads, message_ids), max_size=3))
    def delete(self, keys: list[tuple[str, str]]) -> None:
        self.agree(lambda store: store.delete(keys))

    @rule(thread=threads)
    def delete_thread(self, thread: str) -> None:
        self.agree(lambda store: store.delete_thread(thread))


def run(machine: type[RuleBasedStateMachine], make: Callable[[Path], list[Any]]) -> None:
    deep = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        portal = stack.enter_context(start_blocking_portal())
        made = make(folder)
        for store in made:
            portal.call(store.__aenter__)
            stack.callback(portal.call, store.__aexit__, None, None, None)
        machine.portal, machine.made = portal, made
        run_state_machine_as_test(machine, settings=settings(max_examples=200 if deep else 12, stateful_step_count=25))


def test_the_stores_agree(postgres_dsn: str) -> None:
    run(Stores, lambda folder: [InMemoryStore(), SQLiteStore(folder / "memory.db"), PostgresStore(postgres_dsn)])


def test_the_vector_stores_agree(postgres_dsn: str) -> None:
    """With pgvector too, where the server has it."""
    native = with_pgvector(postgres_dsn)
    run(
        Vectors,
        lambda folder: [
            InMemoryVectors(),
            SQLiteVectors(folder / "vectors.db"),
            PostgresVectors(postgres_dsn, pgvector=False),
            *([PostgresVectors(native, pgvector=True)] if native else []),
        ],
    )


def with_pgvector(dsn: str) -> str | None:
    """Return the URL of an empty schema in which the extension can be used, or None."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone():
            return None
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    return f"{fresh_schema(dsn.partition('?')[0])}%2Cpublic"


def test_pgvector_that_is_not_there_is_a_clear_error(postgres_dsn: str) -> None:
    if with_pgvector(postgres_dsn):
        pytest.skip("the server has it")
    store = PostgresVectors(postgres_dsn, pgvector=True)
    with pytest.raises(ConfigurationError, match="the database has no extension `vector`"):
        anyio.run(store.upsert, "i", [VectorEntry("t", "m", None, [1.0])])
