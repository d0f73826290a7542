"""What a guardrail has flagged is nowhere: not in the stream, the result, prompts, storage, logs or events."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from sluiceway import Processor, Workflow
from sluiceway.models import Reply
from sluiceway.processors import PIIDetector
from tests.support.memory import ON, kept, remembering
from tests.support.processors import hooked, tool_named
from tests.support.runs import Entry, Ran, by, calls_tool, each_entry

pytestmark = pytest.mark.anyio

CARD, MAIL = "4111 1111 1111 1111", "ann.secret@corp.test"
PIECES = ("4111 1111", "1111 1111", "ann.secret", "secret@")


def plain(detector: Any) -> Any:
    """Return a detector as it is."""
    return detector


def inside(detector: Any) -> Any:
    """Return a detector in a workflow."""
    return Workflow("w").then(detector).commit()


def beside(detector: Any) -> Any:
    """Return a detector beside a check that finds nothing, with a map that picks the detector."""
    idle = hooked("idle", dict.fromkeys(("process_input", "process_output_result"), _same))
    branches = Workflow("w").parallel([detector, idle])
    return branches.map("processor:pii-detector").commit()


def _same(ctx: Any) -> None:
    """Change nothing."""


def stops(how: str) -> Processor:
    """Return a processor behind the detector that ends the run, or asks for another try."""

    def step(ctx: Any) -> None:
        if how == "error":
            raise ValueError(f"cannot work with {ctx.text!r}")
        if how == "tripwire" or (how == "retry" and ctx.retry_count == 0):
            ctx.abort("no", retry=how == "retry")

    return Processor.of("stops", process_output_step=step)


@each_entry
@pytest.mark.parametrize("form", [plain, inside, beside])
@pytest.mark.parametrize("end", ["answer", "retry", "tripwire", "error", "broken off"])
async def test_flagged_text_is_nowhere(entry: Entry, form: Any, end: str, caplog: pytest.LogCaptureFixture) -> None:
    """In the question, the answer cut in two, its reasoning, a call's arguments and a tool's result."""
    events: list[Any] = []
    told: list[Any] = []
    detector = PIIDetector(on_violation=told.append)
    calling = Reply(
        text=["card 4111 1111", " 1111 1111 of ann.sec", "ret@corp.test, I look. "],
        reasoning=["mail ann.secret", "@corp.test"],
        tool_calls=[calls_tool("look", {"who": {"mail": MAIL, "card": [CARD]}})],
        stream_error="connection lost" if end == "broken off" else None,
    )
    agent, model, memory = remembering(
        calling,
        calling if end == "retry" else f"found {MAIL}.",
        f"found {MAIL}.",
        tools=[tool_named("look", {"mail": MAIL, "note": f"card {CARD}"})],
        input_processors=[form(detector)],
        output_processors=[form(detector), stops(end)],
        max_processor_retries=1,
    )

    with caplog.at_level(logging.DEBUG):
        ran = await by(entry, agent, f"I am {MAIL}, {CARD}", memory=ON, observer=events.append)

    places = {
        "chunks": [dict(chunk.payload) for chunk in ran.chunks],
        "error": [ran.error, getattr(ran.error, "__cause__", None)],
        "result": ran.ended_with,
        "ui": [] if ran.ended_with is None else ran.ended_with.response.ui_messages,
        "messages": [] if ran.ended_with is None else [m.to_dict() for m in ran.ended_with.response.messages],
        "prompts": model.prompts,
        "stored": await kept(memory),
        "log": caplog.text,
        "events": events,
        "violations": told,
    }
    assert [(place, piece) for place, held in places.items() for piece in PIECES if piece in repr(held)] == []
    assert told != []
    assert_ended(ran, end)


def assert_ended(ran: Ran, end: str) -> None:
    """So that nothing is clean only because nothing happened."""
    if end in ("error", "broken off"):
        assert ran.error is not None
    elif end == "tripwire":
        assert ran.result.tripwire is not None
    else:
        assert ran.result.text.endswith(".test.")
        assert "****" in ran.result.text


@each_entry
@pytest.mark.parametrize("hold", [None, "step", "run"])
async def test_blocked_text_is_nowhere(entry: Entry, hold: Any, caplog: pytest.LogCaptureFixture) -> None:
    """With the strategy `block` the run ends before any of it is out, held or not."""
    events: list[Any] = []
    agent, model, memory = remembering(
        Reply(text=["the card is 4111 1111", " 1111 1111", " for you"]),
        output_processors=[PIIDetector(strategy="block")],
    )

    with caplog.at_level(logging.DEBUG):
        ran = await by(entry, agent, "hi", memory=ON, observer=events.append, hold=hold)

    assert ran.result.tripwire is not None
    assert await kept(memory) == []
    shown = repr([[dict(chunk.payload) for chunk in ran.chunks], ran.result, caplog.text, events])
    assert [piece for piece in PIECES if piece in shown] == []
    assert len(model.calls) == 1
