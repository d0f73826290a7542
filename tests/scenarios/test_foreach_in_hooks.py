"""`foreach` in a list of processors: per message, joined in order."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway import Processor, Workflow
from tests.support.runs import Entry, by, each_entry, make_agent

pytestmark = pytest.mark.anyio

SAID = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "two"},
    {"role": "user", "content": "three"},
]


def prompt_of(model: Any) -> list[str]:
    return [message.text for message in model.prompts[0].messages if message.role != "system"]


@each_entry
@pytest.mark.parametrize("concurrency", [1, 3])
async def test_each_message_is_worked_on_by_itself_and_the_edits_join(entry: Entry, concurrency: int) -> None:
    """A hook sees one message; all edits are in the prompt, in order."""
    seen: list[list[str]] = []

    async def shout(ctx: Any) -> None:
        seen.append([message.text for message in ctx.messages])
        for _ in range(3 - len(seen)):
            await anyio.lowlevel.checkpoint()
        for message in ctx.messages:
            for part in message.parts:
                part.text = part.text.upper()

    flow = Workflow("w").foreach(Processor.of("shout", process_input=shout), concurrency=concurrency)
    agent, model = make_agent("ok", input_processors=[flow])

    await by(entry, agent, SAID)

    assert seen == [["one"], ["two"], ["three"]]
    assert prompt_of(model) == ["ONE", "TWO", "THREE"]


@each_entry
async def test_an_abort_for_one_message_ends_the_run(entry: Entry) -> None:
    def check(ctx: Any) -> None:
        if ctx.messages[0].text == "two":
            ctx.abort("not this one")

    flow = Workflow("w").foreach(Processor.of("check", process_input=check))
    agent, model = make_agent("ok", input_processors=[flow])

    ran = await by(entry, agent, SAID)

    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.processor_id, ran.result.tripwire.reason) == ("check", "not this one")
    assert model.calls == []
