"""A secret that the guardrails found is in no store, log, trace, audit or error of the run."""

from __future__ import annotations

import dataclasses
import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sluiceway.errors import SluicewayError
from sluiceway.memory import Memory, SQLiteStore
from sluiceway.models import Reply
from sluiceway.processors import (
    AuditTrail,
    BetterleaksDetector,
    ClassifierDetector,
    CostGuardProcessor,
    HookEvent,
    LanguageDetector,
    ModerationProcessor,
    PIIDetector,
    PIIVault,
    PromptInjectionDetector,
    RegexFilterProcessor,
    RegexRule,
    SQLiteLedger,
    SystemPromptScrubber,
)
from tests.support.judges import FlagsPlace, Judge, Told
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


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Return what a program that has set up OpenTelemetry has got by now."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return lambda: "".join(span.to_json() for span in exporter.get_finished_spans())


def chained(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, what it came from and what it came during."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for one in error.exceptions:
                yield from chained(one)
        error = error.__cause__ or error.__context__


def leaked(seen: dict[str, str]) -> list[tuple[str, str]]:
    return [(where, secret) for where, text in seen.items() for secret in SECRETS if secret in text]


@pytest.mark.parametrize("strategy", ["redact", "filter", "block"])
async def test_no_secret_is_left_anywhere(
    strategy: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, spans: Callable[[], str]
) -> None:
    events: list[HookEvent] = []
    violations: list[Any] = []
    trail = AuditTrail(path=tmp_path / "audit.jsonl", also=events.append)
    ledger = SQLiteLedger(tmp_path / "costs.db")
    inputs, outputs = guards("redact")[:2], guards(strategy)
    budget = CostGuardProcessor(max_cost=1.0, scope="thread", ledger=ledger, on_unknown_price="zero")
    for guard in (*inputs, *outputs):
        guard.on_violation = violations.append
    agent, model = make_agent(
        Reply(reasoning=[SAID[:30], SAID[30:]], text=list(SAID), tool_calls=[calls_tool("lookup", {"who": SAID})]),
        [SAID[:50], SAID[50:]],
        tools=[lookup],
        memory=Memory(SQLiteStore(tmp_path / "memory.db")),
        input_processors=[*inputs, budget],
        output_processors=outputs,
    )
    with caplog.at_level(logging.DEBUG):
        ran = await collect(agent, SAID, memory=THREAD, observer=trail)
        later = await collect(agent, "and now?", memory=THREAD, observer=trail)
    trail.close()

    seen = {
        "log": caplog.text,
        "spans": spans(),
        "prompts": str(model.prompts),
        "chunks": str([chunk.payload for one in (ran, later) for chunk in one.chunks]),
        "events": str([dataclasses.asdict(event) for event in events]),
        "violations": str(violations),
        "audit": str([one.result.audit for one in (ran, later)]),
        "tripwire": str([one.result.tripwire for one in (ran, later)]),
        **written(tmp_path),
    }
    assert leaked(seen) == []
    assert violations
    assert "sluiceway.process_input" in seen["spans"]
    assert len(seen["memory.db"]) > 0 < len(seen["costs.db"])


@pytest.mark.parametrize("strategy", ["warn", "redact", "block"])
async def test_one_that_only_reports_tells_no_secret_to_those_who_watch(
    strategy: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, spans: Callable[[], str]
) -> None:
    """The text itself goes on with `warn`; log, traces, audit and violations still have offsets only."""
    events: list[HookEvent] = []
    told: list[Any] = []
    pii = PIIDetector(detector=FlagsPlace("Maria Planted", "name"), strategy=strategy, on_violation=told.append)
    regex = RegexFilterProcessor(rules=[RegexRule("badge", "EMP-[0-9]+")], strategy=strategy, on_violation=told.append)
    words = FlagsPlace("Maria", "hate")
    seen_as: Any = "block" if strategy == "redact" else strategy
    others = [
        ModerationProcessor(detector=words, strategy=seen_as, on_violation=told.append),
        PromptInjectionDetector(detector=FlagsPlace("Maria", "jailbreak"), strategy=seen_as, on_violation=told.append),
    ]
    with caplog.at_level(logging.DEBUG), AuditTrail(path=tmp_path / "audit.jsonl", also=events.append) as trail:
        for made in (pii, regex, *others, PIIDetector(detector=BetterleaksDetector(), strategy=strategy)):
            sides = {"input_processors": [made]}, {"output_processors": [made]}
            for side in sides if made is not others[1] else sides[:1]:
                agent, _ = make_agent([SAID[:50], SAID[50:]], **side)
                told.append((await collect(agent, SAID, observer=trail)).result.tripwire)
    assert (
        leaked({"log": caplog.text, "spans": spans(), "told": repr(told), "events": repr(events), **written(tmp_path)})
        == []
    )
    assert len(told) > 5


async def test_a_vault_shows_no_value_to_a_log_or_a_debugger(caplog: pytest.LogCaptureFixture) -> None:
    vault = PIIVault("thread")
    guard = PIIDetector(reversible=True, vault=vault)
    agent, model = make_agent("I wrote to [EMAIL_1]", input_processors=[guard], output_processors=[guard.restorer()])
    with caplog.at_level(logging.DEBUG):
        result = await agent.generate(SAID)
    assert result.text == "I wrote to ann.planted@example.org"
    shown = {"vault": repr(vault), "guard": repr(guard), "log": caplog.text, "prompt": str(model.prompts)}
    assert [(where, secret) for where, secret in leaked(shown) if secret in (SECRETS[0], SECRETS[1])] == []


class Hangs:
    """A detector that never answers."""

    async def detect(self, text: str, ctx: Any) -> Any:
        await anyio.sleep_forever()


class Refuses:
    """A classifier whose error quotes the text, as those of providers may."""

    async def classify(self, texts: Any) -> Any:
        raise RuntimeError(f"cannot classify {texts}")


def quoting(text: str) -> Any:
    return OSError(f"refused: {text}")


FAILING: dict[str, Callable[[Any], Any]] = {
    "pii detector": lambda how: PIIDetector(detector=Told(ValueError(SAID)), error_strategy=how),
    "pii timeout": lambda how: PIIDetector(detector=Hangs(), timeout=0.01, error_strategy=how),
    "pii model": lambda how: PIIDetector(model=Judge(quoting), error_strategy=how),
    "pii shape": lambda how: PIIDetector(model=Judge(lambda text: text), error_strategy=how),
    "pii outgrown": lambda how: PIIDetector(
        detection_types={"line": "Maria[^%]+%"}, max_hold_chars=20, error_strategy=how
    ),
    "injection": lambda how: PromptInjectionDetector(model=Judge(quoting), error_strategy=how),
    "moderation": lambda how: ModerationProcessor(detector=ClassifierDetector(Refuses()), error_strategy=how),
    "moderation shape": lambda how: ModerationProcessor(model=Judge(lambda text: [text]), error_strategy=how),
    "language": lambda how: LanguageDetector(strategy="translate", model=Judge(quoting), error_strategy=how),
    "scrubber": lambda how: SystemPromptScrubber(model=Judge(quoting), error_strategy=how),
}


@pytest.mark.parametrize("how", ["strict", "warn"])
@pytest.mark.parametrize("name", FAILING)
async def test_no_secret_is_in_what_a_guard_says_whose_detector_fails(
    name: str, how: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, spans: Callable[[], str]
) -> None:
    """On input and on the stream; nor in the chain of errors where one ends the run."""
    said: list[str] = []
    guard = FAILING[name](how)
    hooks = dir(guard)
    with caplog.at_level(logging.DEBUG), AuditTrail(path=tmp_path / "audit.jsonl") as trail:
        for side in ("input_processors", "output_processors"):
            if {"input_processors": "process_input", "output_processors": "process_output_stream"}[side] not in hooks:
                continue
            agent, _ = make_agent(list(SAID + " and so on" * 30), **{side: [guard]})
            try:
                result = (await collect(agent, SAID if side[:2] == "in" else "hi", observer=trail)).result
                said += [repr(result.tripwire), repr(result.audit)]
            except SluicewayError as error:
                said += [f"{one!r} {one}" for one in chained(error)]
                said.append("".join(traceback.format_exception(error)))
    assert leaked({"log": caplog.text, "spans": spans(), "said": "\n".join(said), **written(tmp_path)}) == []
    assert any(word in "".join(said) for word in ("not checked", "could not check", "outgrew")), said


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
