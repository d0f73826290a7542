"""An exception in a hook ends the run; going on has to be asked for."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Processor, Workflow, step
from sluiceway.errors import ProcessorError
from sluiceway.models import Reply
from tests.support.processors import INPUT_HOOKS, OUTPUT_HOOKS, hooked, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, make_agent

pytestmark = pytest.mark.anyio


def breaking(hook: str, **options: Any) -> Processor:
    """Return a processor that raises in one hook."""

    def run(ctx: Any) -> Any:
        raise ValueError("kaput")

    return hooked("broken", {hook: run}, **options)


def agent_with(hook: str, processor: Any) -> Any:
    """Return an agent of two steps with a processor in the list of its hook."""
    where = "input_processors" if hook in INPUT_HOOKS else "output_processors"
    first = Reply(text="look ", tool_calls=[calls_tool("t")])
    return make_agent(first, "done", tools=[tool_named("t")], **{where: [processor]})[0]


@each_entry
@pytest.mark.parametrize("hook", [*INPUT_HOOKS, *OUTPUT_HOOKS])
async def test_continue_goes_on_with_what_came_in(entry: Entry, hook: str, caplog: pytest.LogCaptureFixture) -> None:
    """In every hook, and it is logged each time."""
    agent = agent_with(hook, breaking(hook, on_error="continue"))

    with caplog.at_level(logging.WARNING, logger="sluiceway"):
        ran = await by(entry, agent, "hi")

    assert ran.result.text == "look done"
    assert len(caplog.records) >= 1
    assert [r for r in caplog.records if "broken" not in r.getMessage() or hook not in r.getMessage()] == []


@each_entry
@pytest.mark.parametrize("hook", [*INPUT_HOOKS, *OUTPUT_HOOKS])
async def test_block_makes_a_tripwire_of_an_exception(entry: Entry, hook: str) -> None:
    """The call ends as stopped by that processor, without an error and without the text of the exception."""
    ran = await by(entry, agent_with(hook, breaking(hook, on_error="block")), "hi")

    assert ran.result.tripwire is not None
    assert ran.result.tripwire.processor_id == "broken"
    assert ran.result.text == ""


@each_entry
async def test_the_option_of_a_step_wins_over_the_processors_own(entry: Entry) -> None:
    """Who places a processor decides what its failure means there."""
    lenient = breaking("process_input", on_error="continue")
    strict = Workflow("w").then(step(lenient, on_error="raise")).commit()

    one = await by(entry, agent_with("process_input", lenient), "hi")
    two = await by(entry, agent_with("process_input", strict), "hi")

    assert one.result.text == "look done"
    assert isinstance(two.error, ProcessorError)


@each_entry
async def test_a_failing_processor_in_a_workflow_is_named_with_its_path(entry: Entry) -> None:
    """The id is the processor's, the path leads through the workflow."""
    flow = Workflow("w").then(breaking("process_input")).commit()

    ran = await by(entry, agent_with("process_input", flow), "hi")

    error = ran.error
    assert isinstance(error, ProcessorError)
    assert (error.processor_id, error.hook, str(error.__cause__)) == ("broken", "process_input", "kaput")
    assert error.path is not None
    assert (error.path.split(" › ")[0], error.path.split(" › ")[-1]) == ("w", "processor:broken")


async def test_a_chunk_that_was_not_cleared_is_never_delivered() -> None:
    """Those before are out, this one and all later ones are not."""

    def check(ctx: Any) -> Any:
        if ctx.part.text == "two":
            raise ValueError("kaput")
        return ctx.part

    agent, _ = make_agent(["one", "two", "three"], output_processors=[Processor.of("p", process_output_stream=check)])

    ran = await collect(agent, "hi")

    assert ran.emitted == "one"
    assert ran.types[-2:] == ["error", "finish"]
    assert isinstance(ran.error, ProcessorError)


@each_entry
async def test_no_group_of_exceptions_leaves_a_parallel(entry: Entry) -> None:
    """The first error comes out, alone, although the siblings raise when they are cancelled."""

    async def fails(ctx: Any) -> None:
        await anyio.lowlevel.checkpoint()
        raise ValueError("first")

    async def fails_late(ctx: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise ValueError("late")

    branches = [
        Processor.of("a", process_input=fails_late),
        Processor.of("b", process_input=fails),
        Processor.of("c", process_input=fails_late),
    ]
    flow = Workflow("w").parallel(branches).map("processor:a").commit()

    ran = await by(entry, agent_with("process_input", flow), "hi")

    assert isinstance(ran.error, ProcessorError)
    assert (ran.error.processor_id, str(ran.error.__cause__)) == ("b", "first")


@each_entry
@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        ("process_input", 5),
        ("process_input", [5]),
        ("process_input_step", object()),
        ("process_llm_request", "text"),
        ("process_output_stream", 5),
        ("process_output_stream", ["text"]),
        ("finish_output_stream", [5]),
        ("process_output_step", 5),
        ("process_tool_result", {"a": 1}),
        ("process_output_result", [None]),
        ("process_api_error", "again"),
    ],
)
async def test_a_return_of_the_wrong_kind_is_an_error_of_that_hook(entry: Entry, hook: str, answer: Any) -> None:
    """It is neither ignored nor does it crash the library elsewhere."""
    processor = hooked("odd", {hook: lambda ctx: answer})
    if hook == "process_api_error":
        agent, _ = make_agent(Reply(error="no"), error_processors=[processor])
    else:
        agent = agent_with(hook, processor)

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert (ran.error.processor_id, ran.error.hook) == ("odd", hook)
    if entry == "stream":
        assert ran.types[-2:] == ["error", "finish"]


@each_entry
async def test_reading_the_result_raises_the_same_error_again(entry: Entry) -> None:
    """The error of a run does not get lost by being looked at once."""
    agent = agent_with("process_input", breaking("process_input"))
    if entry == "generate":
        with pytest.raises(ProcessorError):
            await agent.generate("hi")
        return
    async with agent.stream("hi") as stream:
        for _ in range(2):
            with pytest.raises(ProcessorError, match="broken"):
                await stream.result()
