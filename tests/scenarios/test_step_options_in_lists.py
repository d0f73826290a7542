"""`step(processor, ...)` in an agent's list."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

from sluiceway import Agent, Processor, Workflow, step
from sluiceway.errors import ConfigurationError, StepTimeoutError
from tests.support.runs import Entry, by, each_entry, make_agent

pytestmark = pytest.mark.anyio


@each_entry
async def test_thread_moves_a_plain_hook_to_a_worker(entry: Entry) -> None:
    seen: list[bool] = []
    here = threading.get_ident()

    def note(ctx: Any) -> Any:
        seen.append(threading.get_ident() != here)
        return ctx.part if hasattr(ctx, "part") else None

    slow = Processor.of("slow", process_input=note, process_output_stream=note)
    agent, _ = make_agent(
        "x", input_processors=[step(slow, thread=True)], output_processors=[step(slow, thread=True, id="slow-out")]
    )

    ran = await by(entry, agent, "hi")

    assert ran.result.text == "x"
    assert len(seen) > 3
    assert all(seen)


@each_entry
@pytest.mark.parametrize("hook", ["process_input", "process_output_stream"])
async def test_a_timeout_ends_the_run(entry: Entry, hook: str) -> None:
    async def hang(ctx: Any) -> None:
        await anyio.sleep_forever()

    hooks: dict[str, Any] = {hook: hang}
    hanging = step(Processor.of("hang", **hooks), timeout=0.01)
    side = "input_processors" if hook == "process_input" else "output_processors"
    agent, _ = make_agent("x", **{side: [hanging]})

    ran = await by(entry, agent, "hi")

    assert ran.error is not None
    assert StepTimeoutError in (type(ran.error), type(ran.error.__cause__))


@each_entry
async def test_on_error_of_the_step_wins_over_that_of_the_processor(entry: Entry) -> None:
    def fails(ctx: Any) -> None:
        ctx.messages[0].parts[0].text = "half done"
        raise ValueError("kaput")

    broken = Processor.of("broken", process_input=fails, on_error="raise")
    agent, model = make_agent("x", input_processors=[step(broken, on_error="continue")])

    ran = await by(entry, agent, "hi")

    assert ran.result.text == "x"
    assert model.prompts[0].messages[-1].text == "hi"


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (step(lambda data: data, id="f"), "put a function, agent or tool into a workflow"),
        (step(Workflow("w").then(Processor.of("p", process_input=print)), retries=2), "steps inside the workflow"),
    ],
)
def test_what_is_no_processor_is_refused(item: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Agent(id="a", model="echo/echo", input_processors=[item])


@each_entry
@pytest.mark.parametrize("on_error", ["raise", "block", "continue"])
async def test_further_tries_come_before_on_error(entry: Entry, on_error: Any) -> None:
    """A step that fails once and is tried again has not failed; what its first try did is gone."""
    calls: list[int] = []

    def flaky(ctx: Any) -> None:
        calls.append(1)
        ctx.messages[0].parts[0].text += "!"
        if len(calls) == 1:
            raise ValueError("kaput")

    agent, model = make_agent(
        "x", input_processors=[step(Processor.of("p", process_input=flaky), retries=1, on_error=on_error)]
    )

    ran = await by(entry, agent, "hi")

    assert (ran.result.text, len(calls)) == ("x", 2)
    assert model.prompts[0].messages[-1].text == "hi!"


@each_entry
@pytest.mark.parametrize("why", ["timeout", "errors"])
async def test_on_error_is_asked_when_a_step_has_given_up(entry: Entry, why: str) -> None:
    """With the processor's name, whether it took too long or failed at every try."""
    calls: list[int] = []

    async def fails(ctx: Any) -> None:
        calls.append(1)
        if why == "timeout":
            await anyio.sleep_forever()
        raise ValueError("kaput")

    def listed(on_error: Any) -> Any:
        processor = Processor.of("p", process_input=fails)
        options: dict[str, Any] = {"timeout": 0.01} if why == "timeout" else {"retries": 1}
        return [step(processor, on_error=on_error, **options)]

    agent, _ = make_agent("x", input_processors=listed("continue"))
    assert (await by(entry, agent, "hi")).result.text == "x"

    agent, _ = make_agent("x", input_processors=listed("block"))
    ran = await by(entry, agent, "hi")
    assert ran.result.tripwire is not None
    assert ran.result.tripwire.processor_id == "p"
    assert len(calls) == (2 if why == "timeout" else 4)
