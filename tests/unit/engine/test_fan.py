"""Branches side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway.engine import Outcome, fan_out, raise_first
from sluiceway.errors import TripWire

pytestmark = pytest.mark.anyio


def ends(value: Any, *, delay_s: float = 0) -> Callable[[], Awaitable[Any]]:
    async def run() -> Any:
        if delay_s:
            await anyio.sleep(delay_s)
        if isinstance(value, BaseException):
            raise value
        return value

    return run


def ended(outcomes: list[Outcome]) -> list[Any]:
    return [outcome.value if outcome.done else outcome.error for outcome in outcomes]


async def test_outcomes_come_in_list_order() -> None:
    outcomes = await fan_out([ends("a", delay_s=0.01), ends(None), ends("c")])
    assert ended(outcomes) == ["a", None, "c"]


async def test_nothing_to_run_is_no_outcome() -> None:
    assert await fan_out([]) == []


async def test_one_that_raises_cancels_the_others() -> None:
    error = ValueError("x")
    with anyio.fail_after(2):
        outcomes = await fan_out([ends("a", delay_s=5), ends(error), ends("c", delay_s=5)])
    assert ended(outcomes) == [None, error, None]
    assert [outcome.done for outcome in outcomes] == [False, False, False]


async def test_all_finish_if_they_are_waited_for() -> None:
    error = ValueError("x")
    assert ended(await fan_out([ends("a", delay_s=0.01), ends(error)], wait="all")) == ["a", error]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
async def test_no_more_than_the_limit_run_at_once_and_they_start_in_order(limit: int) -> None:
    started: list[int] = []
    running = most = 0

    def tracked(index: int) -> Callable[[], Awaitable[int]]:
        async def run() -> int:
            nonlocal running, most
            started.append(index)
            running += 1
            most = max(most, running)
            await anyio.sleep(0.001 * (index % 3))
            running -= 1
            return index

        return run

    outcomes = await fan_out([tracked(i) for i in range(12)], limit=limit)
    assert ended(outcomes) == started == list(range(12))
    assert most <= limit


async def test_after_a_failure_no_further_one_starts() -> None:
    started: list[int] = []

    def tracked(index: int) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            started.append(index)
            await anyio.sleep(0.001)
            if index == 1:
                raise ValueError("stop")

        return run

    await fan_out([tracked(i) for i in range(10)], limit=1)
    assert started == [0, 1]


WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


@pytest.mark.parametrize("limit", [None, 2])
async def test_what_a_branch_sets_in_the_context_is_seen_by_it_alone(limit: int | None) -> None:
    """Neither by the others, whenever they run, nor by what comes after."""
    seen: list[str] = []

    def named(name: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            seen.append(WHO.get())
            WHO.set(name)
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            seen.append(WHO.get())

        return run

    await fan_out([named("a"), named("b"), named("c")], limit=limit)
    assert (sorted(seen), WHO.get()) == (["a", "b", "c", "nobody", "nobody", "nobody"], "nobody")


@pytest.mark.parametrize("failing", [0, 1, 2])
async def test_each_branch_ends_the_others_and_they_are_waited_for(failing: int) -> None:
    error = ValueError("x")
    ended_in_peace: list[int] = []

    def branch(index: int) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            if index == failing:
                await anyio.sleep(0.001)
                raise error
            try:
                await anyio.sleep(5)
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.001)
                    ended_in_peace.append(index)

        return run

    with anyio.fail_after(2):
        outcomes = await fan_out([branch(index) for index in range(3)])
    assert [outcome.error for outcome in outcomes] == [error if index == failing else None for index in range(3)]
    assert sorted(ended_in_peace) == [index for index in range(3) if index != failing]


async def test_a_cancellation_from_outside_goes_up_and_ends_all_branches() -> None:
    ended_in_peace: list[int] = []

    def branch(index: int) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                ended_in_peace.append(index)

        return run

    with anyio.move_on_after(0.01) as scope:
        await fan_out([branch(index) for index in range(3)], wait="all")
        raise AssertionError("it went on")
    assert (scope.cancelled_caught, sorted(ended_in_peace)) == (True, [0, 1, 2])


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_future_that_somebody_cancelled_ends_the_branch_that_waits_for_it(index: int) -> None:
    """As an error of that branch would, whichever it is; the task of the caller is not cancelled."""

    async def waits() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    async def main() -> tuple[list[bool], list[bool]]:
        branches = [ends("x", delay_s=5) for _ in range(3)]
        branches[index] = waits
        async with asyncio.timeout(2):
            outcomes = await fan_out(branches)
        await asyncio.sleep(0)
        return [type(o.error) is asyncio.CancelledError for o in outcomes], [o.done for o in outcomes]

    assert asyncio.run(main()) == ([i == index for i in range(3)], [False, False, False])


def outcome(error: BaseException | None) -> Outcome:
    made = Outcome()
    made.error = error
    return made


def test_nothing_raised_is_nothing_to_raise() -> None:
    raise_first([outcome(None), outcome(None)], ["a", "b"])


def test_a_trip_comes_before_an_error_and_the_first_in_order_before_others() -> None:
    error, one, two = ValueError("e"), TripWire("1"), TripWire("2")
    with pytest.raises(TripWire) as caught:
        raise_first([outcome(error), outcome(one), outcome(two)], ["e", "1", "2"])
    assert (caught.value, caught.value.others) == (one, (two,))


def test_what_ends_the_program_comes_before_all() -> None:
    with pytest.raises(KeyboardInterrupt):
        raise_first([outcome(TripWire("t")), outcome(KeyboardInterrupt())], ["t", "k"])
