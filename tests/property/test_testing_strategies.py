"""What the strategies promise of what they make."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluiceway import Agent, Workflow
from sluiceway.errors import ModelError
from sluiceway.messages import Chunk, Message, MessageList, ToolPart
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import run_on
from sluiceway.testing import assert_split_invariant, behaving, strategies

EXAMPLES = settings(max_examples=40)


@EXAMPLES
@given(strategies.texts().flatmap(lambda text: st.tuples(st.just(text), strategies.cuts(text))))
def test_a_cut_leaves_nothing_out_and_has_no_empty_piece(case: tuple[str, list[str]]) -> None:
    text, pieces = case
    assert ("".join(pieces), "" in pieces) == (text, False)


@EXAMPLES
@given(strategies.conversations())
def test_every_call_of_a_conversation_has_its_result_and_an_id_of_its_own(messages: list[Message]) -> None:
    calls = [part for message in messages for part in message.parts if isinstance(part, ToolPart)]
    assert [call.state for call in calls if call.state == "call"] == []
    assert len({call.tool_call_id for call in calls}) == len(calls)
    assert messages[-1].role == "user"
    MessageList(messages).to_prompt()


@EXAMPLES
@given(strategies.chunk_streams())
def test_blocks_of_a_stream_open_and_close_once_and_the_end_is_the_end(chunks: list[Chunk]) -> None:
    opened: list[Any] = []
    for chunk in chunks:
        if chunk.type.endswith("-start"):
            assert chunk.get("id") not in opened
            opened.append(chunk.get("id"))
    for block in opened:
        types = [chunk.type.partition("-")[2] for chunk in chunks if chunk.get("id") == block and "-" in chunk.type]
        assert (types[0], types[-1], set(types[1:-1]) <= {"delta"}) == ("start", "end", True)
    assert [chunk.type for chunk in chunks].index("finish") == len(chunks) - 1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@EXAMPLES
@given(strategies.workflows(), strategies.conversations())
def test_a_workflow_of_the_strategies_runs(backend: str, workflow: Workflow, messages: list[Message]) -> None:
    async def run() -> Any:
        return await run_on([workflow], messages)

    call = anyio.run(run, backend=backend)
    assert call.tripwire is None or "THE END" in "".join(message.text for message in messages).upper()


@EXAMPLES
@given(strategies.model_scripts(), strategies.delays())
def test_a_script_ends_with_an_answer(replies: list[Reply], delay_s: float) -> None:
    assert (replies[-1].error, replies[-1].stream_error, 0 <= delay_s <= 0.01) == (None, None, True)

    async def run() -> None:
        agent = Agent(id="a", model=ScriptedModel(replies))
        for _ in replies:
            try:
                await agent.generate("x")
            except ModelError:
                continue

    anyio.run(run)


@EXAMPLES
@given(strategies.messages(), strategies.parts())
def test_messages_survive_being_stored(message: Message, part: Any) -> None:
    assert Message.from_dict(message.to_dict()).to_dict() == message.to_dict()
    assert part.copy().type == part.type


@settings(max_examples=10, suppress_health_check=[HealthCheck.nested_given])
@given(strategies.chains("output", most=1))
def test_the_processors_of_the_strategies_do_not_depend_on_the_cut(chain: list[Any]) -> None:
    assert_split_invariant(chain[0], examples=20)


def test_behaviours_do_what_they_are_called() -> None:
    async def run(name: str) -> Any:
        return await run_on([behaving(name)], "a 1@ THE END")

    calls = {name: anyio.run(run, name) for name in ("pass", "upper", "digits", "spaces", "at-signs", "warn", "block")}
    assert {name: call.text for name, call in calls.items() if call.tripwire is None} == {
        "pass": "a 1@ THE END",
        "upper": "A 1@ THE END",
        "digits": "a #@ THE END",
        "spaces": "a_1@_THE_END",
        "at-signs": "a 1(at) THE END",
        "warn": "a 1@ THE END",
    }
    assert (len(calls["warn"].violations), calls["block"].tripwire.reason) == (1, "it ended")
