"""`overlap=True`: checks before the model that write nothing run while it answers already."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from sluiceway import Agent, Processor, Workflow
from sluiceway.errors import ModelError, ProcessorError
from sluiceway.messages import Chunk, Usage
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import Effects, LLMRequest, PIIDetector
from tests.support.processors import hooked
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent
from tests.support.storing import THREAD, new_memory, stored
from tests.support.tasks import CancelAt, living_tasks, settle

pytestmark = pytest.mark.anyio

READS = Effects(reads=("messages",), external=True)


def check(name: str, run: Any, hook: str = "process_input") -> Processor:
    return hooked(name, {hook: run}, effects=READS)


class Watched:
    """A model that says when it is asked and when its call is closed, and waits before it answers."""

    provider = model_id = "watched"
    structured = True

    def __init__(self, *replies: Any, waits: anyio.Event | None = None) -> None:
        self.inner = ScriptedModel(replies or ["ok"])
        self.asked = anyio.Event()
        self.closed = 0
        self.waits = waits

    @asynccontextmanager
    async def stream(self, request: Any) -> AsyncIterator[AsyncIterator[Chunk]]:
        """Answer."""
        self.asked.set()
        try:
            async with self.inner.stream(request) as chunks:
                if self.waits is not None:
                    await self.waits.wait()
                yield chunks
        finally:
            self.closed += 1


@each_entry
async def test_the_model_is_asked_before_the_check_has_ended(entry: Entry) -> None:
    """The check waits for the model's call: in front of it it would never end."""
    model = Watched("answer")

    async def run(ctx: Any) -> None:
        await model.asked.wait()

    agent = Agent(id="a", model=model, input_processors=[check("c", run)], overlap=True)
    with anyio.fail_after(2):
        ran = await by(entry, agent, "hi")
    assert (ran.result.text, model.closed) == ("answer", 1)
    assert ran.emitted == ("answer" if entry == "stream" else "")


async def test_the_first_token_comes_when_the_slower_of_both_is_done() -> None:
    async def run(ctx: Any) -> None:
        await anyio.sleep(0.05)

    agent, _ = make_agent({"text": ["answer"], "delay_s": 0.06}, input_processors=[check("c", run)], overlap=True)
    started = anyio.current_time()
    async with agent.stream("hi") as stream:
        async for chunk in stream:
            if chunk.type == "text-delta":
                break
        took = anyio.current_time() - started
    assert 0.06 <= took < 0.1


@each_entry
async def test_a_trip_cancels_the_models_call(entry: Entry) -> None:
    model = Watched(waits=anyio.Event())

    async def run(ctx: Any) -> None:
        await model.asked.wait()
        ctx.abort("stop")

    before = living_tasks()
    agent = Agent(id="a", model=model, input_processors=[check("c", run)], overlap=True)
    with anyio.fail_after(2):
        ran = await by(entry, agent, "hi")
    assert ran.result.tripwire is not None
    assert (model.closed, living_tasks()) == (1, before)
    assert ran.result.usage.input_tokens > 0


@each_entry
async def test_what_the_model_said_in_vain_is_counted(entry: Entry) -> None:
    """By the model's own figures, where it had come to its end."""
    model = Watched(Reply(text="answer", usage=Usage(7, 5, 12)))

    async def run(ctx: Any) -> None:
        await model.asked.wait()
        await settle(20)
        ctx.abort("stop")

    agent = Agent(id="a", model=model, input_processors=[check("c", run)], overlap=True)
    ran = await by(entry, agent, "hi")
    assert (ran.result.usage.input_tokens, ran.result.usage.output_tokens) == (7, 5)


@each_entry
async def test_a_check_sees_the_messages_as_of_its_place(entry: Entry) -> None:
    seen: list[str] = []

    async def look(ctx: Any) -> None:
        await anyio.lowlevel.checkpoint()
        seen.extend(message.text for message in ctx.messages)

    redact = PIIDetector(detection_types={"word": ["secret"]}, redaction_method="placeholder")
    agent, model = make_agent("ok", input_processors=[check("c", look), redact], overlap=True)
    await by(entry, agent, "a secret")
    assert seen == ["a secret"]
    assert lines(model.prompts[0])[-1] == "user: a [WORD]"


@each_entry
@pytest.mark.parametrize("later", ["abort", "fail", "model", "nothing-left"])
async def test_what_comes_later_is_looked_at_when_the_checks_have_passed(entry: Entry, later: str) -> None:
    """The check's own verdict stands before an abort, an exception and an error of the model."""

    async def trips(ctx: Any) -> None:
        await anyio.sleep(0.01)
        ctx.abort("first")

    def goes_wrong(ctx: Any) -> None:
        if later == "abort":
            ctx.abort("second")
        if later == "nothing-left":
            ctx.message_list.remove_by_ids([message.id for message in ctx.messages])
        if later == "fail":
            raise ValueError("second")

    reply: Any = {"error": {"status": 500, "message": "down"}} if later == "model" else "never"
    agent, _ = make_agent(
        reply, input_processors=[check("c", trips), Processor.of("later", process_input=goes_wrong)], overlap=True
    )
    ran = await by(entry, agent, "hi")
    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.reason, ran.result.tripwire.processor_id) == ("first", "c")


@each_entry
@pytest.mark.parametrize("later", ["abort", "fail", "model"])
async def test_what_comes_later_holds_where_the_checks_have_passed(entry: Entry, later: str) -> None:
    async def passes(ctx: Any) -> None:
        await anyio.sleep(0.01)

    def goes_wrong(ctx: Any) -> None:
        if later == "abort":
            ctx.abort("second")
        if later == "fail":
            raise ValueError("second")

    reply: Any = {"error": {"status": 400, "message": "refused"}} if later == "model" else "never"
    agent, _ = make_agent(
        reply, input_processors=[check("c", passes), Processor.of("later", process_input=goes_wrong)], overlap=True
    )
    ran = await by(entry, agent, "hi")
    if later == "abort":
        assert ran.result.tripwire is not None
        assert ran.result.tripwire.processor_id == "later"
    else:
        assert isinstance(ran.error, ProcessorError if later == "fail" else ModelError)


@each_entry
async def test_no_hook_of_the_answer_runs_before_the_checks_have_passed(entry: Entry) -> None:
    trace: list[str] = []

    async def passes(ctx: Any) -> None:
        await anyio.sleep(0.02)
        trace.append("check")

    def note(name: str) -> Any:
        def run(ctx: Any) -> Any:
            trace.append(name)
            return getattr(ctx, "part", None)

        return run

    reads = Processor.of("reads", process_llm_response=note("response"))
    shown = Processor.of("shown", process_output_stream=note("stream"), process_output_step=note("step"))
    agent, _ = make_agent("ok", input_processors=[check("c", passes), reads], output_processors=[shown], overlap=True)
    await by(entry, agent, "hi")
    assert trace[0] == "check"
    assert set(trace) == {"check", "stream", "response", "step"}


@each_entry
async def test_input_checks_run_once_and_those_of_a_step_at_each_attempt(entry: Entry) -> None:
    ran_checks: list[str] = []

    async def once(ctx: Any) -> None:
        ran_checks.append("input")

    async def each(ctx: Any) -> None:
        ran_checks.append(f"step {ctx.step_number} try {ctx.retry_count}")
        if ctx.retry_count == 0 and ctx.step_number == 0:
            ctx.abort("again", retry=True)

    agent, model = make_agent(
        "vain",
        {"tool_calls": [calls_tool("t")]},
        "done",
        tools=[_t()],
        input_processors=[check("once", once), check("each", each, "process_input_step")],
        max_processor_retries=1,
        overlap=True,
    )
    ran = await by(entry, agent, "hi")
    assert ran.result.text == "done"
    assert ran_checks == ["input", "step 0 try 0", "step 0 try 1", "step 1 try 0"]
    assert len(model.calls) == 3


def _t() -> Any:
    def t() -> int:
        """A tool."""
        return 7

    return t


@each_entry
async def test_a_replay_waits_for_the_checks_too(entry: Entry) -> None:
    async def trips(ctx: Any) -> None:
        await anyio.sleep(0.01)
        ctx.abort("stop")

    replay = [Chunk("text-delta", {"id": "t", "text": "kept"}), Chunk("finish", {"reason": "stop"})]
    cache = Processor.of("cache", process_llm_request=lambda ctx: LLMRequest(response=replay))
    agent, model = make_agent("never", input_processors=[check("c", trips), cache], overlap=True)
    ran = await by(entry, agent, "hi")
    assert ran.result.tripwire is not None
    assert (ran.emitted, model.calls) == ("", [])


@each_entry
async def test_a_workflow_of_checks_is_put_off_as_a_whole(entry: Entry) -> None:
    model = Watched("answer")

    async def run(ctx: Any) -> None:
        await model.asked.wait()

    workflow = Workflow("w").parallel([check("one", run), check("two", run)])
    agent = Agent(id="a", model=model, input_processors=[workflow], overlap=True)
    with anyio.fail_after(2):
        ran = await by(entry, agent, "hi")
    assert ran.result.text == "answer"


async def test_data_and_warnings_come_in_list_order() -> None:
    told: list[str] = []

    def tells(name: str, waits: float, *, silent: bool) -> Processor:
        async def run(ctx: Any) -> None:
            await anyio.sleep(waits)
            ctx.warn(name)
            await ctx.writer.custom("data-from", name)

        effects = READS if silent else None
        return Processor.of(name, process_input=run, effects=effects, on_violation=lambda v: told.append(v.message))

    agent, _ = make_agent(
        "ok",
        input_processors=[tells("a", 0.02, silent=True), tells("b", 0, silent=False), tells("c", 0, silent=True)],
        overlap=True,
    )
    ran = await collect(agent, "hi")
    assert told == ["a", "b", "c"]
    assert [chunk.data for chunk in ran.of("data-from")] == ["a", "b", "c"]
    assert ran.types[:5] == ["start", "data-from", "data-from", "data-from", "step-start"]


async def test_data_of_a_check_before_the_step_survives_a_retry_of_it() -> None:
    """It is in the reply as it was sent, once."""

    async def tells(ctx: Any) -> None:
        await ctx.writer.custom("data-seen", 1)

    async def again(ctx: Any) -> None:
        if ctx.retry_count == 0:
            ctx.abort("again", retry=True)

    agent, _ = make_agent(
        "vain",
        "ok",
        input_processors=[check("tells", tells), check("again", again, "process_input_step")],
        max_processor_retries=1,
        overlap=True,
    )
    ran = await collect(agent, "hi")
    assert len(ran.of("data-seen")) == 1
    assert [part.type for part in ran.result.response.messages[0].parts] == ["data-seen", "text"]


async def test_timers_work_behind_checks_that_were_put_off() -> None:
    """Silence counts from the last chunk, not from the start of the call."""
    flushes: list[str] = []

    class Held(Processor):
        def process_output_stream(self, ctx: Any) -> Any:
            ctx.flush_after(0.03)
            return ctx.part

        def finish_output_stream(self, ctx: Any) -> Any:
            flushes.append("flush")
            return []

    async def run(ctx: Any) -> None:
        await anyio.sleep(0.05)

    agent, _ = make_agent(
        {"text": ["a", "b"], "delay_s": 0.001},
        input_processors=[check("c", run)],
        output_processors=[Held("held")],
        overlap=True,
    )
    ran = await collect(agent, "hi")
    assert ran.emitted == "ab"
    assert len(flushes) == 1


@each_entry
@pytest.mark.parametrize("passes", [True, False])
async def test_memory_keeps_a_call_whose_checks_have_passed(entry: Entry, passes: bool) -> None:
    async def run(ctx: Any) -> None:
        await anyio.sleep(0.01)
        if not passes:
            ctx.abort("stop")

    memory = new_memory()
    agent, _ = make_agent("answer", input_processors=[check("c", run)], memory=memory, overlap=True)
    await by(entry, agent, "hi", memory=THREAD)
    assert await stored(memory) == (["user: hi", "assistant: answer"] if passes else [])


async def test_cancelling_at_every_wait_leaves_nothing_behind() -> None:
    async def run(ctx: Any) -> None:
        await anyio.lowlevel.checkpoint()

    writer = Processor.of("writer", process_input=run, process_input_step=run)
    checks = [check("a", run), check("b", run), writer, check("s", run, "process_input_step")]
    before = living_tasks()
    at = 0
    cancelled = True
    while cancelled:
        at += 1
        agent, _ = make_agent(["an", "swer"], input_processors=checks, overlap=True, concurrency="auto")
        with anyio.CancelScope() as scope:
            await CancelAt(agent.generate("hi"), scope, at)
        cancelled = scope.cancel_called
        await settle()
        assert living_tasks() == before
    assert at > 3
