"""`AuditTrail`: what it tells, where, and what it does not."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest

from sluiceway.engine import use_clock
from sluiceway.errors import ConfigurationError
from sluiceway.processors import (
    AuditEvent,
    AuditTrail,
    HookEvent,
    ModerationProcessor,
    PIIDetector,
    Processor,
    RegexFilterProcessor,
    RegexRule,
)
from tests.support.judges import FlagsWord, Told
from tests.support.runs import make_agent
from tests.support.workflows import FakeClock

pytestmark = pytest.mark.anyio


def short(events: list[AuditEvent]) -> list[tuple[Any, ...]]:
    return [(e.hook, e.status, e.rule, e.part, e.offset, e.length) for e in events]


async def test_edits_and_verdicts_are_told_with_their_place() -> None:
    events: list[AuditEvent] = []
    agent, _ = make_agent("ok", input_processors=[PIIDetector(redaction_method="placeholder")])
    clock = FakeClock()
    with use_clock(clock):
        result = await agent.generate("I am ann@x.org", observer=AuditTrail(events.append))
    assert short(events) == [
        ("process_input", "skipped", None, None, None, None),
        ("process_input", "flagged", "email", None, 5, 9),
        ("process_input", "edited", None, 0, 5, 9),
    ]
    assert {(e.run_id, e.processor_id, e.path, e.attempt, e.time) for e in events} == {
        (result.run_id, "pii-detector", "processor:pii-detector", 0, clock.now())
    }
    assert "ann@x.org" not in str(events)


async def test_a_block_and_what_was_not_checked() -> None:
    events: list[AuditEvent] = []
    broken = ModerationProcessor(id="broken", detector=Told(OSError("gone")), error_strategy="warn", surfaces=["text"])
    agent, _ = make_agent(
        ["so f", "oul"],
        input_processors=[broken],
        output_processors=[ModerationProcessor(detector=FlagsWord("foul", "hate"))],
    )
    await agent.generate("hi", observer=AuditTrail(events.append))
    assert [(e.processor_id, e.hook, e.status, e.rule, e.offset, e.length, e.reason) for e in events] == [
        ("broken", "process_input", "skipped", None, None, None, None),
        (
            "broken",
            "process_input",
            "not checked",
            None,
            None,
            None,
            "processor 'broken' could not check 1 text(s): OSError",
        ),
        ("moderation", "process_output_stream", "blocked", "hate", 0, 7, "hate found in the answer"),
    ]


async def test_what_passed_is_told_once_per_hook_unless_that_is_not_wanted() -> None:
    for passed, statuses in ((True, ["passed", "passed"]), (False, [])):
        events: list[AuditEvent] = []
        agent, _ = make_agent(["o", "k"], output_processors=[PIIDetector()])
        await agent.generate("hi", observer=AuditTrail(events.append, passed=passed))
        assert [event.status for event in events] == statuses


async def test_the_result_says_what_passed_too() -> None:
    agent, _ = make_agent(
        ["o", "k"], input_processors=[PIIDetector(surfaces=["text"])], output_processors=[PIIDetector(id="b")]
    )
    result = await agent.generate("hi")
    assert [(e.processor_id, e.hook, e.status) for e in result.audit] == [
        ("pii-detector", "process_input", "skipped"),
        ("pii-detector", "process_input", "passed"),
        ("b", "process_output_stream", "passed"),
    ]


async def test_values_are_told_only_where_both_sides_ask_for_them() -> None:
    rules = [RegexRule("badge", "EMP-[0-9]+")]
    for asked, wanted, told in ((False, True, None), (True, False, None), (True, True, "EMP-12")):
        events: list[AuditEvent] = []
        guard = RegexFilterProcessor(rules=rules, strategy="warn", phase="input", include_redacted_values=asked)
        agent, _ = make_agent("ok", input_processors=[guard])
        await agent.generate("EMP-12", observer=AuditTrail(events.append, values=wanted, passed=False))
        flagged = next(event for event in events if event.status == "flagged")
        assert (flagged.detail or {}).get("value") == told


async def test_what_a_processor_of_ones_own_reports_is_not_believed_to_be_free_of_values() -> None:
    events: list[AuditEvent] = []
    own = Processor.of("own", process_input=lambda ctx: ctx.warn("odd", {"text": "secret", "types": ["x"]}))
    agent, _ = make_agent("ok", input_processors=[own])
    await agent.generate("hi", observer=AuditTrail(events.append))
    assert [(e.status, e.reason, e.detail) for e in events] == [("flagged", "odd", {"types": ["x"]})]


async def test_a_file_gets_a_line_per_event(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    agent, _ = make_agent("ok", input_processors=[PIIDetector(surfaces=["text"])])
    with AuditTrail(path=path) as trail:
        await agent.generate("I am ann@x.org", observer=trail)
    await agent.generate("hi", observer=trail)
    trail.close()
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["status"] for line in lines] == ["skipped", "flagged", "edited", "skipped", "passed"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert "ann@x.org" not in path.read_text(encoding="utf-8")


async def test_a_file_that_cannot_be_written_is_logged_and_fails_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent, _ = make_agent("ok", input_processors=[PIIDetector()])
    result = await agent.generate("hi", observer=AuditTrail(path=tmp_path / "no" / "audit.jsonl"))
    assert result.text == "ok"
    assert "the observer of run" in caplog.text


async def test_one_who_is_told_and_fails_keeps_nothing_from_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[AuditEvent] = []

    def fails(event: Any) -> None:
        if isinstance(event, AuditEvent):
            told.append(event)
        raise OSError("no room")

    path = tmp_path / "audit.jsonl"
    agent, _ = make_agent("ok", input_processors=[PIIDetector()])
    with AuditTrail(fails, path=path, also=fails) as trail:
        await agent.generate("ann@x.org", observer=trail)
    await agent.generate("ann@x.org", observer=AuditTrail(fails, path=tmp_path / "no" / "audit.jsonl"))

    assert [event.status for event in told] == ["skipped", "flagged", "edited"] * 2
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3
    assert "no room" in caplog.text
    assert "ann@x.org" not in caplog.text


async def test_a_file_that_was_moved_away_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    agent, _ = make_agent("ok", input_processors=[PIIDetector()])
    with AuditTrail(path=path, passed=False) as trail:
        await agent.generate("ann@x.org", observer=trail)
        path.rename(tmp_path / "audit.jsonl.1")
        await agent.generate("ann@x.org", observer=trail)
        path.unlink()
        await agent.generate("ann@x.org", observer=trail)

    for name in ("audit.jsonl", "audit.jsonl.1"):
        assert len((tmp_path / name).read_text(encoding="utf-8").splitlines()) == 3


async def test_a_line_that_found_no_room_spoils_none_of_those_after_it(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    hooks: list[HookEvent] = []
    agent, _ = make_agent("ok", input_processors=[PIIDetector()])
    await agent.generate("ann@x.org", observer=hooks.append)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with AuditTrail(path=path, passed=False) as trail:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
        try:
            for _ in range(2):
                with pytest.raises(OSError, match="File too large"):
                    trail(hooks[0])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        size = path.stat().st_size
        trail(hooks[0])

    before, after = path.read_bytes()[:size], path.read_bytes()[size:]
    assert size == 500
    assert not before.endswith(b"\n")
    assert [json.loads(line)["status"] for line in after[1:].splitlines()] == ["skipped", "flagged", "edited"]


async def test_another_observer_still_gets_its_events() -> None:
    seen: list[HookEvent] = []
    agent, _ = make_agent("ok", input_processors=[PIIDetector()])
    await agent.generate("hi", observer=AuditTrail(also=seen.append))
    assert [event.hook for event in seen] == ["process_input"]


def test_options_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="on_event=3"):
        AuditTrail(3)  # pyright: ignore[reportArgumentType]


async def test_an_edit_says_what_became_how_long() -> None:
    events: list[AuditEvent] = []
    cuts = Processor.of("cuts", process_input=lambda ctx: ctx.messages[0].parts[0].edit(0, 5, "hi"))
    agent, _ = make_agent("ok", input_processors=[cuts])
    await agent.generate("hello there", observer=AuditTrail(events.append))
    (edited,) = [event for event in events if event.status == "edited"]
    assert (edited.part, edited.offset, edited.length) == (0, 0, 5)
    assert edited.detail == {"action": "edit", "new_length": 2, "what": "text"}
