"""Every stream has one start and one end, whatever happens in between."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway import Processor, ToolContext
from sluiceway.errors import SluicewayError
from sluiceway.messages import Chunk
from sluiceway.models import Reply
from sluiceway.processors import Retry
from tests.support.processors import hooked, noting, tool_named
from tests.support.runs import calls_tool, collect, make_agent

pytestmark = pytest.mark.anyio

LIFECYCLE = {"start", "step-start", "step-finish", "finish", "error", "tripwire"}


def stops(hook: str, *, fail: bool = False, retry: bool = False) -> Processor:
    """Return a processor that aborts or raises in a hook."""

    def run(ctx: Any) -> Any:
        if fail:
            raise ValueError("kaput")
        ctx.abort("no", retry=retry)

    return hooked("stops", {hook: run})


TOOL_STEP = Reply(text="t", tool_calls=[calls_tool("look")])
ENDS: dict[str, tuple[list[Any], dict[str, Any], list[str]]] = {
    "answered": (["ok"], {}, ["stop"]),
    "a tool and an answer": ([TOOL_STEP, "ok"], {}, ["stop"]),
    "the last step": ([TOOL_STEP], {"max_steps": 2}, ["tool-calls"]),
    "cut": ([Reply(text="t", finish_reason="length")], {}, ["length"]),
    "refused": ([Reply(error="no")], {}, ["error"]),
    "broken off": ([Reply(text="t", stream_error="no")], {}, ["error"]),
    "input abort": (["ok"], {"input_processors": [stops("process_input")]}, ["other"]),
    "step abort": (["ok"], {"input_processors": [stops("process_input_step")]}, ["other"]),
    "stream abort": (["ok"], {"output_processors": [stops("process_output_stream")]}, ["other"]),
    "result abort": (["ok"], {"output_processors": [stops("process_output_result")]}, ["other"]),
    "tool abort": ([TOOL_STEP], {"output_processors": [stops("process_tool_result")]}, ["other"]),
    "input error": (["ok"], {"input_processors": [stops("process_input", fail=True)]}, ["error"]),
    "result error": (["ok"], {"output_processors": [stops("process_output_result", fail=True)]}, ["error"]),
    "retries": (
        ["ok"],
        {"output_processors": [stops("process_output_step", retry=True)], "max_processor_retries": 3},
        ["other"],
    ),
}


@pytest.mark.parametrize("name", ENDS)
async def test_a_stream_ends_with_one_finish_after_which_nothing_comes(name: str) -> None:
    """And `start` is the first chunk, once; every step-start is closed unless the call ended in it."""
    replies, options, reasons = ENDS[name]
    agent, _ = make_agent(*replies, tools=[tool_named("look")], **options)

    ran = await collect(agent, "hi")

    assert (ran.types[0], ran.types[-1]) == ("start", "finish")
    assert (ran.types.count("start"), ran.types.count("finish")) == (1, 1)
    assert [chunk.payload["reason"] for chunk in ran.of("finish")] == reasons
    opened, closed = ran.types.count("step-start"), ran.types.count("step-finish")
    cut_short = ran.types[-2] in ("error", "tripwire") and "result" not in name and opened > 0
    assert opened - closed == (1 if cut_short else 0)
    assert {chunk.run_id for chunk in ran.chunks} == {ran.chunks[0].run_id}
    assert ran.chunks[0].run_id != ""


async def test_start_comes_before_process_input_and_step_start_before_its_hooks() -> None:
    """The reader knows that something has begun before any check runs."""
    trace: list[str] = []
    watch = noting("p", trace, "process_input", "process_input_step", "process_output_result")
    agent, _ = make_agent("ok", input_processors=[watch], output_processors=[watch])

    async with agent.stream("hi") as stream:
        async for chunk in stream:
            trace.append(chunk.type)  # noqa: PERF401 - in between the hooks

    assert trace == [
        "start",
        "p.process_input",
        "step-start",
        "p.process_input_step",
        "text-start",
        "text-delta",
        "text-end",
        "step-finish",
        "p.process_output_result",
        "finish",
    ]


async def test_finish_passes_the_stream_hooks_before_the_result_hook_and_is_delivered_after() -> None:
    """Its text and metadata are those of the very end."""
    trace: list[str] = []

    def stream(ctx: Any) -> Any:
        if ctx.part.type in ("step-finish", "finish"):
            trace.append(f"hook {ctx.part.type}")
        return ctx.part

    def result(ctx: Any) -> None:
        trace.append("result")
        ctx.messages[0].parts[0].text = "edited"
        ctx.messages[0].metadata["score"] = 1

    agent, _ = make_agent(
        "ok",
        output_processors=[Processor.of("p", process_output_stream=stream, process_output_result=result)],
    )

    ran = await collect(agent, "hi")

    assert trace == ["hook step-finish", "hook finish", "result"]
    finish = ran.chunks[-1].payload
    assert (finish["reason"], finish["text"]) == ("stop", "edited")
    assert finish["response"].ui_messages[0]["metadata"]["score"] == 1
    assert ran.result.response.ui_messages[0]["metadata"]["score"] == 1


@pytest.mark.parametrize("answer", [None, [], ()])
async def test_lifecycle_chunks_reach_the_reader_though_hooks_drop_them(answer: Any) -> None:
    """A hook can take the text away, not the frame around it."""
    agent, _ = make_agent("ok", output_processors=[Processor.of("p", process_output_stream=lambda ctx: answer)])

    ran = await collect(agent, "hi")

    assert ran.types == ["start", "step-start", "step-finish", "finish"]
    assert ran.result.text == ""


async def test_edits_of_lifecycle_chunks_are_ignored() -> None:
    """Nobody can forge where a step begins, or how the run ended."""

    def forge(ctx: Any) -> Any:
        if ctx.part.type in LIFECYCLE:
            return ctx.part.replace(payload={"reason": "forged", "step_number": 99})
        return ctx.part

    agent, _ = make_agent(
        TOOL_STEP,
        Reply(error="no"),
        Reply(text="x", finish_reason="length"),
        tools=[tool_named("look")],
        output_processors=[Processor.of("p", process_output_stream=forge)],
        error_processors=[Processor.of("e", process_api_error=lambda ctx: Retry())],
    )

    ran = await collect(agent, "hi")

    lifecycle = ran.of(*LIFECYCLE)
    assert [(chunk.type, chunk.get("reason")) for chunk in lifecycle] == [
        ("start", None),
        ("step-start", None),
        ("step-finish", "tool-calls"),
        ("step-start", None),
        ("step-finish", "retry"),
        ("step-start", None),
        ("step-finish", "length"),
        ("finish", "length"),
    ]
    assert [chunk.get("step_number") for chunk in ran.of("step-start")] == [0, 1, 1]


async def test_hooks_are_not_shown_start_error_tripwire_and_retry() -> None:
    """They say how the run goes on; there is nothing in them to process."""
    seen: list[tuple[str, Any]] = []

    def stream(ctx: Any) -> Any:
        if ctx.part.type in LIFECYCLE:
            seen.append((ctx.part.type, ctx.part.get("reason")))
        return ctx.part

    watch = Processor.of("p", process_output_stream=stream)
    errors = [Processor.of("e", process_api_error=lambda ctx: Retry())]
    tripping = Processor.of("t", process_output_result=lambda ctx: ctx.abort("no"))
    retried, _ = make_agent(Reply(error="no"), "ok", output_processors=[watch, tripping], error_processors=errors)
    failed, _ = make_agent(Reply(error="no"), output_processors=[watch])

    await collect(retried, "hi")
    await collect(failed, "hi")

    assert seen == [
        ("step-start", None),
        ("step-start", None),
        ("step-finish", "stop"),
        ("finish", "stop"),
        ("step-start", None),
    ]


async def test_leaving_early_cancels_everything_and_finishes_nothing() -> None:
    """A waiting tool is cancelled and awaited; no later hook runs."""
    trace: list[str] = []

    async def wait(ctx: ToolContext) -> None:
        """Wait."""
        await ctx.writer.custom("data-waiting", None)
        try:
            await anyio.sleep_forever()
        finally:
            trace.append("cancelled")

    agent, _ = make_agent(
        Reply(text="t", tool_calls=[calls_tool("wait")]),
        tools=[wait],
        output_processors=[noting("o", trace, "process_tool_result", "process_output_result")],
    )

    with anyio.fail_after(5):
        async with agent.stream("hi") as stream:
            async for chunk in stream:
                if chunk.type == "data-waiting":
                    break

    assert trace == ["cancelled"]


@pytest.mark.parametrize("ended", [True, False])
async def test_a_stream_that_has_ended_stays_ended(ended: bool) -> None:
    """Reading on gives nothing more; the result can be asked for as often as one likes."""
    agent, _ = make_agent("ok" if ended else Reply(error="no"))

    async with agent.stream("hi") as stream:
        first = [chunk.type async for chunk in stream]
        again = [chunk.type async for chunk in stream]
        if ended:
            assert await stream.result() is await stream.result()
        else:
            with pytest.raises(SluicewayError):
                await stream.result()

    assert first[-1] == "finish"
    assert again == []


async def test_result_drains_what_is_unread() -> None:
    """Asking for the result in the middle reads to the end."""
    agent, _ = make_agent(["a", "b", "c"])

    async with agent.stream("hi") as stream:
        first = await anext(stream)
        result = await stream.result()
        rest = [chunk async for chunk in stream]

    assert isinstance(first, Chunk)
    assert (first.type, result.text, rest) == ("start", "abc", [])


async def test_text_and_events_are_views_of_one_stream() -> None:
    """`text()` gives the deltas, `events()` the data chunks of a type."""

    async def write(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            await ctx.writer.custom("data-n", ctx.part.text)
            await ctx.writer.custom("data-other", 0)
        return ctx.part

    agent, _ = make_agent(["a", "b"], output_processors=[Processor.of("p", process_output_stream=write)])

    async with agent.stream("hi") as stream:
        texts = [text async for text in stream.text()]
    async with agent.stream("hi") as stream:
        events = [event async for event in stream.events("data-n")]

    assert texts == ["a", "b"]
    assert [(event.type, event.data) for event in events] == [("data-n", "a"), ("data-n", "b")]
