"""Area E, what of it concerns storage."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.errors import StorageError
from sluiceway.memory import InMemoryStore, Memory, Turn
from tests.support.memory import ON, kept, remembering
from tests.support.processors import hooked
from tests.support.runs import Entry, by, collect, each_entry

pytestmark = pytest.mark.anyio


async def notes(ctx: Any) -> Any:
    """Write a data part that stays and one that does not."""
    if ctx.part.type == "text-delta":
        await ctx.writer.custom("data-note", {"n": 1})
        await ctx.writer.custom("data-tmp", {"n": 2}, transient=True)
    return ctx.part


@each_entry
async def test_b093_a_data_part_is_saved_unless_it_is_transient(entry: Entry) -> None:
    agent, _, memory = remembering("hi", output_processors=[hooked("notes", {"process_output_stream": notes})])

    ran = await by(entry, agent, "go", memory=ON)

    assert (await kept(memory))[1] == ("assistant", "data-note", "hi")
    [data] = [part for part in (await memory.recall("t1"))[1].parts if part.type == "data-note"]
    assert data.data == {"n": 1}  # pyright: ignore[reportAttributeAccessIssue]
    if entry == "stream":
        assert [chunk.type for chunk in ran.of("data-note", "data-tmp")] == ["data-note", "data-tmp"]


class Full(InMemoryStore):
    """A store that cannot be written."""

    async def save_turn(self, turn: Turn) -> None:
        raise StorageError("there is no space left on the disk")


async def test_b093_a_save_that_fails_takes_nothing_back_from_the_stream() -> None:
    memory = Memory(Full())
    agent, _, _ = remembering(
        "hi", memory=memory, output_processors=[hooked("notes", {"process_output_stream": notes})]
    )

    ran = await collect(agent, "go", memory=ON)

    assert isinstance(ran.error, StorageError)
    assert [c.type for c in ran.of("data-note", "data-tmp", "error", "finish")] == [
        "data-note",
        "data-tmp",
        "error",
        "finish",
    ]
    assert ran.chunks[-1].get("reason") == "error"
    assert ran.emitted == "hi"
    assert await kept(memory) == []
