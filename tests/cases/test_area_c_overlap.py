"""Area C: guards that run before the model, and beside it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway import Processor
from sluiceway.processors import Effects
from tests.support.processors import tool_named
from tests.support.runs import Entry, by, calls_tool, each_entry, make_agent

pytestmark = pytest.mark.anyio


def slow_guard(*, wait: anyio.Event | None = None) -> Processor:
    """Return a guard that trips after 50 ms, or when an event is set."""

    async def run(ctx: Any) -> None:
        if wait is None:
            await anyio.sleep(0.05)
        else:
            await wait.wait()
        ctx.abort("stop")

    return Processor.of("slow", process_input=run, effects=Effects(reads=("messages",), external=True))


@each_entry
async def test_b053_a_guard_in_front_of_the_model_keeps_it_from_being_called(entry: Entry) -> None:
    agent, model = make_agent("never", input_processors=[slow_guard()])

    ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert (len(model.calls), ran.emitted, ran.result.text) == (0, "", "")


@each_entry
@pytest.mark.parametrize("hold", ["none", "step", "run"])
async def test_b053_beside_the_model_no_text_goes_out_before_the_verdict(entry: Entry, hold: Any) -> None:
    """The model has answered long since; its call is paid for, and nothing of it is seen or kept."""
    agent, model = make_agent(["fast", " answer"], input_processors=[slow_guard()], overlap=True)

    ran = await by(entry, agent, "hi", hold=hold)

    trip = ran.result.tripwire
    assert trip is not None
    assert (trip.reason, trip.processor_id) == ("stop", "slow")
    assert (len(model.calls), ran.emitted) == (1, "")
    assert (ran.result.text, ran.result.response.messages, ran.result.steps) == ("", (), ())
    assert ran.result.usage.total_tokens > 0
    if entry == "stream":
        assert ran.types == ["start", "tripwire", "finish"]


@each_entry
async def test_b054_no_tool_runs_before_a_guard_in_front_of_the_model_has_passed(entry: Entry) -> None:
    trace: list[str] = []
    agent, model = make_agent(
        {"tool_calls": [calls_tool("t")]},
        "never",
        tools=[tool_named("t", trace=trace)],
        input_processors=[slow_guard()],
    )

    ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert (trace, len(model.calls)) == ([], 0)


@each_entry
async def test_b054_no_tool_runs_before_a_guard_beside_the_model_has_passed(entry: Entry) -> None:
    trace: list[str] = []
    agent, model = make_agent(
        {"tool_calls": [calls_tool("t")]},
        "never",
        tools=[tool_named("t", trace=trace)],
        input_processors=[slow_guard()],
        overlap=True,
    )

    ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert (trace, len(model.calls), ran.of("tool-call", "tool-result")) == ([], 1, [])
