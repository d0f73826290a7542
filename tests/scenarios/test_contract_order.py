"""The order of everything in a run: hooks, branches, tools, results."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Agent, Processor, Tool, Workflow
from sluiceway.messages import Chunk
from sluiceway.models import Reply
from sluiceway.processors import LLMRequest, StepOverrides
from tests.support.models import ChunkModel, deltas
from tests.support.processors import INPUT_HOOKS, OUTPUT_HOOKS, noting, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent, reply_parts

pytestmark = pytest.mark.anyio


@each_entry
async def test_a_step_runs_its_hooks_in_the_documented_order(entry: Entry) -> None:
    """List order within a hook, and the hooks of a step one after the other."""
    trace: list[str] = []
    agent, _ = make_agent(
        Reply(text="t", tool_calls=[calls_tool("look")]),
        "done",
        tools=[tool_named("look", trace=trace)],
        input_processors=[noting("i1", trace, *INPUT_HOOKS), noting("i2", trace, *INPUT_HOOKS)],
        output_processors=[noting("o1", trace, *OUTPUT_HOOKS), noting("o2", trace, *OUTPUT_HOOKS)],
    )

    await by(entry, agent, "hi")

    def both(list_: str, hook: str) -> list[str]:
        return [f"{list_}1.{hook}", f"{list_}2.{hook}"]

    def step(text: str, *tools: str) -> list[str]:
        return [
            *both("i", "process_input_step"),
            *both("i", "process_llm_request"),
            *both("o", f"process_output_stream:{text}"),
            *both("o", "finish_output_stream"),
            *both("i", "process_llm_response"),
            *both("o", "process_output_step"),
            *tools,
        ]

    in_order = [entry_ for entry_ in trace if not entry_.endswith("finish_output_stream")]
    expected = [
        *both("i", "process_input"),
        *step("t", "tool:look", *both("o", "process_tool_result")),
        *step("done"),
        *both("o", "process_output_result"),
    ]
    assert in_order == [entry_ for entry_ in expected if not entry_.endswith("finish_output_stream")]
    first = trace.index("o1.finish_output_stream")
    assert trace[first - 1 : first + 3] == [
        "o2.process_output_stream:t",
        "o1.finish_output_stream",
        "o2.finish_output_stream",
        "i1.process_llm_response",
    ]


@each_entry
async def test_prepare_step_runs_behind_the_agents_step_hooks(entry: Entry) -> None:
    """It sees what the agent's own processors have chosen, and has the last word."""
    seen: list[Any] = []

    def prepare(ctx: Any) -> StepOverrides:
        seen.append((ctx.step_number, ctx.tool_choice))
        return StepOverrides(tool_choice="none")

    first = Processor.of("first", process_input_step=lambda ctx: StepOverrides(tool_choice="required"))
    agent, model = make_agent("ok", tools=[tool_named("t")], input_processors=[first])

    await by(entry, agent, "hi", prepare_step=prepare)

    assert seen == [(0, "required")]
    assert [call.tool_choice for call in model.calls] == ["none"]


async def test_branches_start_in_list_order() -> None:
    """On both backends: the first of a list starts first."""
    trace: list[str] = []

    def starting(name: str) -> Processor:
        async def run(ctx: Any) -> None:
            trace.append(name)
            await anyio.lowlevel.checkpoint()

        return Processor.of(name, process_input=run)

    names = [f"p{number}" for number in range(8)]
    flow = Workflow("w").parallel([starting(name) for name in names]).map("processor:p0").commit()
    agent, _ = make_agent("ok", input_processors=[flow])

    await agent.generate("hi")

    assert trace == names


async def test_tools_start_in_call_order_and_run_side_by_side() -> None:
    """All tools of a step have started before the first result is looked at."""
    trace: list[str] = []
    last_started = anyio.Event()
    names = [f"t{number}" for number in range(6)]

    def waiting(name: str) -> Tool:
        async def run() -> str:
            trace.append(f"start {name}")
            if name == names[-1]:
                last_started.set()
            await last_started.wait()
            return name

        return Tool(name, run=run)

    def result(ctx: Any) -> None:
        trace.append(f"result {ctx.tool_name}")

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool(name, id=name) for name in names]),
        "done",
        tools=[waiting(name) for name in names],
        output_processors=[Processor.of("p", process_tool_result=result)],
    )

    with anyio.fail_after(5):
        await agent.generate("hi")

    assert trace == [f"start {name}" for name in names] + [f"result {name}" for name in names]


async def test_results_are_looked_at_one_at_a_time_in_call_order() -> None:
    """The first call's result comes first although its tool ends last, and each chunk follows its hooks."""
    trace: list[str] = []
    second_done = anyio.Event()

    async def slow() -> int:
        """Wait for the other."""
        await second_done.wait()
        return 1

    async def fast() -> int:
        """Return at once."""
        second_done.set()
        return 2

    async def result(ctx: Any) -> None:
        trace.append(f"enter {ctx.tool_name}")
        await anyio.lowlevel.checkpoint()
        trace.append(f"leave {ctx.tool_name}")

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("slow", id="c1"), calls_tool("fast", id="c2")]),
        "done",
        tools=[slow, fast],
        output_processors=[Processor.of("p", process_tool_result=result)],
    )

    with anyio.fail_after(5):
        async with agent.stream("hi") as stream:
            async for chunk in stream:
                if chunk.type == "tool-result":
                    trace.append(f"chunk {chunk.payload['tool_name']}")  # noqa: PERF401 - in between the hooks

    assert trace == [
        "enter slow",
        "leave slow",
        "chunk slow",
        "enter fast",
        "leave fast",
        "chunk fast",
    ]
    assert lines(model.prompts[1])[-1] == "tool: c1 -> 1 + c2 -> 2"


def provider_run(result: object) -> list[Chunk]:
    """Return an answer in which the provider itself ran a tool."""
    call = {"tool_call_id": "p1", "tool_name": "web", "args": {"q": "x"}, "provider_executed": True}
    return [
        Chunk("tool-call", call),
        Chunk("tool-result", {**call, "result": result}),
        *deltas("found"),
        Chunk("finish", {"reason": "stop"}),
    ]


@each_entry
async def test_a_providers_own_result_passes_its_hook_on_arrival(entry: Entry) -> None:
    """It is looked at before the stream hooks get it; what they get is what the hook made of it."""
    trace: list[str] = []

    def result(ctx: Any) -> None:
        trace.append(f"hook {ctx.tool_name} {ctx.provider_executed} {ctx.result}")
        ctx.message_list.update_tool_result(ctx.tool_call_id, "clean")

    def stream(ctx: Any) -> Any:
        if ctx.part.type == "tool-result":
            trace.append(f"chunk {ctx.part.payload['result']}")
        return ctx.part

    model = ChunkModel(provider_run("raw"))
    guard = Processor.of("p", process_tool_result=result, process_output_stream=stream)

    ran = await by(entry, Agent(id="a", model=model, output_processors=[guard]), "hi")

    assert trace == ["hook web True raw", "chunk clean"]
    assert len(model.calls) == 1
    assert reply_parts(ran.result)[0].result == "clean"
    if entry == "stream":
        assert [chunk.payload["result"] for chunk in ran.of("tool-result")] == ["clean"]


async def test_a_replayed_result_passes_its_hook_on_arrival() -> None:
    """Like a provider's own: before the stream hooks, and no tool runs."""
    trace: list[str] = []
    call = {"tool_call_id": "c1", "tool_name": "t", "args": {}}
    replay = [
        Chunk("tool-call", call),
        Chunk("tool-result", {**call, "result": 7}),
        Chunk("finish", {"reason": "tool-calls"}),
    ]

    def request(ctx: Any) -> LLMRequest | None:
        return LLMRequest(response=replay) if ctx.step_number == 0 else None

    agent, model = make_agent(
        "seven",
        tools=[tool_named("t", trace=trace)],
        input_processors=[Processor.of("cache", process_llm_request=request)],
        output_processors=[Processor.of("p", process_tool_result=lambda ctx: trace.append(f"hook {ctx.result}"))],
    )

    ran = await collect(agent, "hi")

    assert trace == ["hook 7"]
    assert (ran.result.text, len(model.calls)) == ("seven", 1)
    assert lines(model.prompts[0])[-1] == "tool: c1 -> 7"
