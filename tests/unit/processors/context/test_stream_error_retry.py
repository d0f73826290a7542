"""`StreamErrorRetryProcessor`: which errors, how often, and how long it waits."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from sluiceway.engine import use_clock
from sluiceway.errors import ModelError
from sluiceway.models import Backoff, Reply
from sluiceway.models._errors import retry_after_s
from sluiceway.processors import StreamErrorRetryProcessor
from tests.support.runs import Entry, by, each_entry, make_agent
from tests.support.workflows import FakeClock

pytestmark = pytest.mark.anyio


def failing(error: dict[str, Any], *more: Any, **options: Any) -> Any:
    retry = StreamErrorRetryProcessor(**options)
    return make_agent(Reply(error=error), *more, error_processors=[retry])


@pytest.mark.parametrize(
    ("message", "again"),
    [
        ("Overloaded", True),
        ("Rate limit reached", True),
        ("The request timed out", True),
        ("connection reset by peer", True),
        ("the provider closed its stream without a finish", True),
        ("I do not like this prompt", False),
    ],
)
async def test_known_texts_say_that_an_error_may_pass(message: str, *, again: bool) -> None:
    agent, model = failing({"message": message}, "ok", delay=0)
    ran = await by("generate", agent, "q")
    assert (len(model.calls), ran.error is None) == (1 + again, again)


@each_entry
async def test_a_broken_stream_is_begun_again(entry: Entry) -> None:
    retry = StreamErrorRetryProcessor(delay=0)
    agent, model = make_agent(
        Reply(text=["so ", "far"], stream_error="connection reset"), "whole", error_processors=[retry]
    )
    ran = await by(entry, agent, "q")
    assert (ran.result.text, len(model.calls)) == ("whole", 2)


@pytest.mark.parametrize("matcher", ["not LIKE", re.compile("lik."), lambda error: "like" in str(error)])
async def test_matchers_add_to_what_may_pass_but_never_a_refused_login(matcher: Any) -> None:
    agent, model = failing({"message": "I do not like this", "status": 400}, "ok", matchers=[matcher], delay=0)
    assert (await agent.generate("q")).text == "ok"
    assert len(model.calls) == 2

    agent, model = failing({"message": "I do not like this", "status": 403}, "ok", matchers=[matcher], delay=0)
    ran = await by("generate", agent, "q")
    assert (len(model.calls), type(ran.error)) == (1, ModelError)


async def test_every_step_has_its_own_retries() -> None:
    def look() -> int:
        """Look."""
        return 1

    overloaded = Reply(error={"status": 529, "message": "overloaded"})
    agent, model = make_agent(
        overloaded,
        Reply(tool_calls=[{"id": "c1", "name": "look"}]),
        overloaded,
        "ok",
        tools=[look],
        error_processors=[StreamErrorRetryProcessor(delay=0)],
    )
    assert (await agent.generate("q")).text == "ok"
    assert len(model.calls) == 4


@pytest.mark.parametrize("retries", [0, 2, 3])
async def test_it_gives_up(retries: int) -> None:
    agent, model = failing({"status": 500, "message": "no"}, max_retries=retries, delay=0)
    ran = await by("generate", agent, "q")
    assert (len(model.calls), type(ran.error)) == (1 + retries, ModelError)


async def test_without_a_budget_there_is_no_retry() -> None:
    agent, model = failing({"status": 500, "message": "no"}, "ok", delay=0)
    ran = await by("generate", agent, "q", max_processor_retries=0)
    assert (len(model.calls), type(ran.error)) == (1, ModelError)


@pytest.mark.parametrize(("asked", "waits"), [(7, [7.0]), (30, [30.0]), (31, None)])
async def test_retry_after_is_waited_for_unless_it_is_too_long(asked: float, waits: list[float] | None) -> None:
    clock = FakeClock()
    agent, model = failing({"status": 429, "message": "slow down", "retry_after_s": asked}, "ok", delay=1)
    with use_clock(clock):
        ran = await by("generate", agent, "q")
    assert clock.slept == (waits or [])
    assert len(model.calls) == (2 if waits else 1)
    assert (ran.error is None) == bool(waits)


@pytest.mark.parametrize("header", ["7", "date"])
async def test_retry_after_comes_in_seconds_or_as_a_date(header: str) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    text = format_datetime(now + timedelta(seconds=7), usegmt=True) if header == "date" else header
    asked = retry_after_s({"retry-after": text}, now)
    clock = FakeClock()
    agent, _ = failing({"status": 429, "message": "slow down", "retry_after_s": asked}, "ok")
    with use_clock(clock):
        await agent.generate("q")
    assert clock.slept == [7.0]


async def test_waits_grow_with_a_part_left_to_chance() -> None:
    clock = FakeClock()
    retry = StreamErrorRetryProcessor(max_retries=7)
    retry._backoff = Backoff(most_asked_s=30, jitter=iter([0.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.5]).__next__)
    agent, _ = make_agent(Reply(error={"status": 500, "message": "no"}), error_processors=[retry])
    with use_clock(clock):
        await by("generate", agent, "q")
    assert clock.slept == [0.25, 1.0, 1.5, 2.0, 4.0, 4.0, 6.0]


async def test_a_delay_may_be_a_function_of_the_retry_and_the_error() -> None:
    clock = FakeClock()
    agent, _ = failing(
        {"status": 500, "message": "no"}, max_retries=3, delay=lambda retry, error: retry + error.status / 100
    )
    with use_clock(clock):
        await by("generate", agent, "q")
    assert clock.slept == [5.0, 6.0, 7.0]
