"""`Memory`: its options, what it lists, and moving it elsewhere."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sluiceway import Agent, Message, Processor
from sluiceway.errors import ConfigurationError, StorageError
from sluiceway.memory import (
    HashEmbedder,
    InMemoryStore,
    InMemoryVectors,
    Memory,
    MemoryStore,
    MessageHistory,
    Resource,
    SemanticRecall,
    SQLiteStore,
    Thread,
    WorkingMemory,
)
from sluiceway.models import Reply, ScriptedModel
from tests.support.memory import ON, fill, kept, remembering, shape
from tests.support.processors import tool_named
from tests.support.runs import calls_tool

pytestmark = pytest.mark.anyio


def ids(processors: Sequence[Any]) -> list[str]:
    return [processor.id for processor in processors]


def everything(store: Any = None) -> Memory:
    return Memory(
        store or InMemoryStore(),
        semantic_recall=True,
        working_memory=True,
        vector=InMemoryVectors(),
        embedder=HashEmbedder(),
    )


def test_its_processors_stand_around_the_users() -> None:
    memory, guard = everything(), Processor.of("guard", process_input=print, process_output_result=print)

    assert ids(memory.placed("input", [guard])) == ["working-memory", "message-history", "semantic-recall", "guard"]
    assert ids(memory.placed("output", [guard])) == ["guard", "semantic-recall", "message-history"]
    assert memory.placed("error", [guard]) == [guard]
    assert ids(Memory(InMemoryStore()).placed("input", [])) == ["message-history"]


def test_one_that_is_listed_by_hand_is_not_added_to_that_list() -> None:
    memory, guard = everything(), Processor.of("guard", process_input=print)
    own = MessageHistory(InMemoryStore())

    assert ids(memory.placed("input", [guard, own])) == [
        "working-memory",
        "semantic-recall",
        "guard",
        "message-history",
    ]
    assert ids(memory.placed("output", [])) == ["semantic-recall", "message-history"]


def test_the_same_id_twice_is_found_when_the_agent_is_built() -> None:
    other = Processor.of("x", process_input=print)
    with pytest.raises(ConfigurationError, match="'x' twice"):
        Agent(id="a", model="echo/echo", memory=Memory(InMemoryStore()), input_processors=[other, other])


def test_a_memory_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="memory= takes a Memory, not dict"):
        Agent(id="a", model="echo/echo", memory={"thread": "t1"})  # type: ignore[arg-type]


def test_without_a_store_there_is_a_note(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert isinstance(Memory().storage, InMemoryStore)
    assert [record.getMessage() for record in caplog.records] == [
        "memory without storage= is kept in this process and gone when it ends"
    ]


def test_options_in_every_form() -> None:
    store, vectors, embedder = InMemoryStore(), InMemoryVectors(), HashEmbedder()
    semantic = SemanticRecall(store, vectors, embedder, top_k=9)
    working = WorkingMemory(store, template="x")
    given = Memory(store, 3, semantic, working)
    assert (given.semantic, given.working, given.vector) == (semantic, working, vectors)
    assert given.history.last_messages == 3

    made = Memory(
        store,
        semantic_recall={"top_k": 2, "scope": "thread", "vector": vectors, "embedder": embedder},
        working_memory={"template": "y", "scope": "thread"},
    )
    assert made.semantic is not None
    assert (made.semantic.top_k, made.semantic.scope, made.semantic.vector) == (2, "thread", vectors)
    assert made.working is not None
    assert (made.working.template, made.working.scope) == ("y", "thread")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"semantic_recall": True}, "semantic_recall needs vector="),
        ({"semantic_recall": True, "vector": InMemoryVectors()}, "semantic_recall needs embedder="),
        ({"semantic_recall": {"topk": 1}}, "semantic_recall={'topk': …} does not exist; there are: embedder, id"),
        ({"semantic_recall": 4}, "semantic_recall=4 is not allowed"),
        ({"working_memory": "template"}, "working_memory='template' is not allowed"),
        ({"working_memory": {"text": 1}}, "working_memory={'text': …} does not exist"),
        ({"thread_wait_s": -1}, "thread_wait_s=-1 is not allowed"),
        ({"last_messages": -1}, "last_messages=-1 is not allowed"),
    ],
)
def test_options_that_are_not_allowed(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        Memory(InMemoryStore(), **options)


async def test_a_thread_can_be_read_in_pieces() -> None:
    memory = Memory(InMemoryStore())
    await fill(memory.storage, [Message(f"m{n}", id=f"m{n}") for n in range(6)])

    assert [m.text for m in await memory.recall("t1", last=2)] == ["m4", "m5"]
    assert [m.text for m in await memory.recall("t1", last=2, before="m4")] == ["m2", "m3"]
    assert [m.text for m in await memory.recall("t1", before="m1")] == ["m0"]
    assert await memory.recall("t2") == []


async def test_a_thread_of_another_resource_is_not_shown_or_deleted() -> None:
    memory = Memory(InMemoryStore())
    await fill(memory.storage, ["hi"])
    for attempt in (memory.recall("t1", resource="u2"), memory.delete_thread("t1", resource="u2")):
        with pytest.raises(StorageError, match="belongs to another resource"):
            await attempt
    assert len(await memory.recall("t1", resource="u1")) == 1
    assert [thread.id for thread in await memory.threads("u1")] == ["t1"]
    assert await memory.threads("u2") == []


async def test_an_id_of_several_threads_needs_the_thread() -> None:
    memory = Memory(InMemoryStore())
    await fill(memory.storage, [Message("a", id="1")], "t1", "u1")
    await fill(memory.storage, [Message("b", id="1")], "t2", "u2")

    with pytest.raises(StorageError, match="say in which with thread="):
        await memory.delete_messages("1")
    assert await memory.delete_messages("1", thread="t1") == 1
    assert await memory.delete_messages(["1", "2"]) == 1
    assert await memory.delete_messages([]) == 0
    assert (await memory.recall("t1"), await memory.recall("t2")) == ([], [])


async def test_an_export_makes_the_same_memory_elsewhere() -> None:
    memory = everything(SQLiteStore(":memory:"))
    update = calls_tool("update_working_memory", {"memory": "- Name: Änn"})
    agent, _, _ = remembering(
        Reply("so", tool_calls=[update, calls_tool("t", {"x": "\0 \ud83d"}, "c2")]),
        "it is",
        memory=memory,
        tools=[tool_named("t", [1])],
    )
    await agent.generate("hi", memory=ON)
    await agent.generate("again", memory={"thread": "t2", "resource": "u1"})
    await agent.generate("other", memory={"thread": "t3", "resource": "u2"})
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    await memory.storage.save_resource(Resource("u1", {"plan": "free"}, moment, moment))
    found = await memory.storage.thread("t1")
    assert found is not None
    await memory.storage.save_thread(Thread("t1", "u1", found.created_at, found.updated_at, "First", {"n": 1}))

    lines = [line async for line in memory.export_lines()]
    copy = everything()
    assert await copy.import_lines(lines) == 6

    assert await copy.threads() == await memory.threads()
    for thread in ("t1", "t2", "t3"):
        theirs, ours = await copy.recall(thread), await memory.recall(thread)
        assert all(a.same_as(b) for a, b in zip(theirs, ours, strict=True))
    assert await copy.working_memory(resource="u1") == "- Name: Änn"
    assert await copy.storage.resource("u1") == Resource("u1", {"plan": "free"}, moment, moment)
    assert [line async for line in copy.export_lines()] == lines
    assert await copy.import_lines(lines) == 6, "again changes nothing"
    assert [line async for line in copy.export_lines()] == lines
    assert len(await copy.storage.pending("messages", "u1", 99)) == 4, "texts wait to be embedded"


async def test_an_export_of_one_resource_or_thread_has_nothing_else() -> None:
    memory = Memory(InMemoryStore())
    for thread, resource in (("t1", "u1"), ("t2", "u1"), ("t3", "u2")):
        await fill(memory.storage, [f"of {thread}"], thread, resource)

    async def threads(**options: Any) -> list[str]:
        items = [json.loads(line) async for line in memory.export_lines(**options)]
        return sorted(item["id"] for item in items if item["type"] == "thread")

    assert await threads(resource="u1") == ["t1", "t2"]
    assert await threads(thread="t3") == ["t3"]
    assert await threads(thread="t3", resource="u1") == []
    assert await threads(thread="t9") == []


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "7",
        "{}",
        '{"type":"thing"}',
        '{"type":"message","thread_id":"t1"}',
        '{"type":"thread","id":"t1","resource_id":null,"created_at":"2026-01-01","updated_at":"x"}',
        '{"type":"working","scope":"user","owner":"u","document":""}',
    ],
)
async def test_a_line_that_cannot_be_read_is_named(line: str) -> None:
    memory = Memory(InMemoryStore())
    await fill(memory.storage, ["hi"])
    lines = [line async for line in memory.export_lines()]
    copy = Memory(InMemoryStore())

    with pytest.raises(StorageError, match="line 4 is no line of an export"):
        await copy.import_lines([*lines, "", line])

    assert await copy.threads() == [], "a thread is saved with the next one, or at the end"


async def test_a_message_without_its_thread_is_refused() -> None:
    memory = Memory(InMemoryStore())
    await fill(memory.storage, ["hi"])
    lines = [line async for line in memory.export_lines()]
    with pytest.raises(StorageError, match=r"line 1: the message .* does not follow its thread"):
        await Memory(InMemoryStore()).import_lines(lines[1:])


async def test_an_import_into_a_thread_of_somebody_else_is_refused() -> None:
    memory, copy = Memory(InMemoryStore()), Memory(InMemoryStore())
    await fill(memory.storage, ["hi"], "t1", "u1")
    await fill(copy.storage, ["theirs"], "t1", "u2")
    with pytest.raises(StorageError, match="belongs to another resource"):
        await copy.import_lines([line async for line in memory.export_lines()])
    assert shape(await copy.recall("t1")) == [("user", "theirs")]


@pytest.mark.parametrize("store", [InMemoryStore, lambda: SQLiteStore(":memory:")])
async def test_an_import_keeps_the_time_at_which_a_thread_was_made(store: Callable[[], MemoryStore]) -> None:
    made, used = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    memory, copy = Memory(store()), Memory(store())
    await fill(memory.storage, ["hi"])
    await memory.delete_thread("t1")
    await memory.storage.save_thread(Thread("t1", "u1", made, used, "First", {"n": 1}))
    await fill(memory.storage, ["hi"])
    lines = [line async for line in memory.export_lines()]

    await copy.import_lines(lines)

    assert [line async for line in copy.export_lines()] == lines
    assert (await copy.threads())[0].created_at == made


async def test_an_export_has_one_line_for_every_reader_of_lines() -> None:
    memory, copy = Memory(InMemoryStore()), Memory(InMemoryStore())
    await fill(memory.storage, ["a\u2028b\u2029c\x85d\x0b\x0c\x1ce"])
    lines = [line async for line in memory.export_lines()]

    await copy.import_lines("\n".join(lines).splitlines())

    assert shape(await copy.recall("t1")) == shape(await memory.recall("t1"))


async def test_a_refused_import_changes_no_working_memory() -> None:
    memory = Memory(InMemoryStore(), working_memory={"scope": "thread"})
    theirs = Memory(InMemoryStore(), working_memory={"scope": "thread"})
    for one, owner in ((memory, "u1"), (theirs, "u2")):
        await fill(one.storage, ["hi"], "t1", owner)
        await one.update_working_memory(f"of {owner}", thread="t1")
    lines = [line async for line in theirs.export_lines()]

    with pytest.raises(StorageError, match="belongs to another resource"):
        await memory.import_lines(lines)
    with pytest.raises(StorageError, match="line 1: the working memory of 't1' does not follow its thread"):
        await memory.import_lines(lines[1:])

    assert await memory.working_memory(thread="t1") == "of u1"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("message", {"role": "system"}),
        ("message", {"document": []}),
        ("message", {"document": None}),
        ("message", {"id": 7}),
        ("thread", {"resource_id": 7}),
        ("thread", {"metadata": [1]}),
        ("thread", {"title": 7}),
    ],
)
async def test_an_import_that_could_not_be_read_again_is_refused(kind: str, fields: dict[str, Any]) -> None:
    memory, copy = Memory(InMemoryStore()), Memory(InMemoryStore())
    await fill(memory.storage, ["hi"])
    items = [json.loads(line) async for line in memory.export_lines()]
    lines = [json.dumps({**item, **fields} if item["type"] == kind else item) for item in items]

    with pytest.raises(StorageError, match=r"line \d is no line of an export"):
        await copy.import_lines(lines)

    assert await copy.threads() == []


@pytest.mark.parametrize("page", [{"limit": -1}, {"offset": -1}])
async def test_a_page_of_threads_that_is_none(page: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="=-1 is not allowed; give a number from 0"):
        await Memory(InMemoryStore()).threads(**page)


async def test_one_memory_serves_several_agents(tmp_path: Path) -> None:
    memory = Memory(SQLiteStore(tmp_path / "folder" / "memory.db"))
    for name in ("one", "two"):
        agent = Agent(id=name, model=ScriptedModel([name]), memory=memory)
        async with memory:
            await agent.generate("hi", memory=ON)
    await memory.aclose()
    assert await kept(memory) == [("user", "hi"), ("assistant", "one"), ("user", "hi"), ("assistant", "two")]
