"""`CostGuardProcessor`: what is booked, when it blocks, and whose budget it is."""

from __future__ import annotations

import json
import sys
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import anyio
import pytest

from sluiceway import Agent, Processor, RequestContext
from sluiceway.engine import use_clock
from sluiceway.errors import ConfigurationError, ProcessorError, StorageError
from sluiceway.messages import Message, Usage
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import (
    CostEntry,
    CostGuardProcessor,
    InMemoryLedger,
    LLMRequest,
    ModerationProcessor,
    Price,
    PriceTable,
    SQLiteLedger,
    StepOverrides,
)
from tests.support.judges import Judge, scores
from tests.support.models import StallingModel
from tests.support.runs import calls_tool, collect
from tests.support.workflows import FakeClock

pytestmark = pytest.mark.anyio

# A call of 10 tokens in and 10 out costs 20 dollars: easy to count.
DEAR = {"scripted/scripted": Price(1_000_000, 1_000_000), "judge/judge": Price(100_000, 100_000)}
USED = Usage(10, 10)


def agent(guard: Any, *replies: Any, tools: Any = None, **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(replies or [Reply(text="ok", usage=USED)])
    return Agent(id="a", model=model, tools=tools, input_processors=[guard], **options), model


def guard(max_cost: Any = 50, **options: Any) -> CostGuardProcessor:
    return CostGuardProcessor(max_cost=max_cost, prices=DEAR, **options)


async def test_the_step_after_the_budget_is_spent_does_not_run() -> None:
    made = guard(30)
    one, model = agent(made)
    first, second, third = [await one.generate("hi") for _ in range(3)]
    assert (first.text, second.text, len(model.calls)) == ("ok", "ok", 2)
    assert third.tripwire is not None
    assert third.tripwire.reason == "the budget is spent: $40.00 of $30.00"
    assert third.tripwire.metadata == {"usage": 40.0, "limit": 30.0, "scope": "resource", "window": "7d"}


async def test_a_run_is_stopped_between_its_steps() -> None:
    def tick() -> int:
        """Tick."""
        return 1

    seen: list[Any] = []
    made = guard(20, scope="run", on_violation=seen.append, message="{usage} > {limit}")
    one, model = agent(made, Reply(tool_calls=[calls_tool("tick")], usage=USED), tools=[tick])
    result = await one.generate("hi")
    assert len(model.calls) == 1
    assert result.tripwire is not None
    assert result.tripwire.reason == "$20.00 > $20.00"
    assert len(seen) == 1
    assert (await one.generate("hi")).finish_reason == "other"  # another run has a budget of its own
    assert len(model.calls) == 2


@pytest.mark.parametrize(
    ("scope", "one", "other"),
    [
        ("resource", RequestContext({}, resource_id="r1"), RequestContext({}, resource_id="r2")),
        (
            "thread",
            RequestContext({}, resource_id="r1", thread_id="t"),
            RequestContext({}, resource_id="r2", thread_id="t"),
        ),
        ("user", RequestContext({"user_id": "u/1"}), RequestContext({"user_id": "u"})),
        ("organization", RequestContext({"organization": "o1"}), RequestContext({"organization_id": "o2"})),
        ("session", RequestContext({"session_id": "s"}), RequestContext({"session_id": "S"})),
    ],
)
async def test_budgets_are_apart(scope: Any, one: RequestContext, other: RequestContext) -> None:
    made, model = agent(guard(20, scope=scope))
    said = [(await made.generate("hi", request_context=context)).text for context in (one, one, other, other)]
    assert said == ["ok", "", "ok", ""]
    assert len(model.calls) == 2


@pytest.mark.parametrize("scope", ["thread", "user", "organization", "session"])
async def test_a_call_that_names_nobody_is_refused(scope: Any) -> None:
    made, model = agent(guard(scope=scope))
    with pytest.raises(ProcessorError, match=f"scope='{scope}', but the call does not name one"):
        await made.generate("hi")
    assert model.calls == []


async def test_costs_leave_the_window() -> None:
    made, _ = agent(guard(20, window="1h"))
    clock = FakeClock()
    with use_clock(clock):
        said = [(await made.generate("hi")).text for _ in range(2)]
        clock.passed_s = 3599
        said.append((await made.generate("hi")).text)
        clock.passed_s = 3601
        said.append((await made.generate("hi")).text)
    assert said == ["ok", "", "", "ok"]


async def test_warn_reports_once_and_goes_on() -> None:
    seen: list[Any] = []
    made, _ = agent(guard(10, strategy="warn", on_violation=lambda v: seen.append(v.message)))
    assert [(await made.generate("hi")).text for _ in range(3)] == ["ok"] * 3
    assert seen == ["the budget is spent: $20.00 of $10.00", "the budget is spent: $40.00 of $10.00"]


async def test_it_is_said_when_the_budget_is_nearly_spent() -> None:
    seen: list[Any] = []
    made, _ = agent(guard(50, warn_at_percent=80, on_violation=lambda v: seen.append((v.message, v.detail["usage"]))))
    for _ in range(2):
        await made.generate("hi")
    assert seen == [("80 % of the budget is spent", 40.0)]


async def test_the_budget_may_hang_on_the_request() -> None:
    async def limit(context: RequestContext) -> float:
        return 100 if context.get("plan") == "pro" else 0

    made, _ = agent(guard(limit))
    assert (await made.generate("hi", request_context={"plan": "pro"})).text == "ok"
    assert (await made.generate("hi")).finish_reason == "other"
    odd, _ = agent(guard(lambda _: "much"))
    with pytest.raises(ProcessorError, match="max_cost='much'"):
        await odd.generate("hi")


async def spent(made: CostGuardProcessor, owner: str = "cost-guard/resource/") -> float:
    return await made.ledger.spent(owner, 0, 1 << 62) / 1e9


async def test_every_call_is_booked_with_an_estimate_where_nothing_was_said() -> None:
    """Refused, broken off, cancelled and aborted calls too."""
    entries: list[CostEntry] = []

    class Noting(InMemoryLedger):
        async def add(self, entry: CostEntry, settles: str | None = None) -> None:
            entries.append(entry)
            await super().add(entry, settles)

    made = guard(10**9, ledger=Noting())
    one, _ = agent(made, Reply(text="twelve chars", stream_error="cut"))
    ran = await collect(one, "four")
    assert ran.error is not None
    made.prices = PriceTable({"stalling": Price(1, 1), **DEAR})
    stalling = Agent(id="b", model=StallingModel("some"), input_processors=[made])
    with anyio.move_on_after(0.05):
        await stalling.generate("hi")
    tripping, _ = agent(made, Reply(text="x", usage=USED))
    trip = Processor.of("trip", process_output_step=lambda ctx: ctx.abort("no"))
    await tripping.generate("hi", output_processors=[trip])
    assert [(entry.model, entry.estimated) for entry in entries] == [
        ("scripted/scripted", True),
        ("stalling/stalling", True),
        ("scripted/scripted", False),
    ]
    assert [entry.output_tokens for entry in entries] == [3, 1, 10]


async def test_the_models_of_guards_cost_too() -> None:
    made = guard(1000)
    judge = ModerationProcessor(model=Judge(scores(hate=0.0)))
    one, _ = agent(made, output_processors=[judge])
    await one.generate("hi")
    assert await spent(made) == 20 + 1


async def test_calls_of_guards_that_end_at_once_are_booked_once_each(caplog: pytest.LogCaptureFixture) -> None:
    class Slow(InMemoryLedger):
        async def add(self, entry: CostEntry, settles: str | None = None) -> None:
            await anyio.wait_all_tasks_blocked()
            await super().add(entry, settles)

    made = guard(1000, ledger=Slow())
    judge = ModerationProcessor(model=Judge(scores(hate=0.0)))
    one, _ = agent(made)
    said = [Message(f"text {number}", role="user") for number in range(5)]

    result = await one.generate(said, input_processors=[made, judge])

    assert result.text == "ok"
    assert await spent(made) == 20 + 5
    assert caplog.records == []


async def test_a_replay_costs_nothing() -> None:
    made = guard(1000, reserve_usd=20)
    one, model = agent(made)
    await one.generate("hi")
    calls: list[Any] = []
    keep = Processor.of("keep", process_llm_response=lambda ctx: calls.append(list(ctx.chunks)))
    replay = Processor.of("replay", process_llm_request=lambda ctx: LLMRequest(response=calls[0]))
    await one.generate("hi", input_processors=[made, keep])
    await one.generate("hi", input_processors=[made, replay])
    assert len(model.calls) == 2
    assert await spent(made) == 40


async def test_what_is_set_aside_keeps_others_out() -> None:
    """Ten at once with money for two: two run, and nothing stays set aside."""
    made = guard(45, reserve_usd=20)
    one, model = agent(made, Reply(text="ok", usage=USED, delay_s=0.05))
    said: list[str] = []

    async def ask() -> None:
        said.append((await one.generate("hi")).text)

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask)
    assert sorted(said) == [""] * 8 + ["ok"] * 2
    assert (len(model.calls), await spent(made)) == (2, 40)


async def test_what_was_set_aside_for_a_call_is_free_again_when_the_call_is_booked() -> None:
    """Money for two calls: with the first one counted twice there would be none for the second."""
    made = guard(45, reserve_usd=20)
    one, _ = agent(made)
    assert [(await one.generate("hi")).text for _ in range(3)] == ["ok", "ok", ""]


async def test_money_set_aside_by_a_program_that_died_comes_back() -> None:
    made = guard(45, reserve_usd=20)
    one, _ = agent(made)
    clock = FakeClock()
    with use_clock(clock):
        at_us = int(clock.now().timestamp() * 1_000_000)
        for id_ in ("dead-1", "dead-2"):
            dead = CostEntry(id=id_, owner="cost-guard/resource/", at_us=at_us, nano_usd=20 * 10**9, reserved=True)
            assert await made.ledger.reserve(dead, 0, 45 * 10**9) is None
        blocked = await one.generate("hi")
        clock.passed_s = 16 * 60
        later = await one.generate("hi")
    assert (blocked.text, later.text) == ("", "ok")


async def test_a_ledger_that_was_down_makes_no_call_free() -> None:
    class Down(InMemoryLedger):
        down = 1

        async def add(self, entry: CostEntry, settles: str | None = None) -> None:
            if self.down:
                self.down -= 1
                raise StorageError("gone")
            await super().add(entry, settles)

    def tick() -> int:
        """Tick."""
        return 1

    replies = [Reply(tool_calls=[calls_tool("tick")], usage=USED), Reply(text="ok", usage=USED)]
    ledger = Down()
    made = guard(1000, ledger=ledger)
    one, _ = agent(made, *replies, tools=[tick])
    assert (await one.generate("hi")).text == "ok"
    assert await spent(made) == 40

    ledger.down = 2
    one, model = agent(made, *replies, tools=[tick])
    with pytest.raises(StorageError, match="gone"):
        await one.generate("hi")
    assert len(model.calls) == 1


async def test_the_last_call_of_a_run_is_made_up_for_in_the_next_run() -> None:
    class Down(InMemoryLedger):
        down = True

        async def add(self, entry: CostEntry, settles: str | None = None) -> None:
            if self.down:
                raise StorageError("down")
            await super().add(entry, settles)

    ledger = Down()
    made = guard(20, ledger=ledger)
    one, _ = agent(made)
    context = RequestContext({}, resource_id="r")
    assert (await one.generate("hi", request_context=context)).text == "ok"
    with pytest.raises(StorageError, match="down"):
        await one.generate("hi", request_context=RequestContext({}, resource_id="other"))
    ledger.down = False
    assert (await one.generate("hi", request_context=RequestContext({}, resource_id="other"))).text == "ok"

    assert await spent(made, "cost-guard/resource/r") == 20
    assert (await one.generate("hi", request_context=context)).tripwire is not None


@pytest.mark.parametrize(
    ("usage", "cost"),
    [(Usage(-10, -10), 0.0), (Usage(-10, 10), 10.0), (Usage(10, 0, details=(("cached_tokens", -90),)), 10.0)],
)
async def test_no_usage_makes_a_budget_larger(usage: Usage, cost: float) -> None:
    made = guard(1000)
    one, _ = agent(made, Reply(text="ok", usage=usage))
    await one.generate("hi")
    assert await spent(made) == cost


async def test_a_usage_that_no_table_has_room_for_spends_the_budget(tmp_path: Path) -> None:
    async with SQLiteLedger(tmp_path / "costs.db") as ledger:
        made = guard(1000, ledger=ledger)
        one, _ = agent(made, Reply(text="ok", usage=Usage(10**30, 10)))
        assert [bool((await one.generate("hi")).tripwire) for _ in range(2)] == [False, True]


async def test_processes_share_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "costs.db"
    script = (
        "import sys, anyio\n"
        "from sluiceway import Agent\n"
        "from sluiceway.messages import Usage\n"
        "from sluiceway.models import Reply, ScriptedModel\n"
        "from sluiceway.processors import CostGuardProcessor, Price, SQLiteLedger\n"
        "guard = CostGuardProcessor(max_cost=70, reserve_usd=20, ledger=SQLiteLedger(sys.argv[1]),\n"
        "    prices={'scripted/scripted': Price(1_000_000, 1_000_000)})\n"
        "model = ScriptedModel([Reply(text='ok', usage=Usage(10, 10))])\n"
        "agent = Agent(id='a', model=model, input_processors=[guard])\n"
        "for _ in range(3):\n"
        "    print(anyio.run(agent.generate, 'hi').text or '-', flush=True)\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    said: list[str] = []

    async def run() -> None:
        said.extend((await anyio.run_process(command)).stdout.decode().split())

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        group.start_soon(run)
    assert sorted(said) == ["-"] * 3 + ["ok"] * 3
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_model_without_a_price_is_refused_when_the_agent_is_built() -> None:
    with pytest.raises(ConfigurationError, match="the price of scripted/scripted is not known; give prices="):
        Agent(id="a", model=ScriptedModel(["x"]), input_processors=[CostGuardProcessor(max_cost=1)])
    for known in ("zero", Price(1, 1)):
        made = CostGuardProcessor(max_cost=1, on_unknown_price=known)
        Agent(id="a", model=ScriptedModel(["x"]), input_processors=[made])
    Agent(id="a", model="openai/gpt-5-mini", input_processors=[CostGuardProcessor(max_cost=1)])


async def test_a_model_that_a_hook_chose_needs_a_price_before_the_step() -> None:
    other = ScriptedModel(["x"], model_id="other")
    choose = Processor.of("choose", process_input_step=lambda ctx: StepOverrides(model=other))
    one, _ = agent(guard())
    with pytest.raises(ProcessorError, match="the price of scripted/other is not known"):
        await one.generate("hi", input_processors=[choose, guard()])
    assert other.calls == []


def test_each_price_of_the_library_says_where_it_was_found() -> None:
    text = files("sluiceway.processors.guardrails").joinpath("prices.json").read_text(encoding="utf-8")
    shipped = json.loads(text)
    sources = shipped["sources"]
    assert {price["source"] for price in shipped["prices"].values()} == set(sources)
    assert all(source["url"].startswith("https://") and source["what"] for source in sources.values())
    for name, price in shipped["prices"].items():
        assert name.startswith(("anthropic/", "openai/"))
        assert 0 < price.get("cached_input", 0.001) < price["input"] < price["output"]
    assert date.fromisoformat(shipped["as_of"]) >= date(2026, 11, 30)


def test_prices_round_up_and_know_dates_and_caches() -> None:
    table = PriceTable({"mine": Price(2, 8, 0.5)})
    assert table.find("anyone", "mine") == Price(2, 8, 0.5)
    assert table.find("openai", "gpt-5-mini-2025-08-07") == table.find("openai", "gpt-5-mini")
    assert table.find("anthropic", "claude-sonnet-4-5-20250929") == Price(3, 15, 0.3)
    assert table.find("echo", "echo") == Price(0, 0)
    assert (table.find("x", "y"), PriceTable(shipped=False).find("openai", "gpt-5")) == (None, None)
    assert table.as_of is not None
    assert table.as_of.count("-") == 2
    price = Price(2, 8, 0.5)
    assert price.nano_usd(Usage(1000, 100)) == 2_000_000 + 800_000
    assert price.nano_usd(Usage(1000, 0, details=(("cached_tokens", 400),))) == 1_200_000 + 200_000
    assert Price(0.0001, 0).nano_usd(Usage(1, 0)) == 1
    assert Price(1.0, 2.0).nano_usd(Usage(93, 81)) == 255_000  # binary fractions have it a little above
    assert Price(0.15, 0.6).nano_usd(Usage(1, 1)) == 750


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_cost": -1}, "max_cost=-1"),
        ({"max_cost": True}, "max_cost=True"),
        ({"max_cost": 1, "scope": "all"}, "scope='all'"),
        ({"max_cost": 1, "window": "2h"}, "window='2h'"),
        ({"max_cost": 1, "message": "{money}"}, "message="),
        ({"max_cost": 1, "message": "{"}, "message="),
        ({"max_cost": 1, "prices": {"a": 1}}, "prices must be"),
        ({"max_cost": 1, "on_unknown_price": "guess"}, "on_unknown_price="),
        ({"max_cost": 1, "reserve_usd": float("inf")}, "reserve_usd=inf"),
        ({"max_cost": 1, "warn_at_percent": "80"}, "warn_at_percent="),
    ],
)
def test_options_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        CostGuardProcessor(**options)


def test_a_price_is_a_number() -> None:
    with pytest.raises(ConfigurationError, match="output_usd=None"):
        Price(1, None)  # pyright: ignore[reportArgumentType]


async def test_an_sqlite_ledger_in_memory_can_be_closed() -> None:
    async with SQLiteLedger(None) as ledger:
        await ledger.add(CostEntry(id="1", owner="o", at_us=5, nano_usd=7))
        assert await ledger.spent("o", 0, 10) == 7
    await ledger.aclose()
