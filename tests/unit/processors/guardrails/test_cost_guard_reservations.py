"""`CostGuardProcessor(reserve_usd=…)`: what is set aside comes back on every way out of a run, once."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Agent, Processor
from sluiceway.errors import ProcessorError, StorageError
from sluiceway.messages import Chunk, Usage
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import CostEntry, CostGuardProcessor, InMemoryLedger, LLMRequest, Price, StepOverrides
from tests.support.models import StallingModel
from tests.support.runs import calls_tool

pytestmark = pytest.mark.anyio

OWNER = "cost-guard/resource/"
PRICES = {"scripted/scripted": Price(1_000_000, 1_000_000), "stalling/stalling": Price(1_000_000, 1_000_000)}
USED = Usage(10, 10)  # 20 dollars


class Noting(InMemoryLedger):
    """A ledger that notes what is set aside and what is taken back or settled, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.set_aside: list[str] = []
        self.dropped: list[str] = []
        self.settled: list[str] = []

    async def reserve(self, entry: CostEntry, since_us: int, limit_nano_usd: int) -> int | None:
        spent = await super().reserve(entry, since_us, limit_nano_usd)
        if spent is None:
            self.set_aside.append(entry.id)
        return spent

    async def drop(self, reservation: str) -> None:
        self.dropped.append(reservation)
        await super().drop(reservation)

    async def add(self, entry: CostEntry, settles: str | None = None) -> None:
        await super().add(entry, settles)
        if settles is not None:
            self.settled.append(settles)

    async def usd(self) -> float:
        return await self.spent(OWNER, 0, 1) / 1e9


def guarded(*others: Any, model: Any = None, **options: Any) -> tuple[Agent, Noting]:
    ledger = Noting()
    guard = CostGuardProcessor(max_cost=1000, reserve_usd=100, prices=PRICES, ledger=ledger)
    model = model or ScriptedModel([Reply(text="ok", usage=USED)])
    return Agent(id="a", model=model, input_processors=[guard, *others], **options), ledger


async def wait_until(happened: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not happened():
            await anyio.lowlevel.checkpoint()


def trips_on_text() -> Processor:
    return Processor.of("trip", process_output_stream=lambda ctx: ctx.abort("no") if ctx.part.text else ctx.part)


def fail(ctx: Any) -> None:
    raise ValueError("no")


def ask_for_an_unknown_tool(ctx: Any) -> StepOverrides:
    return StepOverrides(active_tools=["none of that name"])


@pytest.mark.parametrize(
    ("hook", "does", "ends"),
    [
        ("process_input_step", lambda ctx: ctx.abort("no"), "other"),
        ("process_llm_request", lambda ctx: ctx.abort("no"), "other"),
        ("process_input_step", fail, "error"),
        ("process_llm_request", fail, "error"),
        ("process_input_step", ask_for_an_unknown_tool, "error"),
    ],
)
async def test_a_run_that_ends_before_its_model_is_asked(hook: Any, does: Any, ends: str) -> None:
    agent, ledger = guarded(Processor.of("out", **{hook: does}))
    if ends == "other":
        assert (await agent.generate("hi")).finish_reason == "other"
    else:
        with pytest.raises(Exception, match="no"):
            await agent.generate("hi")
    assert await ledger.usd() == 0
    assert ledger.dropped == ledger.set_aside != []


async def test_each_try_sets_aside_and_gives_back_its_own() -> None:
    again = Processor.of("again", process_llm_request=lambda ctx: ctx.abort("again", retry=True))
    agent, ledger = guarded(again, max_processor_retries=2)
    await agent.generate("hi")
    assert await ledger.usd() == 0
    assert len(ledger.set_aside) == 3
    assert ledger.dropped == ledger.set_aside


async def test_a_later_step_that_ends_early_leaves_the_cost_of_the_one_before() -> None:
    def tick() -> int:
        """Tick."""
        return 1

    second = Processor.of("second", process_llm_request=lambda ctx: ctx.abort("no") if ctx.step_number else None)
    model = ScriptedModel([Reply(tool_calls=[calls_tool("tick")], usage=USED)])
    agent, ledger = guarded(second, model=model, tools=[tick])
    await agent.generate("hi")
    assert await ledger.usd() == 20
    assert (ledger.settled, ledger.dropped) == (ledger.set_aside[:1], ledger.set_aside[1:])


async def test_a_replay_that_is_cut_short() -> None:
    chunks = [Chunk("text-delta", {"id": "t", "text": "hi"}), Chunk("finish", {"reason": "stop", "usage": USED})]
    replay = Processor.of("replay", process_llm_request=lambda ctx: LLMRequest(response=chunks))
    agent, ledger = guarded(replay, output_processors=[trips_on_text()])
    await agent.generate("hi")
    assert await ledger.usd() == 0
    assert ledger.dropped == ledger.set_aside != []


async def stall(ctx: Any) -> None:
    await anyio.sleep_forever()


@pytest.mark.parametrize(
    "stalled",
    [Processor.of("stall", process_input_step=stall), Processor.of("stall", process_llm_request=stall)],
    ids=["step", "request"],
)
async def test_a_run_that_is_cancelled_before_its_model_is_asked(stalled: Processor) -> None:
    agent, ledger = guarded(stalled)
    async with anyio.create_task_group() as group:
        group.start_soon(agent.generate, "hi")
        await wait_until(lambda: len(ledger.set_aside) == 1)
        group.cancel_scope.cancel()
    assert await ledger.usd() == 0
    assert ledger.dropped == ledger.set_aside


async def test_a_run_that_is_cancelled_while_money_is_set_aside() -> None:
    """The ledger has written it, but the guard has not been told."""
    agent, ledger = guarded()
    written = ledger.reserve

    async def reserve(entry: CostEntry, since_us: int, limit_nano_usd: int) -> int | None:
        spent = await written(entry, since_us, limit_nano_usd)
        await anyio.sleep_forever()
        return spent

    ledger.reserve = reserve
    async with anyio.create_task_group() as group:
        group.start_soon(agent.generate, "hi")
        await wait_until(lambda: len(ledger.set_aside) == 1)
        group.cancel_scope.cancel()
    assert await ledger.usd() == 0


async def test_a_run_that_is_cancelled_while_money_comes_back() -> None:
    """Its hook is left in the middle; the end of the run does it again."""
    chunks = [Chunk("text-delta", {"id": "t", "text": "hi"}), Chunk("finish", {"reason": "stop", "usage": USED})]
    replay = Processor.of("replay", process_llm_request=lambda ctx: LLMRequest(response=chunks))
    agent, ledger = guarded(replay)
    begun: list[str] = []
    drop = ledger.drop

    async def slow(reservation: str) -> None:
        begun.append(reservation)
        if len(begun) == 1:
            await anyio.sleep_forever()
        await drop(reservation)

    ledger.drop = slow
    async with anyio.create_task_group() as group:
        group.start_soon(agent.generate, "hi")
        await wait_until(lambda: bool(begun))
        group.cancel_scope.cancel()
    assert await ledger.usd() == 0
    assert ledger.dropped == ledger.set_aside != []


async def say(ctx: Any) -> None:
    await ctx.writer.custom("data-here", 1)


@pytest.mark.parametrize("dropped", [False, True], ids=["left", "dropped"])
async def test_a_stream_that_nobody_reads_on(dropped: bool) -> None:
    agent, ledger = guarded(Processor.of("say", process_input_step=say))
    stream = agent.stream("hi")
    await stream.__aenter__()
    while (await anext(stream)).type != "data-here":
        pass
    assert await ledger.usd() == 100
    if dropped:
        del stream
        gc.collect()
        await wait_until(lambda: bool(ledger.dropped))
    else:
        await stream.__aexit__(None, None, None)
    assert await ledger.usd() == 0
    assert ledger.dropped == ledger.set_aside != []


async def test_a_run_that_asked_its_model_keeps_its_cost() -> None:
    agent, ledger = guarded(output_processors=[trips_on_text()])
    await agent.generate("four")
    assert await ledger.usd() == 1 + 1  # what was sent and what was read, four characters a token
    assert (ledger.settled, ledger.dropped) == (ledger.set_aside, [])


@pytest.mark.parametrize("way", ["cancelled", "left", "dropped"])
async def test_a_run_that_ends_while_its_model_answers_keeps_its_cost(way: str) -> None:
    agent, ledger = guarded(model=StallingModel("some"))
    if way == "cancelled":
        async with anyio.create_task_group() as group:
            group.start_soon(agent.generate, "four")
            await wait_until(lambda: len(ledger.set_aside) == 1)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    else:
        stream = agent.stream("four")
        await stream.__aenter__()
        while (await anext(stream)).type != "text-delta":
            pass
        if way == "left":
            await stream.__aexit__(None, None, None)
        else:
            del stream
            gc.collect()
            await wait_until(lambda: bool(ledger.settled))
    assert await ledger.usd() == 1 + 1
    assert (ledger.settled, ledger.dropped) == (ledger.set_aside, [])


async def test_what_a_ledger_that_was_down_did_not_take_back_is_made_up_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Down(Noting):
        down = True

        async def drop(self, reservation: str) -> None:
            if self.down:
                raise StorageError("gone")
            await super().drop(reservation)

    ledger = Down()
    guard = CostGuardProcessor(max_cost=150, reserve_usd=100, prices=PRICES, ledger=ledger)
    trip = Processor.of("trip", process_llm_request=lambda ctx: ctx.abort("no"))
    agent = Agent(id="a", model=ScriptedModel([Reply(text="ok", usage=USED)]), input_processors=[guard])
    with caplog.at_level(logging.ERROR):
        tripped = await agent.generate("hi", input_processors=[guard, trip])
    assert tripped.tripwire is not None
    assert tripped.tripwire.reason == "no"
    assert [record.message for record in caplog.records if "gone" in str(record.exc_info)] != []
    assert await ledger.usd() == 100
    with pytest.raises(StorageError, match="gone"):
        await agent.generate("hi")
    ledger.down = False
    assert (await agent.generate("hi")).text == "ok"
    assert await ledger.usd() == 20


async def test_a_hook_run_alone_gives_back_too() -> None:
    ledger = Noting()
    guard = CostGuardProcessor(max_cost=1000, reserve_usd=100, prices=PRICES, ledger=ledger)
    await guard.run_on("hi", hook="process_input_step")
    assert await ledger.usd() == 0
    assert ledger.dropped == ledger.set_aside != []


async def test_an_error_is_not_masked_by_what_comes_back() -> None:
    agent, _ = guarded(Processor.of("out", process_input_step=fail))
    with pytest.raises(ProcessorError, match="ValueError"):
        await agent.generate("hi")
