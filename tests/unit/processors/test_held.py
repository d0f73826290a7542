"""Blocks that a processor holds text of: what names them, and how they are let go of."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from sluiceway import Agent, Processor, Workflow
from sluiceway.errors import ProcessorError
from sluiceway.messages import Chunk
from sluiceway.models import ScriptedModel
from sluiceway.processors._held import HeldText, block_key
from tests.support.models import ChunkModel, deltas
from tests.support.runs import collect

pytestmark = pytest.mark.anyio


def test_no_two_blocks_share_a_key() -> None:
    names = ["", "0", "reasoning:0", "text:0", "text:reasoning:0", "reasoning:reasoning:0", "text:text:0"]
    keys = [block_key(Chunk(f"{kind}-delta", {"id": name})) for kind in ("text", "reasoning") for name in names]
    assert len(set(keys)) == len(keys)
    assert [
        block_key(Chunk(f"{kind}-{what}", {"id": "7"})) for kind in ("text", "reasoning") for what in ("start", "end")
    ] == [
        "7",
        "7",
        "reasoning:7",
        "reasoning:7",
    ]


def holder(let_go: Any) -> Processor:
    """Return a processor that holds all text and reasoning to the end."""

    def hold(ctx: Any) -> Any:
        if ctx.part.type in ("text-delta", "reasoning-delta"):
            ctx.holding = True
            return None
        return ctx.part

    return Processor.of("holder", process_output_stream=hold, finish_output_stream=let_go)


@pytest.mark.parametrize(
    ("kind", "name", "block"),
    [
        ("reasoning", "r", "r"),
        ("reasoning", "r", "reasoning:r"),
        ("text", "t", "t"),
        ("text", "text:t", "text:t"),
        ("text", "reasoning:t", "reasoning:t"),
    ],
)
async def test_a_block_can_be_named_by_its_id(kind: str, name: str, block: str) -> None:
    chunks = [
        Chunk(f"{kind}-start", {"id": name}),
        Chunk(f"{kind}-delta", {"id": name, "text": "abc"}),
        Chunk("finish", {"reason": "stop"}),
    ]
    made = holder(lambda ctx: ctx.release(3, [(1, 2, "-")], block=block))
    ran = await collect(Agent(id="a", model=ChunkModel(chunks), output_processors=[made]), "hi")
    assert [c.text for c in ran.of(f"{kind}-delta")] == ["a-c"]


async def test_a_name_that_means_nothing_is_an_error() -> None:
    model = ChunkModel([*deltas("abc"), Chunk("finish", {"reason": "stop"})])
    made = holder(lambda ctx: ctx.release(3, block="other"))
    ran = await collect(Agent(id="a", model=model, output_processors=[made]), "hi")
    assert isinstance(ran.error, ProcessorError)
    assert "nothing of this block is kept" in str(ran.error.__cause__)


async def seconds_to_let_go(characters: int, *, nested: bool) -> float:
    """Return how long it takes to let go of a block one character at a time, at once."""

    def let_go(ctx: Any) -> list[Chunk]:
        return [chunk for _ in range(characters) for chunk in ctx.release(1, [(0, 1, "b")])]

    entry: Any = holder(let_go)
    if nested:
        entry = Workflow("w").parallel([entry, Processor.of("w2", process_output_stream=lambda ctx: ctx.part)]).commit()
    model = ChunkModel([*deltas(*"a" * characters), Chunk("finish", {"reason": "stop"})])
    agent = Agent(id="a", model=model, output_processors=[entry])
    started = time.process_time()
    ran = await collect(agent, "hi")
    assert ran.emitted == "b" * characters
    return time.process_time() - started


@pytest.mark.parametrize("nested", [False, True])
async def test_letting_go_piece_by_piece_costs_what_there_is(nested: bool) -> None:
    """Eight times the text takes some eight times as long, not sixty-four."""
    short = min([await seconds_to_let_go(500, nested=nested) for _ in range(3)])
    long = min([await seconds_to_let_go(4000, nested=nested) for _ in range(2)])
    assert long < 40 * short


class Redactor(Processor):
    """Writes `***` for `secret`, and keeps what could still become one."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def process_output_stream(self, ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            text = ctx.hold()
            self.seen.append(text)
            edits = [(found.start(), found.end(), "***") for found in re.finditer("secret", text)]
            at = edits[-1][1] if edits else 0
            tail = next((n for n in range(5, 0, -1) if text[at:].endswith("secret"[:n])), 0)
            return ctx.release(len(text) - tail, edits)
        if ctx.part.type == "text-end":
            return [*ctx.release(len(ctx.hold())), ctx.part]
        return ctx.part


@pytest.mark.parametrize("nested", [False, True])
async def test_the_text_that_is_held_can_be_read_and_let_go(nested: bool) -> None:
    redactor = Redactor()
    entry: Any = redactor
    if nested:
        entry = Workflow("w").parallel([entry, Processor.of("w2", process_output_stream=lambda ctx: ctx.part)]).commit()
    model = ScriptedModel([["a sec", "ret and", " two secre", "", "ts, se"]])
    ran = await collect(Agent("a", model=model, output_processors=[entry]), "hi")
    assert (ran.emitted, ran.result.text) == ("a *** and two ***s, se",) * 2
    assert redactor.seen == ["a sec", "secret and", " two secre", "secre", "secrets, se"]
    if not nested:
        assert [c.text for c in ran.of("text-delta")] == ["a ", "*** and", " two ", "***s, ", "se"]


async def test_holding_says_nothing_where_nothing_is_held() -> None:
    seen: list[str] = []
    made = Processor.of("p", process_output_stream=lambda ctx: (seen.append(ctx.hold()), ctx.part)[1])
    await collect(Agent("a", model=ChunkModel([Chunk("finish", {"reason": "stop"})]), output_processors=[made]), "hi")
    assert set(seen) == {""}


@pytest.mark.parametrize("stretches", [[9], [1, 8], [4, 5], [5, 4], [8, 1], [1] * 9])
def test_what_was_noted_beside_a_text_does_not_outlive_the_text(stretches: list[int]) -> None:
    """Such as the tokens of a delta, which spell what was taken out of it."""
    held = HeldText()
    for text in ("a sec", "ret b"):
        held.add(Chunk("text-delta", {"id": "1", "text": text, "provider_metadata": {"p": {"tokens": text}}}))
    out: list[Chunk] = []
    at = 0
    for length in stretches:  # `sec` and `ret` become `[S]` and nothing, each where it is released
        edits = [
            (max(2, at) - at, min(5, at + length) - at, "[S]" if at <= 2 else ""),
            (max(5, at) - at, min(8, at + length) - at, ""),
        ]
        out += held.release(length, [edit for edit in edits if edit[0] < edit[1]])
        at += length
    out += held.release(10 - at)

    assert "".join(chunk.text for chunk in out) == "a [S] b"
    assert [chunk.get("provider_metadata") for chunk in out if chunk.get("provider_metadata")] == []


def test_what_was_noted_beside_a_text_stays_with_its_end_where_nothing_was_changed() -> None:
    held = HeldText()
    for text in ("hello ", "world"):
        held.add(Chunk("text-delta", {"id": "1", "text": text, "provider_metadata": {"p": {"signed": text}}}))
    out = [*held.release(2), *held.release(5, [(4, 5, "W")]), *held.release(4)]
    assert [(chunk.text, chunk.get("provider_metadata")) for chunk in out] == [
        ("he", None),
        ("llo ", {"p": {"signed": "hello "}}),
        ("W", None),
        ("orld", None),
    ]
