"""The audit as spans of OpenTelemetry, where a program has set that up."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.processors import AuditTrail, PIIDetector
from tests.support.runs import make_agent

pytestmark = pytest.mark.anyio


async def test_each_hook_is_a_span_with_an_event_per_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    sdk: Any = pytest.importorskip("opentelemetry.sdk.trace")
    export: Any = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    simple: Any = pytest.importorskip("opentelemetry.sdk.trace.export")
    from opentelemetry import trace

    exporter = export.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(simple.SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)

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
