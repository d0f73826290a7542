"""What a review found: each was seen to fail."""

from __future__ import annotations

import gc
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from sluiceway import Agent, MessageList, Processor, Tool, Workflow
from sluiceway.errors import ModelError, ProcessorError, RunError
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import (
    Effects,
    InputResult,
    LLMRequest,
    PIIDetector,
    PromptInjectionDetector,
    StepOverrides,
)
from tests.support.processors import tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, make_agent

pytestmark = pytest.mark.anyio


def blocker() -> Processor:
    return Processor.of("g", process_input=lambda ctx: ctx.abort("blocked"))


@pytest.mark.parametrize(
    "listed",
    [
        lambda: iter([blocker()]),
        lambda: (p for p in [blocker()]),
        lambda: lambda context: iter([blocker()]),
    ],
    ids=["iterator", "generator", "function"],
)
@pytest.mark.parametrize("call", [{}, {"prepare_step": lambda ctx: None}])
async def test_an_iterator_of_processors_guards_every_call(listed: Any, call: Any) -> None:
    agent, _ = make_agent("x", input_processors=listed())
    for _ in range(2):
        assert (await agent.generate("q", **call)).tripwire is not None


@each_entry
async def test_checks_that_write_nothing_merge_without_a_map(entry: Entry) -> None:
    flow = Workflow("w").parallel([PIIDetector(), PromptInjectionDetector()])
    agent, model = make_agent("x", input_processors=[flow])

    ran = await by(entry, agent, "mail ann@example.org")

    assert ran.error is None
    assert model.prompts[0].messages[-1].text == "mail a*n@*******.org"


@each_entry
async def test_a_branch_that_writes_though_it_says_not_is_caught(entry: Entry) -> None:
    async def writes(ctx: Any) -> None:
        await anyio.lowlevel.checkpoint()
        ctx.messages[0].parts[0].text = "WRITTEN"

    one, two = Processor.of("one", process_input=writes), Processor.of("two", process_input=lambda ctx: None)
    one.effects = two.effects = Effects.none()
    agent, model = make_agent("x", input_processors=[Workflow("w").parallel([one, two]).map("processor:two")])

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert (ran.error.processor_id, model.calls) == ("one", [])


@each_entry
@pytest.mark.parametrize("args", [{"x": "own"}, {}])
async def test_a_tool_runs_with_the_models_own_arguments(entry: Entry, args: dict[str, Any]) -> None:
    """Whatever a hook does to the chunk's, in place or in a copy."""
    got: list[Any] = []

    def edits(ctx: Any) -> Any:
        if ctx.part.type != "tool-call":
            return ctx.part
        ctx.part.get("args")["x"] = "in place"
        return ctx.part.replace(args={"x": "in a copy"})

    tool = Tool("t", "", {"type": "object"}, lambda **kwargs: got.append(kwargs))
    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("t", args)]),
        "done",
        tools=[tool],
        output_processors=[Processor.of("p", process_output_stream=edits)],
    )

    await by(entry, agent, "hi")

    assert got == [args]


@each_entry
async def test_two_calls_with_one_id_are_refused(entry: Entry) -> None:
    calls = [{"id": "c", "name": "t", "args": {"n": n}} for n in (1, 2)]
    agent, _ = make_agent(Reply(tool_calls=calls), tools=[tool_named("t")])

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ModelError)


@each_entry
async def test_a_tripped_result_shows_earlier_steps_as_they_were_redacted(entry: Entry) -> None:
    def late(ctx: Any) -> None:
        if ctx.step_number == 1:
            for message in ctx.message_list.response:
                for part in message.parts:
                    if part.type == "text":
                        part.text = "[gone]"
            ctx.abort("bad")

    agent, _ = make_agent(
        Reply(text="x ann@example.org", tool_calls=[calls_tool("t")]),
        "d",
        tools=[tool_named("t")],
        output_processors=[Processor.of("p", process_output_step=late)],
    )

    ran = await by(entry, agent, "q")

    assert [step.text for step in ran.result.steps] == ["[gone]", ""]
    assert "ann@example.org" not in repr(ran.result)


@pytest.mark.parametrize("at", ["finish", "step-finish"])
@pytest.mark.parametrize("hold", ["none", "step", "run"])
async def test_text_that_comes_with_the_end_is_streamed_once(at: str, hold: Any) -> None:
    def buffer(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            ctx.attempt_state.setdefault("kept", []).append(ctx.part)
            return None
        return [*ctx.attempt_state.pop("kept", []), ctx.part] if ctx.part.type == at else ctx.part

    agent, _ = make_agent(["hel", "lo"], output_processors=[Processor.of("p", process_output_stream=buffer)])

    ran = await collect(agent, "hi", hold=hold)

    assert (ran.emitted, ran.result.text, ran.result.edited_after_stream) == ("hello", "hello", False)


@pytest.mark.parametrize("hold", ["step", "run"])
async def test_what_is_held_has_the_messages_that_a_step_hook_added(hold: Any) -> None:
    def adds(ctx: Any) -> None:
        ctx.message_list.add({"role": "assistant", "content": " extra "})

    agent, _ = make_agent(
        Reply(text="one", tool_calls=[calls_tool("t")]),
        "two",
        tools=[tool_named("t")],
        output_processors=[Processor.of("p", process_output_step=adds)],
    )

    ran = await collect(agent, "hi", hold=hold)

    assert (ran.emitted, ran.result.text) == ("one extra two extra ", "one extra two extra ")
    assert [step.text for step in ran.result.steps] == ["one extra ", "two extra "]


def hooked(hook: str, fn: Any, **options: Any) -> Processor:
    hooks: dict[str, Any] = {hook: fn}
    return Processor.of("p", **hooks, **options)


def shown(model: ScriptedModel) -> Any:
    """Return the last piece of the second prompt."""
    return model.prompts[1].messages[-1].content[0]


def drops(*texts: str) -> Any:
    def run(ctx: Any) -> None:
        ctx.message_list.remove_by_ids([m.id for m in ctx.messages if not texts or m.text in texts])

    return run


@each_entry
async def test_no_model_is_called_when_the_last_message_goes_by_a_merge(entry: Entry) -> None:
    halves = [Processor.of("a", process_input=drops("one")), Processor.of("b", process_input=drops("two"))]
    agent, model = make_agent("x", input_processors=[Workflow("w").parallel(halves)])

    ran = await by(entry, agent, ["one", "two"])

    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.processor_id in ("a", "b"), model.calls) == (True, [])


@each_entry
async def test_a_branch_may_remove_everything_if_another_is_picked(entry: Entry) -> None:
    flow = Workflow("w").parallel(
        [Processor.of("a", process_input=drops()), Processor.of("b", process_input=lambda ctx: None)]
    )
    agent, _ = make_agent("x", input_processors=[flow.map("processor:b")])

    ran = await by(entry, agent, "hi")

    assert ran.result.text == "x"


@each_entry
@pytest.mark.parametrize("hook", ["process_output_step", "process_tool_result"])
async def test_no_second_model_call_without_a_message_to_answer(entry: Entry, hook: str) -> None:
    def run(ctx: Any) -> None:
        ctx.message_list.remove_by_ids([m.id for m in ctx.messages if m.role == "user"])

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("t")]),
        "done",
        tools=[tool_named("t")],
        output_processors=[hooked(hook, run)],
    )

    ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.processor_id, len(model.calls)) == ("p", 1)


class Thing:
    """Never equal to its copy."""


class Touchy:
    """Cannot be compared."""

    def __eq__(self, other: object) -> Any:
        raise ValueError("ambiguous")

    __hash__ = None  # pyright: ignore[reportAssignmentType]


@each_entry
@pytest.mark.parametrize("kind", [Thing, Touchy])
async def test_a_result_that_equals_nothing_keeps_what_the_model_is_shown(entry: Entry, kind: Any) -> None:
    tool = Tool("t", "", {"type": "object"}, kind, to_model_output=lambda result: "short")
    agent, model = make_agent(Reply(tool_calls=[calls_tool("t", {})]), "done", tools=[tool])

    ran = await by(entry, agent, "hi")

    assert ran.error is None
    assert shown(model).output == "short"


@each_entry
async def test_a_failing_to_model_output_is_a_tool_error(entry: Entry) -> None:
    tool = Tool("t", "", {"type": "object"}, lambda: 1, to_model_output=lambda result: 1 / 0)
    agent, model = make_agent(Reply(tool_calls=[calls_tool("t", {})]), "done", tools=[tool])

    ran = await by(entry, agent, "hi")

    assert ran.result.text == "done"
    piece = shown(model)
    assert (piece.is_error, "division by zero" in piece.output) == (True, True)


@each_entry
async def test_a_warning_before_an_abort_is_told_too(entry: Entry) -> None:
    for hook in ("process_input", "process_output_stream"):
        seen: list[str] = []

        def run(ctx: Any) -> Any:
            ctx.warn("w")
            ctx.abort("a")

        processor = hooked(hook, run, on_violation=lambda v, seen=seen: seen.append(v.message))
        side = "input_processors" if hook == "process_input" else "output_processors"
        agent, _ = make_agent("x", **{side: [processor]})
        await by(entry, agent, "q")
        assert seen == ["w", "a"]


@each_entry
async def test_an_abort_of_an_error_hook_is_an_ordinary_one(entry: Entry) -> None:
    error = Processor.of("e", process_api_error=lambda ctx: ctx.abort("no", retry=True))
    agent, model = make_agent(Reply(error="busy"), "x", error_processors=[error], max_processor_retries=3)

    ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.reason, len(model.calls)) == ("no", 1)


async def test_what_is_told_of_an_accepted_step_fails_before_its_end_is_sent() -> None:
    def register(ctx: Any) -> None:
        ctx.on_step_accepted(lambda step: 1 / 0)

    agent, _ = make_agent("x", output_processors=[Processor.of("p", process_output_step=register)])

    ran = await collect(agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert "step-finish" not in ran.types
    assert ran.types[-2:] == ["error", "finish"]


@each_entry
async def test_the_first_accepted_step_is_told_to_who_asked_in_process_input(entry: Entry) -> None:
    told: list[int] = []

    def register(ctx: Any) -> None:
        ctx.on_step_accepted(lambda step: told.append(step.step_number))

    def again(ctx: Any) -> None:
        if ctx.retry_count == 0:
            ctx.abort("again", retry=True)

    agent, _ = make_agent(
        "x",
        input_processors=[Processor.of("p", process_input=register)],
        output_processors=[Processor.of("r", process_output_step=again)],
        max_processor_retries=1,
    )
    await by(entry, agent, "hi")
    assert told == [0]


@each_entry
@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        ("process_llm_request", LLMRequest(response=["text"])),  # pyright: ignore[reportArgumentType]
        ("process_llm_request", LLMRequest(prompt="hi")),  # pyright: ignore[reportArgumentType]
        ("process_input_step", StepOverrides(active_tools=5)),  # pyright: ignore[reportArgumentType]
        ("process_input_step", StepOverrides(max_steps=0)),
        ("process_input_step", StepOverrides(model_settings="hot")),  # pyright: ignore[reportArgumentType]
        ("process_input", MessageList("other")),
    ],
)
async def test_a_value_that_cannot_be_is_told_with_the_processors_name(entry: Entry, hook: str, answer: Any) -> None:
    agent, model = make_agent("x", input_processors=[hooked(hook, lambda ctx: answer)])

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert (ran.error.processor_id, model.calls) == ("p", [])


@each_entry
async def test_none_in_a_result_means_no_change(entry: Entry) -> None:
    agent, model = make_agent(
        "x",
        input_processors=[
            Processor.of("a", process_input=lambda ctx: InputResult(None, ["more"])),  # pyright: ignore[reportArgumentType]
            Processor.of("b", process_input_step=lambda ctx: StepOverrides(messages=None)),  # pyright: ignore[reportArgumentType]
        ],
    )
    ran = await by(entry, agent, "hi")
    assert ran.error is None
    assert [message.text for message in model.prompts[0].messages] == ["more", "hi"]


@each_entry
async def test_stop_when_that_raises_is_a_run_error_with_its_cause(entry: Entry) -> None:
    agent, _ = make_agent(Reply(tool_calls=[calls_tool("t")]), "x", tools=[tool_named("t")])

    ran = await by(entry, agent, "hi", stop_when=lambda steps: 1 / 0)

    assert isinstance(ran.error, RunError)
    assert isinstance(ran.error.__cause__, ZeroDivisionError)


@each_entry
async def test_the_result_of_a_dropped_call_goes_nowhere(entry: Entry) -> None:
    """A provider ran a tool whose call a stream hook took out."""
    seen: list[str] = []
    call = {"id": "c", "name": "web", "args": {}, "provider_executed": True}

    class Provider(ScriptedModel):
        """Sends the result along with the call."""

        async def _chunks(self, *args: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            async with aclosing(super()._chunks(*args)) as chunks:
                async for chunk in chunks:
                    yield chunk
                    if chunk.type == "tool-call":
                        payload = {"tool_call_id": "c", "tool_name": "web", "result": "mail ann@example.org"}
                        yield type(chunk)("tool-result", payload, chunk.run_id)

    drop = Processor.of("drop", process_output_stream=lambda ctx: None if ctx.part.type == "tool-call" else ctx.part)
    note = Processor.of("note", process_tool_result=lambda ctx: seen.append(ctx.tool_name))
    agent = Agent(
        id="a",
        model=Provider([Reply(tool_calls=[call], text="hi", finish_reason="stop")]),
        output_processors=[drop, PIIDetector(), note],
    )

    ran = await by(entry, agent, "hi")

    assert ran.error is None
    assert (ran.result.text, seen) == ("hi", [])
    assert "ann@example.org" not in repr(ran)


async def test_a_chunk_that_was_taken_in_goes_out_once_when_its_processor_fails() -> None:
    def holds(ctx: Any) -> Any:
        if ctx.part.type != "text-delta":
            return ctx.part
        ctx.holding = True
        if ctx.part.text == "two ":
            raise ValueError("kaput")
        return None

    processor = Processor.of("p", process_output_stream=holds, on_error="continue")
    processor.finish_output_stream = lambda ctx: ctx.release(ctx.holding)  # pyright: ignore[reportAttributeAccessIssue]
    agent, _ = make_agent(["one ", "two ", "three"], output_processors=[processor])

    ran = await collect(agent, "hi")

    assert ran.emitted == "one two three"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # trio tells of the model, too
async def test_tasks_of_a_stream_that_was_forgotten_are_cancelled() -> None:
    """Somebody broke out of the loop without leaving the block, and dropped the stream."""
    ended = anyio.Event()

    async def slow() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return ""

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("slow", {})]), tools=[Tool("slow", "", {"type": "object"}, slow)]
    )
    stream = agent.stream("hi")
    await stream.__aenter__()
    async for chunk in stream:
        if chunk.type == "tool-call":
            break
    with anyio.move_on_after(0.05):
        await anext(stream)
    del stream
    gc.collect()
    with anyio.fail_after(5):
        await ended.wait()
