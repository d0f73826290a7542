"""Area A: guards that look at windows, and deltas put together."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from sluiceway import Agent, Processor
from sluiceway.messages import Chunk
from sluiceway.models import Reply
from sluiceway.processors import BatchPartsProcessor, ModerationProcessor
from tests.support.judges import FlagsWord, Judge, scores
from tests.support.models import ChunkModel
from tests.support.runs import calls_tool, collect, make_agent

pytestmark = pytest.mark.anyio


async def test_b011_each_window_is_asked_about_with_its_own_text() -> None:
    """In a second run of the same guard too; its options do not change."""
    judge = Judge(scores(hate=0.0))
    guard = ModerationProcessor(model=judge, window_chars=4)
    before = {name: copy.copy(value) for name, value in vars(guard).items()}

    for text in ("aaaabbbbcc", "ddddee"):
        agent, _ = make_agent([text], output_processors=[guard])
        await agent.generate("hi")

    assert judge.texts == ["aaaa", "bbbb", "cc", "dddd", "ee"]
    assert vars(guard) == before


async def test_b013_a_batch_keeps_block_and_run() -> None:
    agent, _ = make_agent(["a", "b"], output_processors=[BatchPartsProcessor(batch_size=2)])
    ran = await collect(agent, "hi")

    (delta,) = ran.of("text-delta")
    assert (delta.text, delta.get("id"), delta.run_id) == ("ab", "text-1", ran.result.run_id)


async def test_b014_a_batch_is_of_one_block() -> None:
    deltas = [Chunk("text-delta", {"id": block, "text": text}) for block, text in ("Aa", "Ab", "Bc", "Ad")]
    model = ChunkModel([*deltas, Chunk("finish", {"reason": "stop"})])
    ran = await collect(Agent(id="a", model=model, output_processors=[BatchPartsProcessor(batch_size=2)]), "hi")

    assert [(c.get("id"), c.text) for c in ran.of("text-delta")] == [("A", "ab"), ("B", "c"), ("A", "d")]


async def test_b016_nothing_is_lost_where_the_run_stops_at_a_tool_result() -> None:
    """The text comes before the call and the result, and the guard behind the batch has seen both."""

    def one() -> int:
        """Give one."""
        return 1

    seen: list[str] = []

    def look(ctx: Any) -> Any:
        if ctx.part.type in ("text-delta", "tool-result"):
            seen.append(ctx.part.text or str(ctx.part.get("result")))
        return ctx.part

    agent, _ = make_agent(
        Reply(text="x", tool_calls=[calls_tool("one")]),
        tools=[one],
        output_processors=[BatchPartsProcessor(batch_size=9), Processor.of("look", process_output_stream=look)],
        stop_when=lambda steps: bool(steps[-1].tool_results),
    )
    ran = await collect(agent, "hi")

    assert [c.text or c.type for c in ran.of("text-delta", "tool-call", "tool-result")] == [
        "x",
        "tool-call",
        "tool-result",
    ]
    assert seen == ["x", "1"]


async def test_b022_a_guard_asks_once_per_window() -> None:
    """186 deltas, a call per 400 characters; together the windows are the whole answer."""
    deltas = [f"word{n:03d} " for n in range(186)]
    judge = Judge(scores(hate=0.0))
    agent, _ = make_agent(deltas, output_processors=[ModerationProcessor(model=judge)])
    ran = await collect(agent, "hi")

    whole = "".join(deltas)
    assert len(judge.texts) == math.ceil(len(whole) / 400)
    assert "".join(judge.texts) == ran.emitted == whole


async def test_b022_the_last_window_is_checked_before_the_end() -> None:
    agent, _ = make_agent(
        ["fine " * 80, "foul"], output_processors=[ModerationProcessor(detector=FlagsWord("foul", "hate"))]
    )
    ran = await collect(agent, "hi")

    assert (ran.emitted, ran.result.text, ran.result.finish_reason) == ("fine " * 80, "", "other")


@pytest.mark.parametrize("surfaces", [None, ["text"]])
async def test_b024_what_is_not_looked_at_is_not_called_clean(surfaces: Any) -> None:
    """A surface that is on is looked at; one that is off is in the audit as skipped."""
    seen: list[str] = []
    guard = ModerationProcessor(
        detector=FlagsWord("foul", "hate"),
        strategy="warn",
        surfaces=surfaces,
        on_violation=lambda v: seen.append(v.message),
    )
    chunks = [
        Chunk("reasoning-delta", {"id": "r", "text": "foul"}),
        Chunk("reasoning-end", {"id": "r"}),
        Chunk("tool-call", {"tool_call_id": "c", "tool_name": "t", "args": {"a": "foul"}, "provider_executed": True}),
        Chunk("object", {"object": {"a": "foul"}, "final": True}),
        Chunk("finish", {"reason": "stop"}),
    ]
    agent = Agent(id="a", model=ChunkModel(chunks), output_processors=[guard])
    ran = await collect(agent, "hi")

    skipped = [entry.detail for entry in ran.result.audit if entry.status == "skipped"]
    if surfaces is None:
        assert [message.partition(" found")[2] for message in seen][:3] == [
            " in the answer",
            " in the arguments of 't'",
            " in the object",
        ]
        assert skipped == []
    else:
        assert seen == []
        assert skipped == [{"surfaces": ["reasoning", "tool-args", "tool-results", "object"]}]
