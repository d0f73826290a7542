"""The audit as spans of OpenTelemetry, where a program has set that up."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.processors import AuditTrail, PIIDetector
from tests.support.runs import make_agent

pytestmark = pytest.mark.anyio


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has the spans that were made."""
    sdk: Any = pytest.importorskip("opentelemetry.sdk.trace")
    export: Any = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    simple: Any = pytest.importorskip("opentelemetry.sdk.trace.export")
    from opentelemetry import trace

    exporter = export.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(simple.SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


async def test_a_span_says_which_call_of_which_hook_it_is(exporter: Any) -> None:
    agent, _ = make_agent("ok", output_processors=[PIIDetector(id="out")])
    result = await agent.generate("hi", observer=AuditTrail())
    span = next(span for span in exporter.get_finished_spans() if span.name == "sluiceway.process_output_stream")
    assert dict(span.attributes) == {
        "sluiceway.run_id": result.run_id,
        "sluiceway.processor_id": "out",
        "sluiceway.path": "processor:out",
        "sluiceway.step_number": 0,
        "sluiceway.attempt": 0,
        "sluiceway.outcome": "passed",
    }


async def test_each_hook_is_a_span_with_an_event_per_verdict(exporter: Any) -> None:
    agent, _ = make_agent("ok", input_processors=[PIIDetector(surfaces=["text"])])
    result = await agent.generate("I am ann@x.org", observer=AuditTrail())

    (span,) = exporter.get_finished_spans()
    assert span.name == "sluiceway.process_input"
    assert span.attributes["sluiceway.run_id"] == result.run_id
    assert [(event.name, dict(event.attributes).get("offset")) for event in span.events] == [
        ("skipped", None),
        ("flagged", 5),
        ("edited", 5),
    ]
    assert "ann@x.org" not in span.to_json()
