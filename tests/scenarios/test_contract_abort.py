"""`abort` and `warn`: what happens, and what no longer happens."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Processor, TripWire, Workflow
from sluiceway.models import Reply
from sluiceway.processors import Violation
from tests.support.processors import INPUT_HOOKS, OUTPUT_HOOKS, hooked, noting, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, make_agent

pytestmark = pytest.mark.anyio

IN_ORDER = (
    "process_input",
    "process_input_step",
    "process_llm_request",
    "process_output_stream",
    "finish_output_stream",
    "process_llm_response",
    "process_output_step",
    "process_tool_result",
    "process_output_result",
)


@each_entry
@pytest.mark.parametrize("hook", IN_ORDER)
@pytest.mark.parametrize("inside", [False, True], ids=["plain", "in a workflow"])
async def test_nothing_runs_after_an_abort(entry: Entry, hook: str, inside: bool) -> None:
    """No later processor, no tool, no later hook of any list; and no exception leaves."""
    trace: list[str] = []
    aborted_at: list[int] = []

    def abort(ctx: Any) -> Any:
        if hook == "process_output_stream" and ctx.part.type != "text-delta":
            return ctx.part
        try:
            aborted_at.append(len(trace))
            ctx.abort()
        except Exception:  # noqa: BLE001 - that is the point: an abort is none
            trace.append("swallowed")

    guard: Any = hooked("guard", {hook: abort})
    if inside:
        guard = Workflow("w").then(guard).commit()
    watch_in, watch_out = noting("i", trace, *INPUT_HOOKS), noting("o", trace, *OUTPUT_HOOKS)
    inputs, outputs = ([guard, watch_in], [watch_out]) if hook in INPUT_HOOKS else ([watch_in], [guard, watch_out])
    agent, _ = make_agent(
        Reply(text="t", tool_calls=[calls_tool("look")]),
        "done",
        tools=[tool_named("look", trace=trace)],
        input_processors=inputs,
        output_processors=outputs,
    )

    ran = await by(entry, agent, "hi")

    trip = ran.result.tripwire
    assert trip is not None
    assert (trip.processor_id, "guard" in trip.reason) == ("guard", True)
    assert aborted_at == [len(trace)]
    assert (ran.result.text, ran.result.finish_reason, ran.result.object) == ("", "other", None)
    assert ran.result.response.messages == ()
    if entry == "stream":
        assert ran.types[-2:] == ["tripwire", "finish"]
        finished = 1 if hook == "process_output_result" else 0
        assert ran.types.count("step-finish") == finished * 2


@each_entry
async def test_a_tripped_step_keeps_only_names_and_ids_of_its_calls(entry: Entry) -> None:
    """What the model wanted to do can be told; with what, cannot."""
    guard = Processor.of("guard", process_output_step=lambda ctx: ctx.abort("no"))
    agent, _ = make_agent(
        Reply(text="secret", reasoning="secret", tool_calls=[calls_tool("pay", {"to": "secret"})]),
        tools=[tool_named("pay")],
        output_processors=[guard],
    )

    ran = await by(entry, agent, "hi")

    step = ran.result.steps[-1]
    assert step.tripwire is not None
    assert (step.tripwire.reason, step.tripwire.processor_id) == ("no", "guard")
    assert [(call.tool_name, call.tool_call_id, dict(call.args)) for call in step.tool_calls] == [("pay", "c1", {})]
    assert (step.text, step.reasoning) == ("", "")


@pytest.mark.parametrize("fail", [False, True], ids=["abort", "error"])
async def test_tools_that_still_run_have_ended_when_the_end_is_told(fail: bool) -> None:
    """They are cancelled and awaited before the reader gets the tripwire or the error."""
    trace: list[str] = []

    async def fast() -> int:
        """Return."""
        return 1

    async def endless() -> None:
        """Wait, and take time to end."""
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            trace.append("ended")

    def stop(ctx: Any) -> None:
        if fail:
            raise ValueError("kaput")
        ctx.abort("no")

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("fast", id="c1"), calls_tool("endless", id="c2")]),
        "never",
        tools=[fast, endless],
        output_processors=[Processor.of("guard", process_tool_result=stop)],
    )

    with anyio.fail_after(5):
        async with agent.stream("hi") as stream:
            async for chunk in stream:
                trace.append(chunk.type)  # noqa: PERF401 - in between the tools

    end = "error" if fail else "tripwire"
    assert trace == ["start", "step-start", "tool-call", "tool-call", "ended", end, "finish"]


@each_entry
async def test_a_step_that_trips_before_its_answer_has_no_calls(entry: Entry) -> None:
    """Those of the step before are not booked to it."""

    def stop(ctx: Any) -> None:
        if ctx.step_number == 1:
            ctx.abort("no")

    agent, _ = make_agent(
        Reply(text="look", tool_calls=[calls_tool("t")]),
        "never",
        tools=[tool_named("t")],
        input_processors=[Processor.of("guard", process_input_step=stop)],
    )

    ran = await by(entry, agent, "hi")

    steps = ran.result.steps
    assert [(step.step_number, len(step.tool_calls)) for step in steps] == [(0, 1), (1, 0)]
    assert [step.tripwire is not None for step in steps] == [False, True]


@each_entry
async def test_each_abort_and_each_warning_is_reported_once(entry: Entry) -> None:
    """With what was said and the detail; in a workflow as in a list."""
    told: list[Violation] = []

    def warn(ctx: Any) -> None:
        ctx.warn("odd", {"rule": "r", "offset": 0, "length": 2})
        ctx.warn("odder")

    warning = Processor.of("warns", process_input=warn, on_violation=told.append)
    stops: Any = Processor.of(
        "stops", process_output_step=lambda ctx: ctx.abort("no", metadata={"k": 1}), on_violation=told.append
    )
    flow = Workflow("w").then(stops).commit()
    agent, _ = make_agent("ok", input_processors=[warning], output_processors=[flow])

    await by(entry, agent, "hi")

    assert [(v.processor_id, v.message) for v in told] == [
        ("warns", "odd"),
        ("warns", "odder"),
        ("stops", "no"),
    ]
    assert told[0].detail == {"rule": "r", "offset": 0, "length": 2}


async def test_an_async_callback_is_awaited_before_the_part_goes_on() -> None:
    """The report is in before the reader gets the edited text."""
    trace: list[str] = []

    async def report(violation: Violation) -> None:
        await anyio.lowlevel.checkpoint()
        trace.append(f"reported {violation.message}")

    def mask(ctx: Any) -> Any:
        if ctx.part.text != "secret":
            return ctx.part
        ctx.warn("masked")
        return ctx.part.replace(text="***")

    guard = Processor.of("mask", process_output_stream=mask)
    guard.on_violation = report
    agent, _ = make_agent(["a", "secret"], output_processors=[guard])

    async with agent.stream("hi") as stream:
        async for text in stream.text():
            trace.append(text)  # noqa: PERF401 - in between the reports

    assert trace == ["a", "reported masked", "***"]


@each_entry
@pytest.mark.parametrize("abort", [True, False])
async def test_a_callback_that_raises_is_logged_and_changes_nothing(
    entry: Entry, abort: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A broken sink of reports breaks no run."""

    def broken(violation: Violation) -> None:
        raise RuntimeError("sink is down")

    def run(ctx: Any) -> None:
        if abort:
            ctx.abort("no")
        ctx.warn("odd")

    guard = Processor.of("guard", process_input=run, on_violation=broken)
    agent, model = make_agent("ok", input_processors=[guard])

    with caplog.at_level(logging.WARNING, logger="sluiceway"):
        ran = await by(entry, agent, "hi")

    assert ran.error is None
    assert (ran.result.tripwire is not None, len(model.calls)) == (abort, 0 if abort else 1)
    assert ["guard" in record.getMessage() for record in caplog.records] == [True]
    assert "sink is down" in caplog.text


@each_entry
async def test_a_tripwire_raised_by_hand_is_an_abort_too(entry: Entry) -> None:
    """`ctx.abort` is the usual way, not the only one; the processor is named all the same."""

    def run(ctx: Any) -> None:
        raise TripWire("by hand")

    agent, model = make_agent("never", input_processors=[Processor.of("guard", process_input=run)])

    ran = await by(entry, agent, "hi")

    trip = ran.result.tripwire
    assert trip is not None
    assert (trip.reason, trip.processor_id, trip.path) == ("by hand", "guard", "processor:guard")
    assert len(model.calls) == 0


async def test_the_tripwire_chunk_says_what_the_result_says() -> None:
    """Reason, processor, path, retry, count and metadata are the same on both."""
    guard = Processor.of("guard", process_output_step=lambda ctx: ctx.abort("no", metadata={"k": [1]}))
    agent, _ = make_agent("ok", output_processors=[guard])

    ran = await collect(agent, "hi")

    trip = ran.result.tripwire
    assert trip is not None
    (chunk,) = ran.of("tripwire")
    assert dict(chunk.payload) == {
        "reason": trip.reason,
        "processor_id": trip.processor_id,
        "path": trip.path,
        "retry": trip.retry,
        "retry_count": trip.retry_count,
        "metadata": trip.metadata,
    }
    assert (trip.reason, trip.processor_id, trip.metadata) == ("no", "guard", {"k": [1]})
