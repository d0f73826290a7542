"""`RegexFilterProcessor`."""

from __future__ import annotations

import time
from typing import Any

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.processors import RegexFilterProcessor, RegexRule
from sluiceway.processors.detectors import _custom
from tests.support.runs import collect, lines, make_agent

pytestmark = pytest.mark.anyio

BADGE = RegexRule("badge", r"EMP-[0-9]{6}", "<badge>")


async def test_redact_puts_the_rules_replacement_in() -> None:
    rules = [BADGE, {"name": "code", "pattern": ["Falcon"]}]
    made = RegexFilterProcessor(rules=rules, strategy="redact")
    agent, model = make_agent(["falc", "on and EMP-", "123456."], input_processors=[made], output_processors=[made])
    ran = await collect(agent, "I am EMP-654321")
    assert lines(model.prompts[0])[-1] == "user: I am <badge>"
    assert ran.emitted == ran.result.text == "[REDACTED] and <badge>."


async def test_block_reports_places_and_never_values() -> None:
    agent, _ = make_agent(["so EMP-12", "3456"], output_processors=[RegexFilterProcessor(rules=[BADGE])])
    ran = await collect(agent, "hi")
    assert ran.emitted == "so "
    assert ran.result.tripwire is not None
    assert ran.result.tripwire.metadata == {
        "types": ["badge"],
        "detections": [{"rule": "badge", "offset": 3, "length": 10}],
    }


async def test_values_are_reported_where_that_is_wanted() -> None:
    seen: list[Any] = []
    made = RegexFilterProcessor(
        rules=[BADGE], strategy="warn", include_redacted_values=True, on_violation=lambda v: seen.append(v.detail)
    )
    agent, _ = make_agent(["x EMP-123456"], input_processors=[made], output_processors=[made])
    await agent.generate("I am EMP-654321")
    assert [[entry["value"] for entry in detail] for detail in seen] == [["EMP-654321"], ["EMP-123456"]]


@pytest.mark.parametrize(
    ("phase", "asked", "answered"),
    [("all", "[REDACTED]", "[REDACTED]"), ("input", "[REDACTED]", "b@x.org"), ("output", "a@x.org", "[REDACTED]")],
)
async def test_phase_says_which_side_is_looked_at(phase: Any, asked: str, answered: str) -> None:
    made = RegexFilterProcessor(presets=["pii"], strategy="redact", phase=phase)
    agent, model = make_agent("b@x.org", input_processors=[made], output_processors=[made])
    ran = await collect(agent, "a@x.org")
    assert (lines(model.prompts[0])[-1], ran.emitted, ran.result.text) == (f"user: {asked}", answered, answered)


@pytest.mark.parametrize(
    ("preset", "text"),
    [("secrets", "AKIAIOSFODNN7EXAMPLE"), ("urls", "https://x.org/a?b=1"), ("pii", "4111 1111 1111 1111")],
)
async def test_presets(preset: Any, text: str) -> None:
    agent, _ = make_agent("ok", input_processors=[RegexFilterProcessor(presets=[preset])])
    assert (await agent.generate(f"see {text} there")).finish_reason == "other"
    assert (await agent.generate("see it there")).text == "ok"


@pytest.mark.parametrize("strategy", ["strict", "warn"])
async def test_a_pattern_that_blows_up_is_stopped(
    strategy: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the time it has, not in two hundred years."""
    monkeypatch.setattr(_custom, "_TIMEOUT_S", 0.1)
    made = RegexFilterProcessor(
        rules=[RegexRule("bomb", r"(?:a|aa|aaa|aaaa)+(?:a|aa|aaa|aaaa)+(?:a|aa)+c$")], error_strategy=strategy
    )
    agent, _ = make_agent("ok", input_processors=[made])
    started = time.monotonic()
    result = await agent.generate("a" * 4000 + "b")
    assert time.monotonic() - started < 5
    assert (result.text, [entry.status for entry in result.audit][:2]) == (
        ("", ["skipped", "not checked"]) if strategy == "strict" else ("ok", ["skipped", "not checked"])
    )
    assert ("let through" in caplog.text) == (strategy == "warn")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "nothing to look for"),
        ({"rules": "x"}, "give a list of RegexRule"),
        ({"rules": [{"pattern": "x"}]}, r"rules\[0\] must be a RegexRule"),
        ({"rules": [RegexRule("a", "x"), RegexRule("a", "y")]}, "two rules are called 'a'"),
        ({"rules": [RegexRule("a", "(")]}, "no valid pattern"),
        ({"rules": [RegexRule("a", "x*")]}, "empty text"),
        ({"rules": [RegexRule("a", "x", 3)]}, "replacement must be a text"),  # pyright: ignore[reportArgumentType]
        ({"presets": ["all"]}, "presets does not know 'all'"),
        ({"presets": ["pii"], "phase": "both"}, "phase='both'"),
    ],
)
def test_options_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        RegexFilterProcessor(**options)


async def test_a_group_with_a_name_does_not_name_the_rule() -> None:
    seen: list[Any] = []
    rule = RegexRule("badge", r"(?P<number>EMP-[0-9]{6})")
    agent, _ = make_agent(
        "EMP-123456",
        output_processors=[RegexFilterProcessor(rules=[rule], strategy="redact", on_violation=seen.append)],
    )
    await agent.generate("hi")
    assert [violation.detail for violation in seen] == [[{"rule": "badge", "offset": 0, "length": 10}]]
