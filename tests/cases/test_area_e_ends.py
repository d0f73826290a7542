"""Area E, second half: how runs end, and the ways into an agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio.to_thread
import pytest

from sluiceway import Agent, Processor, Workflow
from sluiceway.errors import ProcessorError
from sluiceway.models import Reply, ScriptedModel
from tests.support.processors import INPUT_HOOKS, OUTPUT_HOOKS, hooked, replace_text
from tests.support.runs import Entry, by, calls_tool, each_entry, lines, make_agent

pytestmark = pytest.mark.anyio


def one() -> int:
    """Give one."""
    return 1


@each_entry
async def test_b098_a_call_without_messages_is_stopped(entry: Entry) -> None:
    """The model is not called with instructions alone."""
    agent, model = make_agent("never", input_processors=[Processor.of("empty", process_input=lambda ctx: [])])

    ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert ran.result.tripwire.processor_id == "empty"
    assert len(model.calls) == 0


@each_entry
@pytest.mark.parametrize("hook", [*INPUT_HOOKS, *OUTPUT_HOOKS])
async def test_b099_an_exception_ends_the_run_alike_in_every_hook(entry: Entry, hook: str) -> None:
    """The error names hook and processor, nothing runs after it, and no unchecked text comes out."""
    after: list[str] = []
    broken_at: list[int] = []

    def breaks(ctx: Any) -> None:
        broken_at.append(len(after))
        raise ValueError("kaput")

    def notes(name: str) -> Any:
        def run(ctx: Any) -> Any:
            after.append(name)
            return ctx.part if name == "process_output_stream" else None

        return run

    front = hooked("front", {name: notes(name) for name in INPUT_HOOKS})
    back = hooked("back", {name: notes(name) for name in OUTPUT_HOOKS})
    broken = hooked("broken", {hook: breaks})
    inputs, outputs = ([broken, front], [back]) if hook in INPUT_HOOKS else ([front], [broken, back])
    agent, _ = make_agent(
        Reply(text="look", tool_calls=[calls_tool("one")]),
        "done",
        tools=[one],
        input_processors=inputs,
        output_processors=outputs,
    )

    ran = await by(entry, agent, "hi")

    error = ran.error
    assert isinstance(error, ProcessorError)
    assert (error.processor_id, error.hook, str(error.__cause__)) == ("broken", hook, "kaput")
    assert hook in str(error)
    assert "broken" in str(error)
    assert broken_at == [len(after)]
    if entry == "stream":
        assert ran.types[-2:] == ["error", "finish"]
        assert ran.types.count("error") == 1
        assert ran.chunks[-1].payload["reason"] == "error"
        if hook in ("process_output_stream", *INPUT_HOOKS[:3]):
            assert ran.emitted == ""


@each_entry
async def test_b101_a_sub_agents_processors_have_the_last_word(entry: Entry) -> None:
    """What an agent says as a tool is what its own processors let out."""

    def clean(ctx: Any) -> None:
        for message in ctx.messages:
            for part in message.parts:
                if part.type == "text":
                    part.text = part.text.replace("raw", "clean")

    helper = Agent(
        id="helper",
        model=ScriptedModel(["raw"]),
        output_processors=[Processor.of("clean", process_output_result=clean)],
    )
    (argument,) = helper.as_tool().parameters["required"]
    agent, model = make_agent(Reply(tool_calls=[calls_tool("helper", {argument: "go"})]), "done", tools=[helper])

    ran = await by(entry, agent, "hi")

    assert lines(model.prompts[1])[-1] == 'tool: c1 -> "clean"'
    assert "raw" not in repr([chunk.payload for chunk in ran.chunks])


REFUSES_PREFILL = {
    "status": 400,
    "message": "This model does not support assistant message prefill. The conversation must end with a user message.",
}


@each_entry
@pytest.mark.parametrize("others", [0, 1])
async def test_b103_a_built_in_repair_works_without_any_other_processor(entry: Entry, others: int) -> None:
    """A refused trailing assistant message is mended whether or not the user lists processors."""
    idle = [Processor.of("idle", process_input=lambda ctx: None)] * others
    agent, model = make_agent(Reply(error=REFUSES_PREFILL), "ok", input_processors=idle)
    conversation = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Sure,"}]

    ran = await by(entry, agent, conversation)

    assert ran.result.text == "ok"
    assert lines(model.prompts[1]) == [
        "system: sys",
        "user: hi",
        "assistant: Sure,",
        "user: <system-reminder>continue</system-reminder>",
    ]


def guarded() -> Agent:
    """Return an agent that refuses one word and takes another out of its answers."""

    def refuse(ctx: Any) -> None:
        if "forbidden" in ctx.messages[-1].text:
            ctx.abort("not that")

    def redact(ctx: Any) -> Any:
        part = ctx.part
        return part.replace(text=part.text.replace("secret", "[X]")) if part.text else part

    return Agent(
        id="guarded",
        model=ScriptedModel([["my ", "secret ", "word"]]),
        input_processors=[Processor.of("refuse", process_input=refuse)],
        output_processors=[
            Processor.of("redact", process_output_stream=redact),
            Processor.of("polish", process_output_result=lambda ctx: replace_text(ctx.messages, "word", "WORD")),
        ],
    )


async def by_generate(said: str) -> str:
    """Say what `generate` gives."""
    result = await guarded().generate(said)
    return result.text or f"stopped: {result.tripwire.reason if result.tripwire else None}"


async def by_stream(said: str) -> str:
    """Say what a stream ends with."""
    async with guarded().stream(said) as stream:
        result = await stream.result()
    return result.text or f"stopped: {result.tripwire.reason if result.tripwire else None}"


async def by_sync(said: str) -> str:
    """Say what `generate_sync` gives, in a thread without a loop."""
    result = await anyio.to_thread.run_sync(guarded().generate_sync, said)
    return result.text or f"stopped: {result.tripwire.reason if result.tripwire else None}"


async def as_a_tool(said: str) -> str:
    """Say what the agent that asks is told."""
    helper = guarded()
    (argument,) = helper.as_tool().parameters["required"]
    asking, model = make_agent(Reply(tool_calls=[calls_tool("guarded", {argument: said})]), "done", tools=[helper])
    await asking.generate("ask it")
    told = lines(model.prompts[1])[-1].partition("c1 ")[2]
    return told.removeprefix('-> "').removesuffix('"') if told.startswith("->") else f"stopped: {told}"


async def as_a_step(said: str) -> str:
    """Say what a workflow with the agent as a step gives."""
    result = await Workflow("w").then(guarded()).commit().run({"text": said})
    return result.output or f"stopped: {result.tripwire.reason if result.tripwire else None}"


WAYS: list[Callable[[str], Awaitable[str]]] = [by_generate, by_stream, by_sync, as_a_tool, as_a_step]


@pytest.mark.parametrize("way", WAYS)
async def test_b102_guards_hold_on_every_way_into_an_agent(way: Callable[[str], Awaitable[str]]) -> None:
    """What is refused and what is redacted does not depend on who calls."""
    answer, refused = await way("hello"), await way("forbidden")

    assert answer == "my [X] WORD"
    assert refused.startswith("stopped: ")
    assert "not that" in refused
