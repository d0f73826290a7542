"""The stores keep what they are given, all in the same way."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sluiceway.errors import StorageError
from sluiceway.memory import MemoryStore, MessageRow, Resource, Thread, Turn, WorkingChange

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)


def row(id: str, role: str = "user", thread: str = "t1", document: str = '{"parts":[]}') -> MessageRow:  # noqa: A002
    return MessageRow(thread, id, role, NOW, document)


def turn(*ids: str, thread: str = "t1", resource: str | None = "u1", at: datetime = NOW) -> Turn:
    return Turn(thread, resource, at, [row(name, thread=thread) for name in ids])


async def ids(store: MemoryStore, *args: object, **options: object) -> list[str]:
    return [item.id for item in await store.newest("t1", *args, **options)]  # pyright: ignore[reportArgumentType]


async def test_a_turn_makes_its_thread_and_is_read_back(store: MemoryStore) -> None:
    await store.save_turn(turn("a", "b"))

    assert await store.thread("t1") == Thread("t1", "u1", NOW, NOW)
    assert await store.newest("t1") == [replace(row("a"), position=1), replace(row("b"), position=2)]
    assert await store.thread("t2") is None
    assert await store.newest("t2") == []


async def test_a_message_saved_again_keeps_its_place_and_time(store: MemoryStore) -> None:
    await store.save_turn(turn("a", "b"))
    later = replace(row("a", document='{"x":1}'), created_at=NOW + timedelta(days=1))

    await store.save_turn(Turn("t1", "u1", NOW + timedelta(seconds=1), [later, row("c")]))

    assert await store.newest("t1") == [
        MessageRow("t1", "a", "user", NOW, '{"x":1}', 1),
        replace(row("b"), position=2),
        replace(row("c"), position=3),
    ]
    assert await store.thread("t1") == Thread("t1", "u1", NOW, NOW + timedelta(seconds=1))


async def test_the_newest_are_counted_without_signals(store: MemoryStore) -> None:
    rows = [row("s0", "signal"), row("a"), row("s1", "signal"), row("b"), row("s2", "signal"), row("c")]
    await store.save_turn(Turn("t1", "u1", NOW, rows))

    assert await ids(store, 2) == ["b", "s2", "c"]
    assert await ids(store, 3) == ["a", "s1", "b", "s2", "c"]
    assert await ids(store, 9) == ["s0", "a", "s1", "b", "s2", "c"]
    assert await ids(store, 0) == []
    assert await ids(store, 1, before="c") == ["b", "s2"]
    assert await ids(store, before="b") == ["s0", "a", "s1"]
    assert await ids(store, before="gone") == []


async def test_neighbours_come_in_order_and_once(store: MemoryStore) -> None:
    rows = [row(f"m{n}") for n in range(10)]
    rows.insert(4, row("s", "signal"))
    await store.save_turn(Turn("t1", "u1", NOW, rows))

    found = await store.around("t1", ["m5", "m4", "m9", "s", "gone"], 1, 1)

    assert [item.id for item in found] == ["m3", "m4", "m5", "m6", "m8", "m9"]
    assert [item.id for item in await store.around("t1", ["m4"], 2, 0)] == ["m2", "m3", "m4"]
    assert await store.around("t2", ["m4"], 2, 0) == []


async def test_ids_are_unique_within_a_thread_only(store: MemoryStore) -> None:
    await store.save_turn(turn("1"))
    await store.save_turn(turn("1", thread="t2", resource="u2"))

    assert [item.key for item in await store.find(["1"])] == [("t1", "1"), ("t2", "1")]
    assert [item.key for item in await store.find(["1", "2"], "t2")] == [("t2", "1")]
    assert await store.delete_messages([("t1", "1"), ("t1", "1"), ("t3", "1")]) == 1
    assert [item.key for item in await store.find(["1"])] == [("t2", "1")]


@pytest.mark.parametrize("other", ["u2", None])
async def test_a_thread_of_another_resource_is_refused(store: MemoryStore, other: str | None) -> None:
    await store.save_turn(turn("a"))

    for attempt in (turn("b", resource=other), Turn("t1", other, NOW, working=[WorkingChange("thread", "t1", str)])):
        with pytest.raises(StorageError, match="thread 't1' belongs to another resource"):
            await store.save_turn(attempt)
    with pytest.raises(StorageError, match="thread 't1' belongs to another resource"):
        await store.save_thread(Thread("t1", other, NOW, NOW, "stolen"))

    assert await ids(store) == ["a"]
    assert await store.thread("t1") == Thread("t1", "u1", NOW, NOW)
    assert await store.working("thread", "t1") is None


async def test_a_turn_that_fails_in_its_last_change_leaves_nothing(store: MemoryStore) -> None:
    def fail(text: str | None) -> str:
        raise StorageError("no")

    changes = [WorkingChange("resource", "u1", lambda text: "new"), WorkingChange("thread", "t1", fail)]

    with pytest.raises(StorageError, match="no"):
        await store.save_turn(Turn("t1", "u1", NOW, [row("a")], [("i", "a")], changes))

    assert await store.thread("t1") is None
    assert await store.newest("t1") == []
    assert await store.working("resource", "u1") is None
    assert await store.pending("i", "u1", 9) == []


async def test_threads_are_listed_newest_first(store: MemoryStore) -> None:
    for number, (thread, resource) in enumerate([("a", "u1"), ("b", "u2"), ("c", "u1"), ("d", "u1")]):
        await store.save_turn(turn("m", thread=thread, resource=resource, at=NOW + timedelta(seconds=number)))
    await store.save_turn(turn("n", thread="a", at=NOW + timedelta(seconds=9)))

    assert [thread.id for thread in await store.threads("u1")] == ["a", "d", "c"]
    assert [thread.id for thread in await store.threads()] == ["a", "d", "c", "b"]
    assert [thread.id for thread in await store.threads(limit=2, offset=1)] == ["d", "c"]
    assert await store.threads("u9") == []


async def test_title_and_metadata_of_a_thread(store: MemoryStore) -> None:
    await store.save_thread(Thread("t1", "u1", NOW, NOW, "Half \ud83d and\0", {"k": ["ü", "\0"]}))
    await store.save_thread(Thread("t1", "u1", NOW + timedelta(days=1), NOW + timedelta(days=2), "Two"))

    assert await store.thread("t1") == Thread("t1", "u1", NOW, NOW + timedelta(days=2), "Two")
    await store.save_thread(Thread("t2", None, NOW, NOW, "Half \ud83d and\0", {"k": ["ü", "\0"]}))
    assert await store.thread("t2") == Thread("t2", None, NOW, NOW, "Half ? and", {"k": ["ü", "\0"]})


async def test_a_turn_can_say_what_its_thread_is_to_be(store: MemoryStore) -> None:
    first = Thread("t1", "u1", NOW - timedelta(days=3), NOW, "One", {"n": 1})
    await store.save_turn(replace(turn("a"), thread=first))
    assert await store.thread("t1") == first
    await store.save_turn(replace(turn(), thread=replace(first, created_at=NOW, title=None)))
    assert await store.thread("t1") == replace(first, title=None)
    await store.save_turn(turn("b", at=NOW + timedelta(days=1)))
    assert await store.thread("t1") == replace(first, title=None, updated_at=NOW + timedelta(days=1))

    foreign = Turn("t1", "u2", NOW, thread=replace(first, resource_id="u2", title="Theirs"))
    with pytest.raises(StorageError, match="belongs to another resource"):
        await store.save_turn(foreign)
    failing = replace(turn("c"), thread=replace(first, title="Half"), lease="lost")
    with pytest.raises(StorageError, match="was taken over"):
        await store.save_turn(failing)
    assert await store.thread("t1") == replace(first, title=None, updated_at=NOW + timedelta(days=1))
    await store.save_turn(Turn("t2", None, NOW, thread=Thread("t2", None, NOW, NOW, "Empty")))
    assert await store.thread("t2") == Thread("t2", None, NOW, NOW, "Empty")


async def test_a_deleted_thread_is_gone_with_all_that_hangs_on_it(store: MemoryStore) -> None:
    working = [WorkingChange("thread", "t1", lambda _: "x"), WorkingChange("resource", "u1", lambda _: "y")]
    await store.save_turn(Turn("t1", "u1", NOW, [row("a")], [("i", "a")], working))

    assert await store.delete_thread("t1") is True
    assert await store.delete_thread("t1") is False

    assert await store.newest("t1") == []
    assert await store.pending("i", "u1", 9) == []
    assert await store.working("thread", "t1") is None
    assert await store.working("resource", "u1") == "y"


async def test_resources(store: MemoryStore) -> None:
    assert await store.resource("u1") is None
    await store.save_resource(Resource("u1", {"plan": "free"}, NOW, NOW))
    later = NOW + timedelta(days=1)
    await store.save_resource(Resource("u1", {"plan": "full"}, later, later))

    assert await store.resource("u1") == Resource("u1", {"plan": "full"}, NOW, later)
    await store.save_resource(Resource("u2", {"at": NOW, "s": {2, 1}, "t": (1,), 3: "x"}, NOW, NOW))  # pyright: ignore[reportArgumentType]
    assert await store.resource("u2") == Resource(
        "u2", {"at": NOW.isoformat(), "s": [1, 2], "t": [1], "3": "x"}, NOW, NOW
    )


async def test_working_memory_is_changed_from_what_is_there(store: MemoryStore) -> None:
    def add(text: str | None) -> str:
        return f"{text or ''}x"

    assert await store.change_working(WorkingChange("resource", "u1", add)) == "x"
    assert await store.change_working(WorkingChange("resource", "u1", add)) == "xx"
    assert await store.change_working(WorkingChange("resource", "u1", lambda _: None)) == "xx"
    assert await store.working("resource", "u1") == "xx"
    assert await store.working("thread", "u1") is None


async def test_what_waits_to_be_embedded_is_kept_by_index_and_resource(store: MemoryStore) -> None:
    await store.save_turn(Turn("t1", "u1", NOW, [row("a"), row("b")], [("i", "b"), ("i", "a"), ("j", "a"), ("i", "a")]))
    await store.save_turn(Turn("t2", "u2", NOW, [row("c", thread="t2")], [("i", "c")]))

    assert [item.id for item in await store.pending("i", "u1", 9)] == ["a", "b"]
    assert [item.id for item in await store.pending("i", "u1", 1)] == ["a"]
    assert [item.id for item in await store.pending("j", "u1", 9)] == ["a"]
    await store.clear_pending("i", [("t1", "a"), ("t9", "z")])
    await store.delete_messages([("t1", "b")])
    assert await store.pending("i", "u1", 9) == []
    assert [item.id for item in await store.pending("j", "u1", 9)] == ["a"]
    assert [item.id for item in await store.pending("i", "u2", 9)] == ["c"]


async def test_a_lease_has_one_holder(store: MemoryStore) -> None:
    assert await store.acquire("t1", "one", 60)
    assert await store.acquire("t1", "one", 60), "one's own is held for longer"
    assert not await store.acquire("t1", "two", 60)
    assert await store.acquire("t2", "two", 60)
    assert not await store.renew("t1", "two", 60)
    assert await store.renew("t1", "one", 60)
    await store.release("t1", "two")
    assert not await store.acquire("t1", "two", 60)
    await store.release("t1", "one")
    assert await store.acquire("t1", "two", 60)


async def test_a_lease_that_ran_out_is_free_and_its_run_saves_nothing(store: MemoryStore) -> None:
    assert await store.acquire("t1", "one", 0)
    assert await store.acquire("t1", "two", 60)

    with pytest.raises(StorageError, match="thread 't1' was taken over by another run"):
        await store.save_turn(replace(turn("a"), lease="one"))

    assert await store.newest("t1") == []
    await store.save_turn(replace(turn("b"), lease="two"))
    assert await ids(store) == ["b"]
    assert await store.acquire("t1", "three", 60), "saving gives the lease back"


async def test_a_lease_can_outlast_a_save(store: MemoryStore) -> None:
    assert await store.acquire("t1", "one", 60)
    await store.save_turn(replace(turn("a"), lease="one", release=False))

    assert not await store.acquire("t1", "two", 60)


async def test_documents_of_any_text_and_size(store: MemoryStore) -> None:
    texts = ['{"parts":[{"type":"text","text":"\\u0000 \\ud83d 🙂 ü"}]}', '{"parts":["' + "x" * 10_000_000 + '"]}']
    await store.save_turn(Turn("t1", "u1", NOW, [row(f"m{n}", document=text) for n, text in enumerate(texts)]))

    assert [item.document for item in await store.newest("t1")] == texts
