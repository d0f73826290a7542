"""Timeouts, further tries, pauses between them."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway.engine import StepOptions, backoff_s, guarded, may_retry, use_clock, with_timeout
from sluiceway.errors import ConfigurationError, ModelError, StepError, StepTimeoutError
from tests.support.workflows import FakeClock

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("error", "may"),
    [
        (ValueError(), True),
        (OSError(), True),
        (StepTimeoutError("t"), True),
        (ConfigurationError(), False),
        (ModelError("m", retryable=False), False),
        (ModelError("m", retryable=True), True),
        (StepError("s", step_id="s", retryable=False), False),
    ],
)
def test_what_may_be_tried_again(error: Exception, may: bool) -> None:
    assert may_retry(error) is may


def test_pauses_double_up_to_half_a_minute_with_jitter() -> None:
    for attempt, ceiling in [(1, 0.1), (2, 0.2), (5, 1.6), (9, 25.6), (10, 30), (500, 30)]:
        assert all(ceiling / 2 <= backoff_s(attempt) <= ceiling for _ in range(20))
    assert len({backoff_s(3) for _ in range(10)}) > 1


@pytest.mark.parametrize(("asked", "waits"), [(2.5, 2.5), (0, 0.0), (-1, 0.0), (900, 30.0)])
def test_a_pause_that_is_asked_for_is_kept_within_the_bound(asked: float, waits: float) -> None:
    assert backoff_s(1, ModelError("m", retry_after_s=asked)) == waits


async def test_a_step_in_time_gives_its_output() -> None:
    async def quick() -> str:
        return "out"

    assert await with_timeout(quick, 5, path="p", run_id=None) == "out"
    assert await with_timeout(quick, None, path="p", run_id=None) == "out"


async def test_a_timeout_error_of_the_step_itself_is_not_taken_for_ours() -> None:
    async def inner() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own") as caught:
        await with_timeout(inner, 5, path="p", run_id=None)
    assert not isinstance(caught.value, StepTimeoutError)


async def test_cancellation_from_outside_is_no_timeout() -> None:
    with anyio.move_on_after(0.01) as scope:
        await with_timeout(anyio.sleep_forever, 5, path="p", run_id=None)
    assert scope.cancelled_caught


async def test_every_try_has_its_number_and_a_timeout_of_its_own() -> None:
    numbers: list[int] = []

    async def attempt(number: int) -> str:
        numbers.append(number)
        if number < 3:
            await anyio.sleep_forever()
        return "done"

    with use_clock(FakeClock()):
        options = StepOptions(timeout_s=0.01, retries=2)
        assert await guarded(attempt, options, path="p", run_id="r", unchanged=None) == "done"
    assert numbers == [1, 2, 3]


async def test_the_last_error_goes_up_when_the_tries_are_used_up() -> None:
    async def attempt(number: int) -> Any:
        raise OSError(f"try {number}")

    with use_clock(FakeClock()), pytest.raises(OSError, match="try 3"):
        await guarded(attempt, StepOptions(retries=2), path="p", run_id="r", unchanged=None)
