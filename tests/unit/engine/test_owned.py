"""Tasks that outlive one read, and the mailbox they report to."""

from __future__ import annotations

import contextvars
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

from sluiceway.engine import Mailbox, Owned, loop_is_running

pytestmark = pytest.mark.anyio


async def test_a_task_goes_on_while_its_owner_does_other_things() -> None:
    owned = Owned()
    seen: list[str] = []
    go_on = anyio.Event()

    async def work() -> None:
        seen.append("begun")
        await go_on.wait()
        seen.append("done")

    owned.start(work)
    await anyio.wait_all_tasks_blocked()
    assert (seen, owned.running) == (["begun"], 1)

    go_on.set()
    await owned.join()

    assert (seen, owned.running) == (["begun", "done"], 0)


async def test_cancel_ends_all_and_join_waits_for_their_cleaning_up() -> None:
    owned = Owned()
    cleaned: list[int] = []

    async def work(number: int) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                cleaned.append(number)

    for number in range(3):
        owned.start(lambda number=number: work(number))
    await anyio.wait_all_tasks_blocked()
    owned.cancel()
    await owned.join()

    assert (sorted(cleaned), owned.running) == ([0, 1, 2], 0)


async def test_everybody_who_joins_is_woken() -> None:
    owned = Owned()
    go_on = anyio.Event()
    owned.start(go_on.wait)
    joined: list[int] = []

    async def join(number: int) -> None:
        await owned.join()
        joined.append(number)

    others = Owned()
    for number in range(3):
        others.start(lambda number=number: join(number))
    await anyio.wait_all_tasks_blocked()
    go_on.set()
    await anyio.wait_all_tasks_blocked()

    assert sorted(joined) == [0, 1, 2]


async def test_join_waits_even_while_the_owner_is_being_cancelled() -> None:
    owned = Owned()
    ended: list[bool] = []

    async def work() -> None:
        with anyio.CancelScope(shield=True):
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
        ended.append(True)

    with anyio.CancelScope() as scope:
        owned.start(work)
        scope.cancel()
        await owned.join()
        assert ended == [True]


async def test_a_task_that_is_cancelled_before_it_begins_does_nothing_and_is_counted() -> None:
    owned = Owned()
    seen: list[str] = []

    async def work() -> None:
        await anyio.lowlevel.checkpoint()
        seen.append("ran")

    owned.start(work)
    owned.cancel()
    await owned.join()

    assert (seen, owned.running) == ([], 0)


async def test_a_task_sees_the_context_of_whoever_started_it() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")
    owned = Owned()
    seen: list[str] = []

    async def work() -> None:
        seen.append(variable.get())
        variable.set("inside")

    variable.set("outside")
    owned.start(work)
    await owned.join()

    assert (seen, variable.get()) == (["outside"], "outside")


async def test_an_owned_task_may_use_scopes_and_groups_of_its_own() -> None:
    owned = Owned()
    seen: list[Any] = []

    async def work() -> None:
        with anyio.move_on_after(0):
            await anyio.sleep_forever()
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.lowlevel.checkpoint)
        seen.append("done")

    owned.start(work)
    await owned.join()

    assert seen == ["done"]


async def test_a_mailbox_hands_out_in_order_and_waits_for_the_first() -> None:
    box: Mailbox[int] = Mailbox()

    async def fill() -> None:
        box.post(1)
        box.post(2)

    async with anyio.create_task_group() as group:
        group.start_soon(fill)
        await box.wait()

    assert (len(box), box.take(), box.take(), len(box)) == (2, 1, 2, 0)


async def test_put_waits_for_space_and_post_does_not() -> None:
    box: Mailbox[int] = Mailbox(size=2)
    put: list[int] = []

    async def fill() -> None:
        for number in range(5):
            await box.put(number)
            put.append(number)

    taken: list[int] = []
    async with anyio.create_task_group() as group:
        group.start_soon(fill)
        await anyio.wait_all_tasks_blocked()
        assert put == [0, 1]
        box.post(9)
        while len(taken) < 6:
            await box.wait()
            taken.append(box.take())
            await anyio.lowlevel.checkpoint()

    assert taken == [0, 1, 9, 2, 3, 4]


async def test_a_wait_that_was_cancelled_can_be_made_again() -> None:
    box: Mailbox[str] = Mailbox()

    with anyio.move_on_after(0):
        await box.wait()
    box.post("late")
    await box.wait()

    assert box.take() == "late"


async def test_a_loop_is_seen_from_inside() -> None:
    assert loop_is_running()
    assert not await anyio.to_thread.run_sync(loop_is_running)


async def test_an_owner_that_is_dropped_ends_its_tasks_from_any_thread() -> None:
    owned = Owned()
    begun = anyio.Event()

    async def work() -> None:
        begun.set()
        await anyio.sleep(5)

    owned.start(work)
    await begun.wait()
    await anyio.to_thread.run_sync(owned.forget)
    with anyio.fail_after(2):
        await owned.join()
    owned.forget()
    assert owned.running == 0


async def test_a_task_can_be_started_late_from_any_thread() -> None:
    owned = Owned()
    owned.start_late(anyio.sleep_forever)  # nobody has said where
    owned.note_loop()
    ran = anyio.Event()

    async def work() -> None:
        ran.set()

    await anyio.to_thread.run_sync(owned.start_late, work)
    with anyio.fail_after(2):
        await ran.wait()
    await owned.join()
    assert owned.running == 0


def test_a_task_that_is_started_when_its_loop_has_ended_does_not_run() -> None:
    async def late() -> None:
        raise AssertionError

    async def begin() -> Owned:
        owned = Owned()
        owned.note_loop()
        return owned

    for backend in ("asyncio", "trio"):
        owned = anyio.run(begin, backend=backend)
        owned.start_late(late)
        assert owned.running == 0


def test_a_task_that_is_started_while_its_loop_ends_harms_nothing() -> None:
    """Trio closes generators, and drops what is in them, when it takes no more tasks."""
    left: list[AsyncGenerator[None]] = []

    async def hold(owned: Owned) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            owned.start_late(anyio.sleep_forever)

    async def begin() -> None:
        owned = Owned()
        owned.note_loop()
        left.append(hold(owned))
        await anext(left[-1])

    for backend in ("asyncio", "trio"):
        anyio.run(begin, backend=backend)
