"""Branches side by side."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
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
