"""Area E: hooks, their state, and how processors chain."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Processor, Tool, ToolContext, Workflow
from sluiceway.errors import ConfigurationError
from sluiceway.messages import Usage
from sluiceway.models import Reply
from sluiceway.processors import StepOverrides
from tests.support.processors import hooked
from tests.support.redactors import redactor
from tests.support.runs import Entry, Ran, by, calls_tool, collect, each_entry, lines, make_agent, parts_of
from tests.support.storing import THREAD, new_memory, stored

pytestmark = pytest.mark.anyio

PLAIN_OR_INSIDE = pytest.mark.parametrize("inside", [False, True], ids=["plain", "in a workflow"])


def placed(processor: Processor, *, inside: bool) -> Any:
    """Return a processor as it is, or as the only step of a workflow."""
    return Workflow("w").then(processor).commit() if inside else processor


def one() -> int:
    """Give one."""
    return 1


class DeltaCounter(Processor):
    """Counts text deltas and reads the count at the end of the step and of the run."""

    def __init__(self, id: str = "counter") -> None:  # noqa: A002
        super().__init__(id)
        self.seen: list[tuple[str, int]] = []

    def process_output_stream(self, ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            ctx.state["n"] = ctx.state.get("n", 0) + 1
        elif ctx.part.type == "step-finish":
            self.seen.append(("step-finish", ctx.state["n"]))
        return ctx.part

    def process_output_result(self, ctx: Any) -> None:
        self.seen.append(("result", ctx.state["n"]))


@each_entry
@PLAIN_OR_INSIDE
async def test_b078_the_stream_hooks_state_is_there_in_later_hooks(entry: Entry, inside: bool) -> None:
    """One state for all hooks of a processor, in a list and in a workflow."""
    counter = DeltaCounter()
    agent, _ = make_agent(["a", "b", "c"], output_processors=[placed(counter, inside=inside)])

    await by(entry, agent, "hi")

    assert counter.seen == [("step-finish", 3), ("result", 3)]


@pytest.mark.parametrize("with_first", [True, False])
async def test_b079_two_chained_processors_have_a_state_each(with_first: bool) -> None:
    """What a processor notes in a step hook it finds in the result hook, alone or behind another."""
    saved: list[list[str]] = []

    def noting(name: str) -> Processor:
        def note(ctx: Any) -> None:
            ctx.state["question"] = f"{name} saw {ctx.messages[-1].text}"

        def save(ctx: Any) -> None:
            saved.append([ctx.state["question"], *(message.text for message in ctx.message_list.all)])

        return Processor.of(name, process_input_step=note, process_output_result=save)

    processors = [noting("p1"), noting("p2")][0 if with_first else 1 :]
    agent, _ = make_agent("answer", input_processors=processors, output_processors=processors)

    await collect(agent, "question")

    expected = [["p1 saw question", "question", "answer"], ["p2 saw question", "question", "answer"]]
    assert saved == expected[0 if with_first else 1 :]


async def test_b081_two_runs_at_once_count_for_themselves() -> None:
    """One processor object in two concurrent runs has two states."""
    counter = DeltaCounter()

    async def wait(ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return ctx.part

    agent, _ = make_agent(
        ["a", "b", "c"],
        output_processors=[Processor.of("waits", process_output_stream=wait), counter],
    )

    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(agent.generate, "hi")
    await agent.generate("hi")

    assert sorted(counter.seen) == [("result", 3)] * 3 + [("step-finish", 3)] * 3


def test_b082_one_id_twice_in_a_list_is_refused() -> None:
    """Two processors of one id would share a place; the error says how to tell them apart."""
    first = Processor.of("same", process_output_result=lambda ctx: None)
    second = Processor.of("same", process_output_stream=lambda ctx: ctx.part)

    with pytest.raises(ConfigurationError, match=r"same.*id="):
        make_agent("x", output_processors=[first, second])
    with pytest.raises(ConfigurationError, match=r"same.*id="):
        make_agent("x", output_processors=[first, Workflow("w").then(second).commit()])


def test_b082_one_id_in_two_lists_is_fine() -> None:
    """Ids are unique within one list only."""
    first = Processor.of("same", process_input=lambda ctx: None)
    second = Processor.of("same", process_output_result=lambda ctx: None)

    agent, _ = make_agent("x", input_processors=[first], output_processors=[second])

    assert agent.id == "tested"


@each_entry
async def test_b082_two_redactors_of_one_kind_both_work(entry: Entry) -> None:
    """With ids of their own, each finds what is cut in two and leaves the other's alone."""
    chain = [redactor("key", r"tok-[a-z0-9]{10,}"), redactor("badge", r"EMP-[0-9]{6}")]
    agent, _ = make_agent(["a tok-abcd", "1234567890 b EM", "P-123456 c"], output_processors=chain)

    ran = await by(entry, agent, "hi")

    assert ran.result.text == "a [KEY] b [BADGE] c"
    if entry == "stream":
        assert ran.emitted == ran.result.text


async def test_b083_stream_hooks_see_the_chunks_that_open_and_close_steps() -> None:
    """A hook sees the lifecycle in the order in which the reader gets it."""
    seen: list[str] = []

    def note(ctx: Any) -> Any:
        seen.append(ctx.part.type)
        return ctx.part

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("one")]),
        "done",
        tools=[one],
        output_processors=[Processor.of("note", process_output_stream=note)],
    )

    ran = await collect(agent, "hi")

    lifecycle = ["step-start", "step-finish", "step-start", "step-finish", "finish"]
    steps = {"start", "step-start", "step-finish", "finish"}
    assert [type_ for type_ in seen if type_ in steps] == lifecycle
    assert [type_ for type_ in ran.types if type_ in steps] == ["start", *lifecycle]
    assert ran.types == ["start", *seen]


@each_entry
async def test_b086_the_step_hook_sees_the_usage_of_its_step(entry: Entry) -> None:
    """Each step has its own usage; the result has the sum."""
    seen: list[Usage] = []
    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("one")], usage=Usage(5, 7)),
        Reply(text="done", usage=Usage(2, 3)),
        tools=[one],
        output_processors=[
            Processor.of(
                "usage",
                process_output_step=lambda ctx: seen.append(ctx.usage),
                process_output_result=lambda ctx: seen.append(ctx.result.usage),
            )
        ],
    )

    ran = await by(entry, agent, "hi")

    assert seen == [Usage(5, 7, 12), Usage(2, 3, 5), Usage(7, 10, 17)]
    assert ran.result.usage == Usage(7, 10, 17)


@each_entry
async def test_b088_returned_messages_do_not_drop_the_instructions(entry: Entry) -> None:
    """Messages that a step hook returns replace messages, not system messages."""
    fresh = Processor.of("fresh", process_input_step=lambda ctx: ["only this"])
    agent, model = make_agent("ok", input_processors=[fresh])

    await by(entry, agent, "hi")

    assert lines(model.prompts[0]) == ["system: sys", "user: only this"]


@each_entry
async def test_b089_system_messages_of_one_step_are_gone_in_the_next(entry: Entry) -> None:
    """Each step starts from the system messages as `process_input` left them."""

    def add(ctx: Any) -> StepOverrides:
        return StepOverrides(system_messages=[*ctx.system_messages, f"step{ctx.step_number}"])

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("one")]),
        "done",
        tools=[one],
        input_processors=[Processor.of("add", process_input_step=add)],
    )

    await by(entry, agent, "hi")

    systems = [[line for line in lines(prompt) if line.startswith("system")] for prompt in model.prompts]
    assert systems == [["system: sys", "system: step0"], ["system: sys", "system: step1"]]


INPUT_HOOKS = ("process_input", "process_input_step", "process_llm_request", "process_llm_response")
OUTPUT_HOOKS = (
    "process_output_stream",
    "finish_output_stream",
    "process_output_step",
    "process_tool_result",
    "process_output_result",
)


def writes_once(hook: str) -> Any:
    """Return a hook that sends one data chunk named after it, once; the stream hook at a tool call."""

    async def run(ctx: Any) -> Any:
        due = hook != "process_output_stream" or ctx.part.type == "tool-call"
        if due and not ctx.state.get(hook):
            ctx.state[hook] = True
            await ctx.writer.custom(f"data-{hook}", {"at": hook})
        return ctx.part if hook == "process_output_stream" else None

    return run


@PLAIN_OR_INSIDE
async def test_b091_every_hook_can_send_data(inside: bool) -> None:
    """One data chunk from each hook reaches the reader, in the order of the hooks, before finish."""
    front = hooked("front", {hook: writes_once(hook) for hook in INPUT_HOOKS})
    back = hooked("back", {hook: writes_once(hook) for hook in OUTPUT_HOOKS})
    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("one")]),
        "done",
        tools=[one],
        input_processors=[placed(front, inside=inside)],
        output_processors=[placed(back, inside=inside)],
    )

    ran = await collect(agent, "hi")

    assert [type_ for type_ in ran.types if type_.startswith("data-")] == [
        "data-process_input",
        "data-process_input_step",
        "data-process_llm_request",
        "data-process_output_stream",
        "data-finish_output_stream",
        "data-process_llm_response",
        "data-process_output_step",
        "data-process_tool_result",
        "data-process_output_result",
    ]
    assert ran.types[-1] == "finish"


@pytest.mark.parametrize("opted_in", [False, True])
async def test_b092_data_of_a_tool_is_shown_to_those_who_ask_for_it(opted_in: bool) -> None:
    """A processor that did not ask never sees a tool's data; one that did can hold it back."""
    asked: list[str] = []

    def drop(ctx: Any) -> Any:
        if ctx.part.type.startswith("data-"):
            asked.append(ctx.part.type)
            return None
        return ctx.part

    async def run(ctx: ToolContext) -> int:
        await ctx.writer.custom("data-x", {"n": 1})
        return 1

    guard = Processor.of("guard", process_output_stream=drop, process_data_parts=opted_in)
    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("t")]), "done", tools=[Tool("t", run=run)], output_processors=[guard]
    )

    ran = await collect(agent, "hi")

    assert asked == (["data-x"] if opted_in else [])
    assert [chunk.data for chunk in ran.of("data-x")] == ([] if opted_in else [{"n": 1}])


@each_entry
async def test_b094_step_hooks_run_at_every_step(entry: Entry) -> None:
    """Three steps: three calls of each step hook, one of each hook of the run."""
    counts: dict[str, int] = {}

    def count(hook: str) -> Any:
        def run(ctx: Any) -> None:
            counts[hook] = counts.get(hook, 0) + 1

        return run

    front = hooked("front", {hook: count(hook) for hook in INPUT_HOOKS})
    back = hooked("back", {hook: count(hook) for hook in ("process_output_step", "process_output_result")})
    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("one", id="c1")]),
        Reply(tool_calls=[calls_tool("one", id="c2")]),
        "done",
        tools=[one],
        input_processors=[front],
        output_processors=[back],
    )

    await by(entry, agent, "hi")

    assert counts == {
        "process_input": 1,
        "process_input_step": 3,
        "process_llm_request": 3,
        "process_llm_response": 3,
        "process_output_step": 3,
        "process_output_result": 1,
    }


@each_entry
@pytest.mark.parametrize("answer", [[], None])
async def test_b095_nothing_from_the_step_hook_changes_nothing(entry: Entry, answer: Any) -> None:
    """An empty list from the step hook is no order to delete the conversation."""
    left: list[list[str]] = []
    memory = new_memory()
    agent, _ = make_agent(
        "ans",
        output_processors=[
            Processor.of(
                "p",
                process_output_step=lambda ctx: answer,
                process_output_result=lambda ctx: left.append([m.text for m in ctx.message_list.all]),
            )
        ],
        memory=memory,
    )

    ran = await by(entry, agent, "question", memory=THREAD)

    assert left == [["question", "ans"]]
    assert (ran.result.text, parts_of(ran.result)) == ("ans", [["text:ans"]])
    assert await stored(memory) == ["user: question", "assistant: ans"]


@each_entry
async def test_b096_returning_the_same_messages_changes_nothing(entry: Entry) -> None:
    """A hook that hands back what it got leaves ids, order and parts as they were."""
    ids: list[list[str]] = []
    kept: list[list[str]] = []

    async def run(hook: Any) -> Ran:
        memory = new_memory()

        def at_the_end(ctx: Any) -> None:
            ids.append([m.id for m in ctx.message_list.all])

        agent, _ = make_agent(
            Reply(text="let me look. ", tool_calls=[calls_tool("one")]),
            "it is one",
            tools=[one],
            output_processors=[Processor.of("p", process_output_step=hook, process_output_result=at_the_end)],
            memory=memory,
        )
        ran = await by(entry, agent, "hi", memory=THREAD)
        kept.append(await stored(memory))
        return ran

    def same(ctx: Any) -> Any:
        ids.append([m.id for m in ctx.message_list.all])
        return list(ctx.messages)

    returning, silent = await run(same), await run(lambda ctx: None)

    assert parts_of(returning.result) == parts_of(silent.result)
    assert returning.result.text == "let me look. it is one"
    assert kept == [["user: hi", "assistant: let me look.  + one:result=1 + it is one"]] * 2
    assert ids[0] == ids[1] == ids[2]
    assert len(ids[3]) == 2
