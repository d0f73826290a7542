"""What stream hooks may return, what they see, and when they are asked for what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio.lowlevel
import pytest

from sluiceway import Processor
from sluiceway.errors import ProcessorError
from sluiceway.messages import Chunk
from sluiceway.models import Reply
from tests.support.processors import tool_named
from tests.support.runs import calls_tool, collect, make_agent

pytestmark = pytest.mark.anyio


def several(part: Chunk) -> Iterator[Chunk]:
    """Yield a delta letter by letter."""
    for letter in part.text:
        yield part.replace(text=letter)


@pytest.mark.parametrize(
    ("answer", "deltas"),
    [
        (lambda part: part, ["ab", "c"]),
        (lambda part: [part], ["ab", "c"]),
        (lambda part: (part, part), ["ab", "ab", "c", "c"]),
        (several, ["a", "b", "c"]),
        (lambda part: [], []),
        (lambda part: None, []),
        (lambda part: part.replace(text=""), ["", ""]),
    ],
    ids=["chunk", "list", "tuple", "generator", "empty", "none", "emptied"],
)
@pytest.mark.parametrize("waits", [False, True], ids=["def", "async def"])
async def test_what_a_stream_hook_may_return(answer: Any, deltas: list[str], waits: bool) -> None:
    """A chunk, any iterable of chunks, or nothing; the next processor gets each of them."""
    seen: list[str] = []

    def plain(ctx: Any) -> Any:
        return answer(ctx.part) if ctx.part.type == "text-delta" else ctx.part

    async def waiting(ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return plain(ctx)

    def watch(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            seen.append(ctx.part.text)
        return ctx.part

    agent, _ = make_agent(
        ["ab", "c"],
        output_processors=[
            Processor.of("p", process_output_stream=waiting if waits else plain),
            Processor.of("w", process_output_stream=watch),
        ],
    )

    ran = await collect(agent, "hi")

    assert seen == deltas
    assert [chunk.text for chunk in ran.of("text-delta")] in (deltas, [text for text in deltas if text])
    assert ran.result.text == "".join(deltas)


@pytest.mark.parametrize("waits", [False, True], ids=["def", "async def"])
async def test_stream_parts_are_the_chunks_as_this_processor_got_them(waits: bool) -> None:
    """Each processor has its own view, this chunk included; a new attempt starts empty."""
    seen: list[tuple[str, list[str]]] = []

    def note(name: str, change: Any) -> Processor:
        def run(ctx: Any) -> Any:
            if ctx.part.type != "text-delta":
                return ctx.part
            seen.append((name, [part.text for part in ctx.stream_parts if part.type == "text-delta"]))
            return change(ctx.part)

        async def run_later(ctx: Any) -> Any:
            await anyio.lowlevel.checkpoint()
            return run(ctx)

        return Processor.of(name, process_output_stream=run_later if waits else run)

    def swallow_b(part: Chunk) -> Chunk | None:
        return None if part.text == "b" else part.replace(text=part.text.upper()) if part.text == "a" else part

    reject = Processor.of(
        "r", process_output_step=lambda ctx: ctx.abort("no", retry=True) if ctx.retry_count == 0 else None
    )
    agent, _ = make_agent(
        ["a", "b", "c"],
        ["d"],
        output_processors=[note("one", swallow_b), note("two", lambda part: part), reject],
        max_processor_retries=1,
    )

    await collect(agent, "hi")

    assert seen == [
        ("one", ["a"]),
        ("two", ["A"]),
        ("one", ["a", "b"]),
        ("one", ["a", "b", "c"]),
        ("two", ["A", "c"]),
        ("one", ["d"]),
        ("two", ["d"]),
    ]


async def test_stream_parts_hold_data_only_for_those_who_asked_for_it() -> None:
    """A data chunk is among the chunks of a processor that is shown data, and of no other."""
    seen: dict[str, list[str]] = {}

    def note(name: str, *, data: bool) -> Processor:
        def run(ctx: Any) -> Any:
            types = [part.type for part in ctx.stream_parts]
            seen[name] = [type_ for type_ in types if type_.startswith(("data-", "text-delta"))]
            return ctx.part

        return Processor.of(name, process_output_stream=run, process_data_parts=data)

    async def write(ctx: Any) -> None:
        await ctx.writer.custom("data-x", 1)

    agent, _ = make_agent(
        ["a", "b"],
        input_processors=[Processor.of("w", process_input_step=write)],
        output_processors=[
            note("one", data=False),
            note("two", data=True),
            note("three", data=True),
            note("four", data=False),
        ],
    )

    await collect(agent, "hi")

    deaf = ["text-delta", "text-delta"]
    assert seen == {"one": deaf, "two": ["data-x", *deaf], "three": ["data-x", *deaf], "four": deaf}


async def test_stream_parts_do_not_hold_what_the_processor_wrote_itself() -> None:
    """Those behind have it, in its place; the writer and those before do not."""
    seen: dict[str, list[str]] = {}

    def note(name: str, *, writes: bool = False) -> Processor:
        async def run(ctx: Any) -> Any:
            if writes and ctx.part.text == "a":
                await ctx.writer.custom("data-x", 1)
            types = [part.type for part in ctx.stream_parts]
            seen[name] = [type_ for type_ in types if type_.startswith(("data-", "text-delta"))]
            return ctx.part

        return Processor.of(name, process_output_stream=run, process_data_parts=True)

    agent, _ = make_agent(["a", "b"], output_processors=[note("one"), note("two", writes=True), note("three")])

    await collect(agent, "hi")

    plain = ["text-delta", "text-delta"]
    assert seen == {"one": plain, "two": plain, "three": ["data-x", *plain]}


async def test_a_context_says_which_hook_runs() -> None:
    hooks: list[str] = []

    def stream(ctx: Any) -> Any:
        hooks.append(ctx.hook)
        return ctx.part

    def finish(ctx: Any) -> None:
        hooks.append(ctx.hook)

    named = Processor.of("named", process_output_stream=stream, finish_output_stream=finish)
    agent, _ = make_agent("x", output_processors=[named])
    await collect(agent, "hi")
    assert list(dict.fromkeys(hooks)) == ["process_output_stream", "finish_output_stream"]


async def test_held_chunks_pass_those_behind_before_their_own_finish() -> None:
    """What `finish_output_stream` returns is streamed through the rest of the list first."""
    trace: list[str] = []

    def holder(name: str) -> Processor:
        def stream(ctx: Any) -> Any:
            if ctx.part.type != "text-delta":
                return ctx.part
            trace.append(f"{name} got {ctx.part.text}")
            ctx.attempt_state.setdefault("held", []).append(ctx.part.replace(text=ctx.part.text + name))
            return None

        def finish(ctx: Any) -> Any:
            trace.append(f"{name} finishes")
            return ctx.attempt_state.pop("held", [])

        return Processor.of(name, process_output_stream=stream, finish_output_stream=finish)

    agent, _ = make_agent(["x"], output_processors=[holder("1"), holder("2")])

    ran = await collect(agent, "hi")

    assert trace[:4] == ["1 got x", "1 finishes", "2 got x1", "2 finishes"]
    assert ran.emitted == "x12"
    assert [chunk.text for chunk in ran.of("text-delta")] == ["x12"]


async def test_a_hook_that_holds_tool_chunks_is_asked_again_before_the_step_ends() -> None:
    """Chunks that came after the model's own are not lost, and come before `step-finish`."""

    def stream(ctx: Any) -> Any:
        if ctx.part.type != "tool-result":
            return ctx.part
        ctx.attempt_state.setdefault("held", []).append(ctx.part)
        return None

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("t")]),
        "done",
        tools=[tool_named("t")],
        output_processors=[
            Processor.of(
                "hold",
                process_output_stream=stream,
                finish_output_stream=lambda ctx: ctx.attempt_state.pop("held", []),
            )
        ],
    )

    ran = await collect(agent, "hi")

    wanted = ran.of("tool-call", "tool-result", "step-finish", "text-delta")
    assert [chunk.type for chunk in wanted] == [
        "tool-call",
        "tool-result",
        "step-finish",
        "text-delta",
        "step-finish",
    ]


def keeping(chars: int, edits: Any = ()) -> Processor:
    """Return a processor that keeps the tail of a block, and edits what it lets go at its end."""

    def run(ctx: Any) -> Any:
        part = ctx.part
        if part.type == "text-delta":
            ctx.holding = True
            return ctx.release(max(0, ctx.holding - chars))
        if part.type == "text-end":
            return [*ctx.release(ctx.holding, edits), part]
        return part

    return Processor.of("keeping", process_output_stream=run)


async def test_released_text_comes_in_the_pieces_it_came_in() -> None:
    """A processor that keeps four characters lets the rest go, cut where it has to be."""
    agent, _ = make_agent(["abc", "def", "ghi"], output_processors=[keeping(4)])

    ran = await collect(agent, "hi")

    assert [chunk.text for chunk in ran.of("text-delta")] == ["ab", "c", "de", "f", "ghi"]
    assert {chunk.payload["id"] for chunk in ran.of("text-delta")} == {ran.of("text-start")[0].payload["id"]}
    assert ran.result.text == "abcdefghi"


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        ([], "abcdefghi"),
        ([(0, 1, "A")], "Abcdefghi"),
        ([(2, 4, "--")], "ab--efghi"),
        ([(2, 7, "")], "abhi"),
        ([(0, 9, "all")], "all"),
        ([(9, 9, "!")], "abcdefghi!"),
        ([(1, 2, "1"), (4, 6, "2"), (8, 9, "3")], "a1cd2gh3"),
    ],
)
async def test_released_text_is_edited_by_position(edits: Any, text: str) -> None:
    """Edits count from the first character that is kept, across the deltas it came in."""
    agent, _ = make_agent(["abc", "def", "ghi"], output_processors=[keeping(100, edits)])

    ran = await collect(agent, "hi")

    assert (ran.emitted, ran.result.text) == (text, text)


@pytest.mark.parametrize(
    ("n", "edits"),
    [(99, []), (-1, []), (3, [(0, 2, "x"), (1, 3, "y")]), (3, [(2, 1, "x")]), (3, [(0, 4, "x")])],
    ids=["too many", "negative", "overlapping", "backwards", "beyond"],
)
async def test_a_release_that_cannot_be_is_an_error(n: int, edits: Any) -> None:
    """Nothing of the block is delivered then."""

    def run(ctx: Any) -> Any:
        if ctx.part.type != "text-delta":
            return ctx.part
        ctx.holding = True
        return ctx.release(n, edits)

    agent, _ = make_agent(["abc"], output_processors=[Processor.of("p", process_output_stream=run)])

    ran = await collect(agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert ran.emitted == ""


async def test_held_text_starts_anew_at_each_attempt() -> None:
    """What a rejected attempt had held is not in the next one's text."""

    def reject(ctx: Any) -> None:
        if ctx.retry_count == 0:
            ctx.abort("again", retry=True)

    agent, _ = make_agent(
        ["bad", "!"],
        ["go", "od"],
        input_processors=[Processor.of("r", process_llm_response=reject)],
        output_processors=[keeping(2)],
        max_processor_retries=1,
    )

    ran = await collect(agent, "hi")

    assert ran.result.text == "good"
    assert ran.emitted == "bad!good"
