"""Data chunks: who may send them, who sees them, when they go out."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Processor, ToolContext
from sluiceway.errors import ProcessorError
from sluiceway.messages import Chunk
from sluiceway.models import Reply
from tests.support.processors import hooked
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent

pytestmark = pytest.mark.anyio


def watcher(id: str, seen: list[str], *, opted_in: bool = True) -> Processor:  # noqa: A002
    """Return a processor that notes the data chunks it is shown."""

    def run(ctx: Any) -> Any:
        if ctx.part.type.startswith("data-"):
            seen.append(f"{id} {ctx.part.type} {ctx.part.data}")
        return ctx.part

    return Processor.of(id, process_output_stream=run, process_data_parts=opted_in)


def writer(id: str, hook: str, *, sees: list[str] | None = None) -> Processor:  # noqa: A002
    """Return a processor that sends one data chunk from a hook, and notes those it is shown."""

    async def run(ctx: Any) -> Any:
        if hook == "process_output_stream":
            if sees is not None and ctx.part.type.startswith("data-"):
                sees.append(f"{id} {ctx.part.type}")
            if ctx.part.type != "text-delta":
                return ctx.part
        await ctx.writer.custom(f"data-{id}", hook)
        return ctx.part if hook == "process_output_stream" else None

    return hooked(id, {hook: run}, process_data_parts=True)


async def test_one_written_in_a_stream_hook_goes_through_those_behind_only() -> None:
    """Before the chunk in hand, and never back to its writer."""
    seen: list[str] = []
    agent, _ = make_agent(
        "x",
        output_processors=[
            watcher("before", seen),
            writer("w", "process_output_stream", sees=seen),
            watcher("behind", seen),
            watcher("deaf", seen, opted_in=False),
        ],
    )

    ran = await collect(agent, "hi")

    assert seen == ["behind data-w process_output_stream"]
    place = ran.types.index("data-w")
    assert ran.types[place : place + 2] == ["data-w", "text-delta"]


@pytest.mark.parametrize(
    "hook",
    [
        "process_input",
        "process_input_step",
        "process_llm_request",
        "process_llm_response",
        "process_output_step",
    ],
)
async def test_one_written_elsewhere_goes_through_the_whole_list(hook: str) -> None:
    """Everyone in the output list who asked for data sees it, its writer excepted."""
    seen: list[str] = []
    sender = writer("w", hook)
    where = "output_processors" if hook == "process_output_step" else "input_processors"
    lists: dict[str, list[Any]] = {"output_processors": [watcher("a", seen), watcher("b", seen)]}
    lists.setdefault(where, []).insert(len(lists.get(where, [])), sender)
    agent, _ = make_agent("x", **lists)

    ran = await collect(agent, "hi")

    assert seen == [f"a data-w {hook}", f"b data-w {hook}"]
    assert [chunk.data for chunk in ran.of("data-w")] == [hook]


async def test_a_processor_never_sees_its_own() -> None:
    """Not even one that it wrote in another hook."""
    seen: list[str] = []

    async def step(ctx: Any) -> None:
        await ctx.writer.custom("data-mine", 1)

    both = watcher("w", seen)
    both.process_output_step = step  # type: ignore[attr-defined]
    agent, _ = make_agent("x", output_processors=[both])

    ran = await collect(agent, "hi")

    assert seen == []
    assert len(ran.of("data-mine")) == 1


async def test_a_tools_data_goes_through_the_whole_list_while_the_tool_runs() -> None:
    """It is delivered before the tool's result, with the tool as its source."""
    seen: list[str] = []

    async def work(ctx: ToolContext) -> str:
        """Report progress."""
        await ctx.writer.custom("data-progress", {"at": 50})
        await ctx.writer.custom("data-progress", {"at": 100}, transient=True)
        return "done"

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("work")]), "x", tools=[work], output_processors=[watcher("a", seen)]
    )

    ran = await collect(agent, "hi")

    assert seen == ["a data-progress {'at': 50}", "a data-progress {'at': 100}"]
    sent = ran.of("data-progress", "tool-result")
    assert [(c.type, c.data, c.get("transient")) for c in sent] == [
        ("data-progress", {"at": 50}, False),
        ("data-progress", {"at": 100}, True),
        ("tool-result", None, None),
    ]
    assert [chunk.from_ for chunk in sent[:2]] == ["TOOL", "TOOL"]


async def test_one_that_is_dropped_or_changed_reaches_the_reader_so() -> None:
    """A processor that asked for data decides about it."""

    def censor(ctx: Any) -> Any:
        if ctx.part.type == "data-secret":
            return None
        if ctx.part.type == "data-open":
            return ctx.part.replace(data={"n": 2})
        return ctx.part

    async def step(ctx: Any) -> None:
        await ctx.writer.custom("data-secret", 1)
        await ctx.writer.custom("data-open", {"n": 1})

    agent, _ = make_agent(
        "x",
        input_processors=[Processor.of("i", process_input_step=step)],
        output_processors=[Processor.of("c", process_output_stream=censor, process_data_parts=True)],
    )

    ran = await collect(agent, "hi")

    assert [(chunk.type, chunk.data) for chunk in ran.chunks if chunk.type.startswith("data-")] == [
        ("data-open", {"n": 2})
    ]


@each_entry
@pytest.mark.parametrize("type_", ["note", "text-delta", "finish", "data-", ""])
async def test_another_prefix_is_an_error(entry: Entry, type_: str) -> None:
    """Nobody can forge a chunk of the run itself."""

    async def run(ctx: Any) -> None:
        await ctx.writer.custom(type_, {})

    agent, _ = make_agent("x", input_processors=[Processor.of("p", process_input=run)])

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert "data-" in str(ran.error.__cause__)


@each_entry
async def test_data_is_in_no_prompt(entry: Entry) -> None:
    """Neither in the next step's nor, sent back as history, in the next call's."""

    async def work(ctx: ToolContext) -> str:
        """Report."""
        await ctx.writer.custom("data-note", {"secret": "x1"})
        return "done"

    agent, model = make_agent(Reply(tool_calls=[calls_tool("work")]), "bye", tools=[work])

    ran = await by(entry, agent, "hi")
    await by(entry, agent, ["hi", *ran.result.response.messages, "again"])

    assert [line for prompt in model.prompts for line in lines(prompt) if "x1" in line] == []
    assert lines(model.prompts[-1])[-2:] == ["assistant: bye", "user: again"]


async def test_data_written_in_a_hook_is_out_before_what_the_hook_lets_on() -> None:
    """One chunk written at every delta comes in front of it, in order."""

    async def run(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            await ctx.writer.custom("data-first", ctx.part.text)
            await ctx.writer.custom("data-second", ctx.part.text)
        return ctx.part

    agent, _ = make_agent(["a", "b"], output_processors=[Processor.of("p", process_output_stream=run)])

    ran = await collect(agent, "hi")

    wanted: list[Chunk] = ran.of("data-first", "data-second", "text-delta")
    assert [(chunk.type, chunk.data or chunk.text) for chunk in wanted] == [
        ("data-first", "a"),
        ("data-second", "a"),
        ("text-delta", "a"),
        ("data-first", "b"),
        ("data-second", "b"),
        ("text-delta", "b"),
    ]
