"""`state`, `attempt_state`, and ids."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Agent, Processor, Workflow
from sluiceway.errors import ConfigurationError
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import HOOKS_OF
from tests.support.processors import INPUT_HOOKS, OUTPUT_HOOKS, hooked, tool_named
from tests.support.runs import Entry, by, calls_tool, each_entry, make_agent

pytestmark = pytest.mark.anyio


def counting(id: str, seen: list[tuple[str, int]], *hooks: str) -> Processor:  # noqa: A002
    """Return a processor that counts its hook calls in its state."""

    def hook(name: str) -> Any:
        def run(ctx: Any) -> Any:
            if name == "process_output_stream" and ctx.part.type != "text-delta":
                return ctx.part
            ctx.state["n"] = ctx.state.get("n", 0) + 1
            seen.append((name, ctx.state["n"]))
            return ctx.part if name == "process_output_stream" else None

        return run

    return hooked(id, {name: hook(name) for name in hooks})


@each_entry
async def test_one_state_for_all_hooks_of_a_processor_in_both_lists(entry: Entry) -> None:
    """An object that stands in the input and the output list has one state for the request."""
    seen: list[tuple[str, int]] = []
    hooks = ("process_input", "process_llm_request", "process_output_stream", "process_output_result")
    processor = counting("p", seen, *hooks)
    agent, _ = make_agent("ok", input_processors=[processor], output_processors=[processor])

    await by(entry, agent, "hi")

    assert seen == [(hook, number) for number, hook in enumerate(hooks, start=1)]


@each_entry
async def test_two_objects_have_two_states_and_a_new_request_starts_empty(entry: Entry) -> None:
    """Nothing of a request is left on a processor."""
    one: list[tuple[str, int]] = []
    two: list[tuple[str, int]] = []
    agent, _ = make_agent(
        "ok",
        input_processors=[counting("a", one, "process_input"), counting("b", two, "process_input")],
    )

    for _ in range(3):
        await by(entry, agent, "hi")

    assert one == two == [("process_input", 1)] * 3


@each_entry
async def test_attempt_state_is_empty_at_each_attempt_and_state_is_not(entry: Entry) -> None:
    """A retry starts with fresh buffers; what was counted for the request stays."""
    seen: list[tuple[int, int, int | None, int]] = []

    def step(ctx: Any) -> None:
        for state in (ctx.state, ctx.attempt_state):
            state["n"] = state.get("n", 0) + 1
        seen.append((ctx.step_number, ctx.retry_count, ctx.attempt_state["n"], ctx.state["n"]))

    def output(ctx: Any) -> None:
        step(ctx)
        if ctx.text == "bad":
            ctx.abort("again", retry=True)

    processor = Processor.of("p", process_input_step=step, process_output_step=output)
    agent, _ = make_agent(
        "bad",
        Reply(tool_calls=[calls_tool("t")]),
        "done",
        tools=[tool_named("t")],
        input_processors=[processor],
        output_processors=[processor],
        max_processor_retries=1,
    )

    await by(entry, agent, "hi")

    assert seen == [(0, 0, 1, 1), (0, 0, 2, 2), (0, 1, 1, 3), (0, 1, 2, 4), (1, 0, 1, 5), (1, 0, 2, 6)]


async def test_a_processor_shared_by_agents_and_runs_never_mixes_states() -> None:
    """Many runs of two agents at once, each waiting in every hook."""
    finals: list[tuple[str, int]] = []

    async def stream(ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        if ctx.part.type == "text-delta":
            ctx.state["seen"] = [*ctx.state.get("seen", []), ctx.part.text]
        return ctx.part

    def result(ctx: Any) -> None:
        finals.append(("".join(ctx.state["seen"]), len(ctx.state["seen"])))

    shared = Processor.of("shared", process_output_stream=stream, process_output_result=result)
    agents = [Agent(id=name, model=ScriptedModel([list(name * 5)]), output_processors=[shared]) for name in "ab"]

    async with anyio.create_task_group() as group:
        for _ in range(20):
            for agent in agents:
                group.start_soon(agent.generate, "hi")

    assert sorted(finals) == [("aaaaa", 5)] * 20 + [("bbbbb", 5)] * 20


def idle(id: str, hook: str = "process_input") -> Processor:  # noqa: A002
    """Return a processor that does nothing."""
    return hooked(id, {hook: lambda ctx: None})


def nested(*ids: str) -> Any:
    """Return a workflow within a workflow with processors of these ids."""
    inner = Workflow("inner")
    for id_ in ids:
        inner = inner.then(idle(id_))
    return Workflow("outer").then(inner.commit()).commit()


@pytest.mark.parametrize(
    "processors",
    [
        [idle("x"), idle("x")],
        [idle("x"), nested("y", "x")],
        [nested("x"), Workflow("w").parallel([idle("x"), idle("z")]).map("processor:z").commit()],
    ],
    ids=["plain", "nested", "two workflows"],
)
async def test_an_id_twice_in_a_list_is_refused_with_a_hint(processors: list[Any]) -> None:
    """Workflows counted, at construction and for the lists of a call."""
    with pytest.raises(ConfigurationError, match=r"'x'.*id="):
        make_agent("ok", input_processors=processors)
    agent, _ = make_agent("ok")
    with pytest.raises(ConfigurationError, match=r"'x'.*id="):
        await agent.generate("hi", input_processors=processors)


@pytest.mark.parametrize(
    ("option", "hook"),
    [
        ("input_processors", "process_output_result"),
        ("output_processors", "process_input"),
        ("error_processors", "process_input"),
    ],
)
def test_a_processor_without_a_hook_of_its_list_is_refused(option: str, hook: str) -> None:
    """It would never run; the error names it and the list."""
    with pytest.raises(ConfigurationError, match=f"'lost'.*{option}"):
        make_agent("ok", **{option: [idle("lost", hook)]})


def test_something_that_is_no_processor_is_refused() -> None:
    """The error says where it stands."""
    with pytest.raises(ConfigurationError, match=r"input_processors\[1\]"):
        make_agent("ok", input_processors=[idle("x"), object()])


def test_every_hook_is_known_to_one_list_at_least() -> None:
    """The lists of hooks that these tests go through are those of the library."""
    assert set(INPUT_HOOKS) | {"process_api_error"} == set(HOOKS_OF["input"])
    assert set(OUTPUT_HOOKS) | {"process_api_error"} == set(HOOKS_OF["output"])
