"""What a processor declares that it does not write, it cannot write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.lowlevel
import pytest

from sluiceway import Processor, Workflow
from sluiceway.engine import merge
from sluiceway.errors import MergeConflict, ProcessorError
from sluiceway.messages import TextPart
from sluiceway.processors import Effects, LLMRequest, StepOverrides, run_on
from sluiceway.processors._effects import Surface
from tests.support.processors import hooked
from tests.support.runs import by, calls_tool, each_entry, make_agent
from tests.support.streams import Window

pytestmark = pytest.mark.anyio


def edits(ctx: Any) -> None:
    ctx.messages[-1].parts.append(TextPart("other"))


def removes(ctx: Any) -> None:
    ctx.message_list.remove_by_ids([ctx.messages[0].id])


def removes_once(ctx: Any) -> None:
    if ctx.part.type == "text-start":
        removes(ctx)


def adds_system(ctx: Any) -> None:
    ctx.message_list.add_system("new")


def sets_context(ctx: Any) -> Any:
    ctx.request_context.set("k", 1)
    return getattr(ctx, "part", None)


async def sends_signal(ctx: Any) -> None:
    await ctx.send_signal("psst")


def in_stream(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a stream hook that writes and passes the chunk on."""

    def hook(ctx: Any) -> Any:
        write(ctx)
        return ctx.part

    return hook


def in_stream_later(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the same as an `async def`, which writes after a turn of the event loop."""

    async def hook(ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        write(ctx)
        return ctx.part

    return hook


def changes_a_tool(ctx: Any) -> None:
    ctx.tools["other"] = next(iter(ctx.tools.values()))


WRITES: list[tuple[str, Callable[[Any], Any], Surface]] = [
    ("process_input", edits, "messages"),
    ("process_input", removes, "messages"),
    ("process_input", sends_signal, "messages"),
    ("process_input", adds_system, "system"),
    ("process_input", sets_context, "context"),
    ("process_input_step", edits, "messages"),
    ("process_input_step", lambda ctx: StepOverrides(tool_choice="none"), "overrides"),
    ("process_input_step", changes_a_tool, "overrides"),
    ("process_input_step", lambda ctx: StepOverrides(system_messages=["x"]), "system"),
    ("process_llm_request", lambda ctx: LLMRequest(prompt=ctx.prompt.map_text(str.upper)), "prompt"),
    ("process_llm_request", lambda ctx: LLMRequest(response=[]), "prompt"),
    ("process_llm_response", sets_context, "context"),
    ("process_output_stream", lambda ctx: None, "chunk"),
    ("process_output_stream", lambda ctx: ctx.part.replace(payload={}), "chunk"),
    ("process_output_stream", lambda ctx: [ctx.part, ctx.part.replace(text="x")], "chunk"),
    ("process_output_stream", sets_context, "context"),
    ("process_output_stream", in_stream(edits), "messages"),
    ("process_output_stream", in_stream_later(edits), "messages"),
    ("process_output_stream", in_stream(removes_once), "messages"),
    ("process_output_stream", in_stream(adds_system), "system"),
    ("finish_output_stream", edits, "messages"),
    ("finish_output_stream", in_stream_later(adds_system), "system"),
    ("process_output_step", edits, "messages"),
    ("process_tool_result", lambda ctx: ctx.message_list.update_tool_result(ctx.tool_call_id, 0), "messages"),
    ("process_output_result", edits, "messages"),
]
SURFACES: tuple[Surface, ...] = ("messages", "system", "prompt", "chunk", "overrides", "context", "state")
NAMES = [f"{hook}-{surface}-{number}" for number, (hook, _, surface) in enumerate(WRITES)]


def list_of(hook: str) -> str:
    return "input_processors" if hook.startswith(("process_input", "process_llm")) else "output_processors"


@each_entry
@pytest.mark.parametrize(("hook", "write", "surface"), WRITES, ids=NAMES)
async def test_a_hook_that_writes_what_it_declares_not_to_ends_the_run(
    entry: Any, hook: str, write: Callable[[Any], Any], surface: Surface
) -> None:
    """The error names processor, hook and what was written."""
    others: list[Surface] = [one for one in SURFACES if one != surface]

    def t() -> int:
        """A tool."""
        return 7

    liar = hooked("liar", {hook: write}, effects={hook: Effects(writes=others)})
    agent, _ = make_agent({"tool_calls": [calls_tool("t")]}, "end", tools=[t], **{list_of(hook): [liar]})

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert (ran.error.processor_id, ran.error.hook, ran.error.path) == ("liar", hook, "processor:liar")
    assert f"does not write {surface}" in str(ran.error)


@each_entry
@pytest.mark.parametrize(("hook", "write", "surface"), WRITES, ids=NAMES)
async def test_a_hook_may_write_what_it_declares(entry: Any, hook: str, write: Any, surface: Surface) -> None:
    def t() -> int:
        """A tool."""
        return 7

    honest = hooked("honest", {hook: write}, effects={hook: Effects(writes=[surface])})
    agent, _ = make_agent({"tool_calls": [calls_tool("t")]}, "end", tools=[t], **{list_of(hook): [honest]})

    ran = await by(entry, agent, "hi")

    assert not isinstance(ran.error, ProcessorError)


@pytest.mark.parametrize("where", ["first", "second"])
async def test_in_a_branch_the_one_that_wrote_is_named(where: str) -> None:
    effects = Effects.none()
    liar = Processor.of("liar", process_input=edits, effects=effects)
    honest = Processor.of("honest", process_input=lambda ctx: None, effects=effects)
    workflow = Workflow("w").parallel([liar, honest] if where == "first" else [honest, liar])

    with pytest.raises(ProcessorError, match="'liar'"):
        await workflow.run_on("hi")


async def test_holding_text_and_letting_it_go_writes_nothing() -> None:
    """`Window` declares that it writes nothing."""
    call = await run_on([Window("window", 3)], "hello world", hook="process_output_stream")
    assert call.text == "hello world"


async def test_an_edit_of_what_is_let_go_is_a_write() -> None:
    class Liar(Window):
        def _clear(self, ctx: Any, block: str, n: int) -> Any:
            return ctx.release(n, [(0, 1, "X")] if n else (), block=block)

    with pytest.raises(ProcessorError, match="does not write chunk"):
        await run_on([Liar("liar", 3)], "hello", hook="process_output_stream")


async def test_data_chunks_and_attempt_state_are_no_writes() -> None:
    async def tells(ctx: Any) -> None:
        ctx.attempt_state["n"] = 1
        await ctx.writer.custom("data-x", 1)
        ctx.warn("seen")

    call = await Processor.of("tells", process_input=tells, effects=Effects.none()).run_on("hi")
    assert (len(call.parts), len(call.violations)) == (1, 1)


async def test_one_that_goes_on_after_errors_leaves_no_trace_of_its_write() -> None:
    liar = Processor.of("liar", process_input=edits, effects=Effects.none(), on_error="continue")
    assert (await liar.run_on("hi")).text == "hi"


@pytest.mark.parametrize("later", [in_stream, in_stream_later])
@pytest.mark.parametrize("effects", [None, Effects(writes=["chunk"])], ids=["writer", "liar"])
async def test_in_the_stream_too_it_leaves_no_trace_of_what_it_wrote(later: Any, effects: Effects | None) -> None:
    """One that writes and then fails, or that may not write at all."""

    def writes(ctx: Any) -> None:
        edits(ctx)
        if effects is None:
            raise RuntimeError("boom")

    hooks = {"process_output_stream": later(writes), "finish_output_stream": later(writes)}
    failing = hooked("failing", hooks, effects=effects, on_error="continue")
    texts: list[str] = []
    last = hooked("last", {"process_output_result": lambda ctx: texts.append(ctx.message_list.all[0].text)})
    agent, _ = make_agent("hello", output_processors=[failing, last])

    result = await agent.generate("hi")

    assert (result.text, [m.text for m in result.response.messages], texts) == ("hello", ["hello"], ["hi"])


@pytest.mark.parametrize("honest_first", [True, False])
@pytest.mark.parametrize("later", [in_stream, in_stream_later])
async def test_a_neighbour_in_the_stream_is_not_blamed(later: Any, honest_first: bool) -> None:
    """Branches that run side by side in the stream have a list each, joined in list order."""
    seen: list[str] = []
    honest = hooked(
        "honest",
        {"process_output_stream": in_stream_later(lambda ctx: seen.append(ctx.messages[0].text))},
        effects=Effects.none(),
    )
    writer = hooked("writer", {"process_output_stream": later(lambda ctx: ctx.messages[0].parts.append(TextPart("+")))})
    last = hooked("last", {"process_output_result": lambda ctx: texts.append(ctx.message_list.all[0].text)})
    texts: list[str] = []
    gate = Workflow("w").parallel([honest, writer] if honest_first else [writer, honest])
    agent, _ = make_agent("hello", output_processors=[gate, last])

    await agent.generate("hi")

    # Each sees what its neighbour did with the chunks before, not with this one.
    assert seen == ["hi" + "+" * n for n in range(len(seen))]
    assert texts == ["hi" + "+" * len(seen)]


APART = (["sys", "A", "B"], {"A": "A", "B": "B"})
SAME = (("processor:A", "processor:B"), "w › parallel[0]")
PREFERRED = (["sys", "A", "B"], {"same": "B"})


@pytest.mark.parametrize(
    ("others", "prefer", "expected"),
    [(False, None, APART), (True, None, SAME), (True, "B", PREFERRED)],
    ids=["apart", "same", "preferred"],
)
async def test_what_branches_do_to_messages_in_the_stream_depends_on_their_order_alone(
    others: bool, prefer: str | None, expected: Any
) -> None:
    async def ends(first_s: float, second_s: float) -> Any:
        def adds(name: str, delay_s: float) -> Any:
            async def hook(ctx: Any) -> Any:
                if ctx.part.type == "text-start":
                    await anyio.sleep(delay_s)
                    ctx.message_list.add_system(name)
                    ctx.messages[0].metadata["same" if others else name] = name
                return ctx.part

            return hooked(name, {"process_output_stream": hook})

        seen: list[Any] = []
        last = hooked(
            "last",
            {"process_output_result": lambda ctx: seen.append((ctx.system_messages, ctx.message_list.all[0].metadata))},
        )
        gate = Workflow("w").parallel([adds("A", first_s), adds("B", second_s)])
        if prefer is not None:
            gate = gate.map(merge.prefer(f"processor:{prefer}"))
        agent, _ = make_agent("hello", output_processors=[gate, last])
        try:
            await agent.generate("hi")
        except MergeConflict as conflict:
            return conflict.keys, conflict.path
        (system, metadata), *_ = seen
        return [m.text for m in system], dict(metadata)

    assert await ends(0, 0.01) == await ends(0.01, 0) == expected
