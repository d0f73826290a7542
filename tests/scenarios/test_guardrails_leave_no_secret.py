"""A secret that the guardrails found is in no store, log, trace, audit or error of the run."""

from __future__ import annotations

import dataclasses
import logging
import traceback
from pathlib import Path
from typing import Any

import pytest

from sluiceway.errors import SluicewayError
from sluiceway.memory import Memory, SQLiteStore
from sluiceway.models import Reply
from sluiceway.processors import (
    AuditTrail,
    HookEvent,
    LanguageDetector,
    ModerationProcessor,
    PIIDetector,
    PromptInjectionDetector,
    RegexFilterProcessor,
    RegexRule,
    SystemPromptScrubber,
)
from tests.support.judges import FlagsPlace, Told
from tests.support.runs import calls_tool, collect, make_agent
from tests.support.storing import THREAD

pytestmark = pytest.mark.anyio

SECRETS = ("ann.planted@example.org", "4111 1111 1111 1111", "EMP-424242", "Maria Planted", "AKIAIOSFODNN7PLANTED")
SAID = "I am Maria Planted, ann.planted@example.org, card 4111 1111 1111 1111, badge EMP-424242, AKIAIOSFODNN7PLANTED"


def guards(strategy: Any) -> list[Any]:
    names = FlagsPlace("Maria Planted", "name")
    regex: Any = "redact" if strategy == "filter" else strategy
    return [
        PIIDetector(detector=names, strategy=strategy),
        RegexFilterProcessor(rules=[RegexRule("badge", "EMP-[0-9]+")], strategy=regex),
        SystemPromptScrubber(strategy=strategy),
    ]


def written(folder: Path) -> dict[str, str]:
    return {path.name: path.read_bytes().decode("latin-1") for path in folder.iterdir()}


def lookup(who: str) -> dict[str, Any]:
    """Look somebody up."""
    return {"found": SAID, "by": who}


@pytest.mark.parametrize("strategy", ["redact", "block"])
async def test_no_secret_is_left_anywhere(strategy: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    events: list[HookEvent] = []
    violations: list[Any] = []
    trail = AuditTrail(path=tmp_path / "audit.jsonl", also=events.append)
    inputs, outputs = guards("redact")[:2], guards(strategy)
    for guard in (*inputs, *outputs):
        guard.on_violation = violations.append
    agent, model = make_agent(
        Reply(reasoning=[SAID[:30], SAID[30:]], text=list(SAID), tool_calls=[calls_tool("lookup", {"who": SAID})]),
        [SAID[:50], SAID[50:]],
        tools=[lookup],
        memory=Memory(SQLiteStore(tmp_path / "memory.db")),
        input_processors=inputs,
        output_processors=outputs,
    )
    with caplog.at_level(logging.DEBUG):
        ran = await collect(agent, SAID, memory=THREAD, observer=trail)
        later = await collect(agent, "and now?", memory=THREAD, observer=trail)
    trail.close()

    seen = {
        "log": caplog.text,
        "prompts": str(model.prompts),
        "chunks": str([chunk.payload for one in (ran, later) for chunk in one.chunks]),
        "events": str([dataclasses.asdict(event) for event in events]),
        "violations": str(violations),
        "audit": str([one.result.audit for one in (ran, later)]),
        "tripwire": str([one.result.tripwire for one in (ran, later)]),
        **written(tmp_path),
    }
    found = [(where, secret) for where, text in seen.items() for secret in SECRETS if secret in text]
    assert found == []
    assert violations


async def test_no_secret_is_in_what_a_failing_guard_says(caplog: pytest.LogCaptureFixture) -> None:
    """Neither where the detector's own error quotes the text, nor in the one that ends the run."""
    said: list[str] = []
    for made in (
        ModerationProcessor(detector=Told(ValueError(f"cannot read {SAID}")), error_strategy="warn"),
        ModerationProcessor(detector=Told(ValueError(f"cannot read {SAID}"))),
        PromptInjectionDetector(detector=Told(OSError(SAID))),
        LanguageDetector(detector=Told(OSError(SAID))),
    ):
        agent, _ = make_agent("ok", input_processors=[made])
        with caplog.at_level(logging.DEBUG):
            try:
                said.append(str((await agent.generate(SAID)).audit))
            except SluicewayError as error:
                said.append("".join(traceback.format_exception(error)))
    assert len(said) == 4
    assert [secret for secret in SECRETS if secret in caplog.text or secret in "".join(said)] == []
