"""`@guard`: a plain function of a text as a processor."""

from __future__ import annotations

from typing import Any

import anyio.lowlevel
import pytest

from sluiceway import Processor, guard
from sluiceway.errors import ConfigurationError, ProcessorError
from sluiceway.models import Reply
from sluiceway.processors import Allow, Block, Retry, Rewrite
from tests.support.processors import replace_text, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent

pytestmark = pytest.mark.anyio


def judging(verdict: Any, *surfaces: Any, waits: bool = False, seen: list[str] | None = None) -> Any:
    """Return a guard that gives one verdict on everything."""

    def decide(text: str) -> Any:
        if seen is not None:
            seen.append(text)
        return verdict

    async def decide_later(text: str) -> Any:
        await anyio.lowlevel.checkpoint()
        return decide(text)

    return guard(*surfaces, id="judge")(decide_later if waits else decide)


@each_entry
@pytest.mark.parametrize("waits", [False, True], ids=["def", "async def"])
@pytest.mark.parametrize("verdict", [True, None, Allow()], ids=["true", "none", "allow"])
async def test_a_verdict_that_passes_changes_nothing(entry: Entry, verdict: Any, waits: bool) -> None:
    """On input and output."""
    agent, model = make_agent(["a", "b"], **lists(judging(verdict, "input", "output", waits=waits)))

    ran = await by(entry, agent, "hi")

    assert (ran.result.text, lines(model.prompts[0])[-1]) == ("ab", "user: hi")
    assert ran.result.edited_after_stream is False


def lists(processor: Any) -> dict[str, list[Any]]:
    """Return both lists with one processor."""
    return {"input_processors": [processor], "output_processors": [processor]}


@each_entry
@pytest.mark.parametrize("surface", ["input", "output", "tool-result"])
@pytest.mark.parametrize(
    ("verdict", "reason", "metadata"),
    [(False, None, None), (Block("no way"), "no way", None), (Block("no", {"k": 1}), "no", {"k": 1})],
)
async def test_a_verdict_that_blocks_ends_the_run(
    entry: Entry, surface: str, verdict: Any, reason: str | None, metadata: Any
) -> None:
    """With the reason of the verdict, or one that names the guard."""
    judge = judging(verdict, surface)
    where = {"input_processors": [judge]} if surface == "input" else {"output_processors": [judge]}
    replies = [Reply(tool_calls=[calls_tool("t")]), "x"] if surface == "tool-result" else [["secret", " text"]]
    agent, _ = make_agent(*replies, tools=[tool_named("t")], **where)

    ran = await by(entry, agent, "hi")

    trip = ran.result.tripwire
    assert trip is not None
    assert (trip.processor_id, trip.metadata) == ("judge", metadata)
    assert trip.reason == reason if reason else "judge" in trip.reason
    if entry == "stream":
        assert ran.emitted == ""


@each_entry
async def test_a_rewrite_replaces_the_text_on_every_surface(entry: Entry) -> None:
    """The model reads the rewritten input and result, the reader the rewritten answer."""
    seen: list[str] = []

    @guard("input", "output", "tool-result")
    def shout(text: str) -> Rewrite:
        seen.append(text)
        return Rewrite(text.upper())

    agent, model = make_agent(
        Reply(text=["lo", "ok"], tool_calls=[calls_tool("t")]),
        ["do", "ne"],
        tools=[tool_named("t", "found")],
        **lists(shout),
    )

    ran = await by(entry, agent, "hi")

    assert lines(model.prompts[1])[1:] == ["user: HI", "assistant: LOOK + t({})#c1", 'tool: c1 -> "FOUND"']
    assert (ran.result.text, ran.result.edited_after_stream) == ("LOOKDONE", False)
    assert seen == ["hi", "look", "found", "done"]
    if entry == "stream":
        assert ran.emitted == "LOOKDONE"


async def test_output_is_held_until_its_block_is_whole() -> None:
    """The function sees the whole text once, and the reader gets nothing before."""
    trace: list[str] = []

    @guard("output")
    def look(text: str) -> bool:
        trace.append(f"judged {text}")
        return True

    agent, _ = make_agent(["a", "b", "c"], output_processors=[look])

    async with agent.stream("hi") as stream:
        async for text in stream.text():
            trace.append(text)  # noqa: PERF401 - in between the verdicts

    assert trace[0] == "judged abc"
    assert "".join(trace[1:]) == "abc"


@each_entry
async def test_output_that_a_later_hook_changed_is_judged_again(entry: Entry) -> None:
    """What passed on the stream is not looked at twice; what a step hook made of it is."""
    seen: list[str] = []

    @guard("output")
    def judge(text: str) -> Any:
        seen.append(text)
        return Block("no") if "secret" in text else True

    def spoil(ctx: Any) -> None:
        replace_text(ctx.messages, "fine", "secret")

    agent, _ = make_agent("fine", output_processors=[judge, Processor.of("spoil", process_output_step=spoil)])
    harmless, _ = make_agent("fine", output_processors=[judge])

    spoilt, unspoilt = await by(entry, agent, "hi"), await by(entry, harmless, "hi")

    assert spoilt.result.tripwire is not None
    assert spoilt.result.text == ""
    assert unspoilt.result.text == "fine"
    assert seen == ["fine", "secret", "fine"]


@each_entry
async def test_a_retry_asks_the_model_again(entry: Entry) -> None:
    """With the reason as feedback; the rejected text is not delivered."""

    @guard("output")
    def polite(text: str) -> Any:
        return Retry("say please") if "please" not in text else True

    agent, model = make_agent("give", "give please", output_processors=[polite], max_processor_retries=1)

    ran = await by(entry, agent, "hi")

    assert ran.result.text == "give please"
    assert "say please" in lines(model.prompts[1])[1]
    if entry == "stream":
        assert ran.emitted == "give please"


@each_entry
async def test_the_function_may_ask_for_the_context(entry: Entry) -> None:
    """As its second parameter."""

    @guard("input")
    def tenant(text: str, ctx: Any) -> Any:
        return Rewrite(f"{ctx.request_context['tenant']}: {text}")

    agent, model = make_agent("ok", input_processors=[tenant])

    await by(entry, agent, "hi", request_context={"tenant": "acme"})

    assert lines(model.prompts[0])[-1] == "user: acme: hi"


@each_entry
async def test_a_guard_that_fails_closes_the_gate(entry: Entry) -> None:
    """Its exception is one of a processor, and no text is out."""

    @guard("output")
    def broken(text: str) -> bool:
        raise ValueError("kaput")

    agent, _ = make_agent(["a", "b"], output_processors=[broken])

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert (ran.error.processor_id, str(ran.error.__cause__), ran.emitted) == ("broken", "kaput", "")


@pytest.mark.parametrize("verdict", ["yes", 0, 1, [], {"blocked": True}])
async def test_a_verdict_of_another_kind_is_an_error(verdict: Any) -> None:
    """Neither is it taken for a yes."""
    agent, _ = make_agent("secret", output_processors=[judging(verdict, "output")])

    ran = await collect(agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert ran.emitted == ""


@pytest.mark.parametrize("surfaces", [(), ("outputs",), ("input", "screen")])
def test_a_guard_of_nothing_is_refused(surfaces: tuple[Any, ...]) -> None:
    """The error says what there is."""
    with pytest.raises(ConfigurationError, match="'input', 'output', 'tool-result'"):
        guard(*surfaces)(lambda text: True)
