"""`InMemoryLedger`: it forgets what no guard counts any more, and nothing else."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluiceway import Agent, RequestContext
from sluiceway.engine import use_clock
from sluiceway.messages import Usage
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import CostEntry, CostGuardProcessor, InMemoryLedger, ModerationProcessor, Price
from tests.support.judges import Judge, scores
from tests.support.runs import calls_tool
from tests.support.workflows import FakeClock

pytestmark = pytest.mark.anyio

HOUR = 3_600_000_000
BEGIN = 500_000 * HOUR
PRICES = {"scripted/scripted": Price(1_000_000, 1_000_000), "judge/judge": Price(1_000_000, 1_000_000)}


def entry(number: int, at_us: int, owner: str = "o", **options: Any) -> CostEntry:
    return CostEntry(id=f"e{number}", owner=owner, at_us=at_us, nano_usd=1, **{"counts_us": HOUR, **options})


async def test_what_no_window_holds_is_dropped() -> None:
    ledger = InMemoryLedger()
    sizes: list[int] = []
    for number in range(3000):
        await ledger.add(entry(number, BEGIN + number * HOUR // 10, owner=f"user {number % 700}"))
        sizes.append(ledger.size)
    assert max(sizes) < 15  # the ten of an hour, and those of the minute in which clocks may differ
    now = BEGIN + 2999 * HOUR // 10
    assert [await ledger.spent(f"user {number}", now - HOUR, now) for number in (199, 190, 189, 0)] == [1, 1, 0, 0]


async def test_what_is_set_aside_and_taken_back_leaves_nothing() -> None:
    ledger = InMemoryLedger()
    for number in range(3000):
        at_us = BEGIN + number * HOUR // 10
        assert await ledger.reserve(entry(number, at_us, reserved=True), at_us - HOUR, 1000) is None
        await ledger.drop(f"e{number}")
    assert ledger.size == 0


async def test_the_longest_window_that_anybody_asks_for_is_kept() -> None:
    """A guard may only look at what others spend."""
    ledger = InMemoryLedger()
    for number in range(100):
        now = BEGIN + number * HOUR
        await ledger.add(entry(number, now))
        assert await ledger.spent("o", now - 24 * HOUR, now) == min(number + 1, 24)
    assert 24 <= ledger.size <= 26


async def test_a_total_of_all_keeps_nothing_longer() -> None:
    ledger = InMemoryLedger()
    for number in range(100):
        await ledger.add(entry(number, BEGIN + number * HOUR))
        await ledger.spent("o", 0, BEGIN + number * HOUR)
    assert ledger.size <= 3


async def test_an_entry_that_says_no_window_is_kept_until_it_is_forgotten() -> None:
    ledger = InMemoryLedger()
    await ledger.add(entry(0, BEGIN, owner="run", counts_us=None))
    for number in range(1, 100):
        await ledger.add(entry(number, BEGIN + number * HOUR))
    assert await ledger.spent("run", 0, BEGIN + 100 * HOUR) == 1
    ledger.forget("run")
    assert await ledger.spent("run", 0, BEGIN + 100 * HOUR) == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, HOUR), st.booleans()), max_size=60))
async def test_sums_are_those_of_a_ledger_that_keeps_all(steps: list[tuple[int, int, bool]]) -> None:
    """Late entries, reservations and other owners among them."""
    ledger, kept, now = InMemoryLedger(), list[CostEntry](), BEGIN
    for number, (owner, after_us, reserved) in enumerate(steps):
        now += after_us
        at_us = now - (HOUR // 2 if owner == 3 else 0)  # booked late
        made = entry(number, at_us, owner=f"o{owner}", reserved=reserved)
        if reserved:
            await ledger.reserve(made, at_us - HOUR, 10**9)
        else:
            await ledger.add(made)
        kept.append(made)
        for one in range(4):
            counted = [
                e
                for e in kept
                if e.owner == f"o{one}" and e.at_us > now - HOUR and not (e.reserved and e.at_us <= now - HOUR // 4)
            ]
            assert await ledger.spent(f"o{one}", now - HOUR, now) == len(counted)


async def test_threads_that_add_at_once_lose_nothing() -> None:
    ledger = InMemoryLedger()

    def work(name: int) -> None:
        async def add() -> None:
            for number in range(200):
                at_us = BEGIN + number * HOUR // 10
                await ledger.add(entry(name * 1000 + number, at_us, owner="all"))
                await ledger.add(entry(name * 1000 + 500 + number, at_us, owner=f"{name}", counts_us=None))

        anyio.run(add)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    await anyio.to_thread.run_sync(lambda: [thread.join() for thread in threads])
    end = BEGIN + 199 * HOUR // 10
    assert [await ledger.spent(f"{name}", 0, end) for name in range(4)] == [200] * 4
    assert await ledger.spent("all", end - HOUR // 2, end) == 20


@pytest.mark.parametrize("scope", ["resource", "run", "thread", "user"])
async def test_a_guard_that_runs_for_long_keeps_what_its_window_holds(scope: Any) -> None:
    """The models of guards that ask before the first step are booked too, and blocked runs leave nothing."""

    def tick() -> int:
        """Tick."""
        return 1

    used = Usage(10, 10)
    model = ScriptedModel([Reply(tool_calls=[calls_tool("tick")], usage=used), Reply(text="ok", usage=used)] * 200)
    guard = CostGuardProcessor(max_cost=10**6, scope=scope, window="1h", prices=PRICES, reserve_usd=30)
    judge = ModerationProcessor(model=Judge(scores(hate=0.0)))
    agent = Agent(id="a", model=model, tools=[tick], input_processors=[judge, guard])
    clock = FakeClock()
    with use_clock(clock):
        for number in range(60):
            clock.passed_s = number * 600
            context = RequestContext({"user_id": f"u{number}"}, resource_id="r", thread_id=f"t{number}")
            assert (await agent.generate("hi", request_context=context)).text == "ok"
    assert isinstance(guard.ledger, InMemoryLedger)
    held = 3 * 7 if scope != "run" else 0  # two steps and a judge every ten minutes
    assert guard.ledger.size <= held


async def test_a_run_has_all_that_it_spent_however_long_it_takes() -> None:
    clock, ledger = FakeClock(), InMemoryLedger()

    async def wait() -> int:
        """Take a while, in which others spend."""
        clock.passed_s += 4_000
        await ledger.add(entry(int(clock.passed_s), int(clock.now().timestamp() * 1_000_000)))
        return 1

    model = ScriptedModel([Reply(tool_calls=[calls_tool("wait")], usage=Usage(10, 10))])
    guard = CostGuardProcessor(max_cost=50, scope="run", window="1h", prices=PRICES, ledger=ledger)
    agent = Agent(id="a", model=model, tools=[wait], input_processors=[guard], max_steps=9)
    with use_clock(clock):
        result = await agent.generate("hi")
    assert result.tripwire is not None
    assert result.tripwire.reason == "the budget is spent: $60.00 of $50.00"
    assert ledger.size == 1
