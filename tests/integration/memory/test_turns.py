"""Whole turns on every store: what is saved, what is not, and who waits."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Tool
from sluiceway.errors import StorageError
from sluiceway.memory import HashEmbedder, InMemoryVectors, Memory, MemoryStore, Turn
from sluiceway.memory import _lease as lease
from sluiceway.models import Reply
from tests.support.memory import ON, kept, remembering, result_shape, said
from tests.support.processors import hooked, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry

pytestmark = pytest.mark.anyio


@each_entry
async def test_a_conversation_goes_on(store: MemoryStore, entry: Entry) -> None:
    agent, model, memory = remembering(
        Reply("let me see", tool_calls=[calls_tool("t", {"x": [1, "ü"]})]),
        "seven",
        "still seven",
        memory=Memory(store),
        tools=[tool_named("t", {"n": 7})],
    )

    first = await by(entry, agent, "hi", memory=ON)
    second = await by(entry, agent, "and?", memory=ON)

    assert said(model.prompts[2]) == [
        "user: hi",
        "assistant: let me see",
        "tool: ",
        "assistant: seven",
        "user: and?",
    ]
    stored = await kept(memory)
    assert stored == [
        ("user", "hi"),
        *result_shape(first.result),
        ("user", "and?"),
        *result_shape(second.result),
    ]
    assert [m.id for m in await memory.recall("t1")][1::2] == [
        first.result.response.messages[0].id,
        second.result.response.messages[0].id,
    ]
    if entry == "stream":
        [start] = second.of("start")
        assert start.get("message_id") == second.result.response.messages[0].id


async def test_threads_and_resources_are_apart(store: MemoryStore) -> None:
    agent, model, memory = remembering("a", "b", "c", memory=Memory(store))

    await agent.generate("one", memory={"thread": "t1", "resource": "u1"})
    await agent.generate("two", memory={"thread": "t2", "resource": "u2"})
    with pytest.raises(StorageError, match="thread 't1' belongs to another resource"):
        await agent.generate("three", memory={"thread": "t1", "resource": "u2"})
    await agent.generate("four", request_context={"thread_id": "t2", "resource_id": "u2"})

    assert said(model.prompts[-1]) == ["user: two", "assistant: b", "user: four"]
    assert len(model.calls) == 3
    assert [thread.id for thread in await memory.threads("u1")] == ["t1"]
    assert [message.resource_id for message in await memory.recall("t2")] == ["u2"] * 4
    assert [message.thread_id for message in await memory.recall("t2")] == ["t2"] * 4


async def test_many_runs_on_one_thread_come_one_after_the_other(store: MemoryStore) -> None:
    agent, _, memory = remembering(memory=Memory(store, last_messages=0))

    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(lambda number=number: agent.generate(f"q{number}", memory=ON))

    stored = await kept(memory)
    assert sorted(text for role, text in stored if role == "user") == [f"q{n}" for n in range(6)]
    assert [role for role, _ in stored] == ["user", "assistant"] * 6


async def test_a_run_that_ends_early_gives_its_thread_back(store: MemoryStore) -> None:
    """After a tripwire, an error, an early exit and a cancellation the next run starts at once."""
    memory = Memory(store, thread_wait_s=0)

    def fail(ctx: Any) -> None:
        raise ValueError("no")

    def trip(ctx: Any) -> None:
        ctx.abort("no")

    for hook in (fail, trip):
        agent, _, _ = remembering("x", memory=memory, output_processors=[hooked("p", {"process_output_step": hook})])
        await collect(agent, "hi", memory=ON)
    agent, _, _ = remembering("x", memory=memory)
    async with agent.stream("hi", memory=ON) as stream:
        async for chunk in stream:
            if chunk.type == "step-start":
                break
    with anyio.CancelScope() as scope:

        def cancel(ctx: Any) -> None:
            scope.cancel()

        agent, _, _ = remembering("x", memory=memory, input_processors=[hooked("c", {"process_input": cancel})])
        await agent.generate("hi", memory=ON)
    assert scope.cancelled_caught

    assert await kept(memory) == []
    agent, _, _ = remembering("there", memory=memory)
    await agent.generate("hi", memory=ON)
    assert await kept(memory) == [("user", "hi"), ("assistant", "there")]


async def test_the_wait_for_a_thread_has_an_end(store: MemoryStore) -> None:
    memory = Memory(store, thread_wait_s=0.02)
    waits = anyio.Event()

    async def hold(ctx: Any) -> None:
        with pytest.raises(StorageError, match=r"another run has been at work on thread 't1' for 0\.02 s"):
            await second.generate("two", memory=ON)
        waits.set()

    # The tool runs outside of its run's context here, as another request would.
    first, _, _ = remembering("x", memory=memory)
    second, _, _ = remembering("y", memory=memory)
    async with anyio.create_task_group() as group, first.stream("one", memory=ON) as stream:
        async for chunk in stream:
            if chunk.type == "step-start":
                group.start_soon(hold, None)
                await waits.wait()

    assert await kept(memory) == [("user", "one"), ("assistant", "x")]


async def test_a_lease_is_renewed_while_the_run_lasts(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_S", 0.06)
    renewed = anyio.Event()
    renew = store.renew
    count = 0

    async def noted(thread_id: str, token: str, lease_s: float) -> bool:
        nonlocal count
        count += 1
        kept_on = await renew(thread_id, token, lease_s)
        if count >= 5:  # longer than the lease lasts by itself
            renewed.set()
        return kept_on

    monkeypatch.setattr(store, "renew", noted)

    async def wait() -> str:
        await renewed.wait()
        assert not await store.acquire("t1", "another", 60)
        return "done"

    agent, _, memory = remembering(
        Reply(tool_calls=[calls_tool("wait")]), "ok", memory=Memory(store), tools=[Tool("wait", "Wait.", None, wait)]
    )
    with anyio.fail_after(20):
        await agent.generate("hi", memory=ON)

    assert [role for role, *_ in await kept(memory)] == ["user", "assistant"]


async def test_a_lease_that_ended_with_its_turn_is_not_called_lost(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The renewal may find it gone before the run hears that the turn is saved."""
    monkeypatch.setattr(lease, "LEASE_S", 0.03)
    asked = anyio.Event()
    renew, save_turn = store.renew, store.save_turn

    async def renewed(thread_id: str, token: str, lease_s: float) -> bool:
        held = await renew(thread_id, token, lease_s)
        if not held:
            asked.set()
        return held

    async def saved(turn: Turn) -> None:
        await save_turn(turn)
        with anyio.fail_after(20):
            await asked.wait()

    monkeypatch.setattr(store, "renew", renewed)
    monkeypatch.setattr(store, "save_turn", saved)
    agent, _, memory = remembering("there", memory=Memory(store))

    await agent.generate("hi", memory=ON)

    assert await kept(memory) == [("user", "hi"), ("assistant", "there")]
    assert [record.message for record in caplog.records] == []


async def test_a_run_that_lost_its_lease_saves_nothing(store: MemoryStore) -> None:
    async def steal(ctx: Any) -> None:
        thread = await store.acquire("t1", "thief", 60)
        assert not thread
        for token in tokens:
            await store.release("t1", token)
        assert await store.acquire("t1", "thief", 60)

    tokens: list[str] = []
    acquire = store.acquire

    async def noted(thread_id: str, token: str, lease_s: float) -> bool:
        tokens.append(token)
        return await acquire(thread_id, token, lease_s)

    store.acquire = noted
    agent, _, memory = remembering(
        "x", memory=Memory(store), output_processors=[hooked("s", {"process_output_result": steal})]
    )

    ran = await collect(agent, "hi", memory=ON)

    assert isinstance(ran.error, StorageError)
    assert "taken over by another run" in str(ran.error)
    assert await kept(memory) == []


async def test_cancelled_anywhere_a_turn_is_there_whole_or_not_at_all(store: MemoryStore) -> None:
    """Cancelled after any number of turns of the event loop; the next call goes through at once."""
    memory = Memory(
        store,
        semantic_recall=True,
        working_memory=True,
        vector=InMemoryVectors(),
        embedder=HashEmbedder(8),
        thread_wait_s=0,
    )
    update = calls_tool("update_working_memory", {"memory": "- Name: Ann"})
    ticks, ended = 0, False
    while not ended:
        assert ticks < 10_000_000
        agent, _, _ = remembering(Reply("so ", tool_calls=[update]), "it is", memory=memory)
        on = {"thread": "t1", "resource": f"u{ticks}"}
        ended = await _cancelled_after(ticks, partial(agent.generate, "hi", memory=on))
        stored = await kept(memory)
        assert stored in ([], [("user", "hi"), ("assistant", "so ", "step-start", "it is")])
        assert (await memory.working_memory(resource=on["resource"]) is not None) == bool(stored)
        assert bool(stored) or not ended
        await memory.delete_thread("t1")
        ticks += 1 + ticks // 8
    again, _, _ = remembering("again", memory=memory)
    await again.generate("next", memory=ON)
    assert await kept(memory) == [("user", "next"), ("assistant", "again")]


async def _cancelled_after(ticks: int, run: Callable[[], Awaitable[Any]]) -> bool:
    """Run something, cancel it after so many turns of the event loop, and say whether it had ended."""
    ended = False

    async def work() -> None:
        nonlocal ended
        await run()
        ended = True

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        for _ in range(ticks):
            if ended:
                break
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    return ended


async def test_a_stream_that_is_dropped_unclosed_frees_its_thread(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "LEASE_S", 60.0)
    pauses = Pauses()
    monkeypatch.setattr(anyio, "sleep", pauses.wait_for)
    given_back = anyio.Event()
    leave = store.__aexit__

    async def left(*error: Any) -> None:
        await leave(*error)
        given_back.set()

    monkeypatch.setattr(store, "__aexit__", left, raising=False)
    agent, _, memory = remembering(memory=Memory(store))
    stream = agent.stream("hi", memory=ON)
    await stream.__aenter__()
    while (await stream.__anext__()).type != "step-start":
        pass
    assert not await store.acquire("t1", "another", 60)
    del stream, agent
    gc.collect()
    pauses.over.set()

    with anyio.fail_after(20):
        await given_back.wait()
    assert await store.acquire("t1", "another", 60)
    assert await kept(memory) == []


class Pauses:
    """Lets the renewal of a lease wait until it is told to go on."""

    def __init__(self) -> None:
        self.over = anyio.Event()

    async def wait_for(self, seconds: float) -> None:
        assert seconds == 20
        await self.over.wait()
