"""Parts as records, and records as parts: every field there and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluiceway.errors import MessageError
from sluiceway.messages import (
    DataPart,
    FilePart,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    SourcePart,
    StepStartPart,
    TextPart,
    ToolPart,
    UnknownPart,
)

META = {"p": {"k": 1}}


def ended(result: Any = None, *, model_output: Any = ..., error: str | None = None) -> ToolPart:
    part = ToolPart("f", "c", {"a": 1})
    if error is not None:
        part.set_error(error)
    elif model_output is ...:
        part.set_result(result)
    else:
        part.set_result(result, model_output)
    return part


def tool(**more: Any) -> dict[str, Any]:
    return {"type": "tool", "tool_name": "f", "tool_call_id": "c", "args": {"a": 1}, "state": "call", **more}


CASES: list[tuple[Part, dict[str, Any]]] = [
    (TextPart("a"), {"type": "text", "text": "a"}),
    (
        TextPart("a", id="t", provider_metadata=META),
        {"type": "text", "text": "a", "id": "t", "provider_metadata": META},
    ),
    (ReasoningPart("a", id="r"), {"type": "reasoning", "text": "a", "id": "r"}),
    (ToolPart("f", "c", {"a": 1}), tool()),
    (ToolPart("f", "c", {"a": 1}, provider_executed=True), tool(provider_executed=True)),
    (ended([1]), tool(state="result", result=[1])),
    (ended([1], model_output="one"), tool(state="result", result=[1], model_output="one")),
    (ended([1], model_output=None), tool(state="result", result=[1], model_output=None)),
    (ended(error="no"), tool(state="error", error="no")),
    (
        FilePart(b"ii", "text/a", filename="n"),
        {"type": "file", "media_type": "text/a", "data": "aWk=", "filename": "n"},
    ),
    (
        FilePart(url="https://x.test/a", media_type="text/a"),
        {"type": "file", "media_type": "text/a", "url": "https://x.test/a"},
    ),
    (
        ImagePart(url="https://x.test/a", media_type="image/png", filename="n"),
        {"type": "image", "media_type": "image/png", "url": "https://x.test/a", "filename": "n"},
    ),
    (ImagePart(b"ii", "image/png"), {"type": "image", "media_type": "image/png", "data": "aWk="}),
    (SourcePart("s"), {"type": "source", "id": "s"}),
    (
        SourcePart("s", "https://x.test", "T", media_type="text/a", filename="n"),
        {
            "type": "source",
            "id": "s",
            "url": "https://x.test",
            "title": "T",
            "media_type": "text/a",
            "filename": "n",
        },
    ),
    (DataPart("data-x", [1]), {"type": "data-x", "data": [1]}),
    (DataPart("data-x", [1], id="d", transient=True), {"type": "data-x", "data": [1], "id": "d", "transient": True}),
    (StepStartPart(provider_metadata=META), {"type": "step-start", "provider_metadata": META}),
    (UnknownPart("clip", {"s": 1}), {"type": "unknown", "of": "clip", "data": {"s": 1}}),
]


@pytest.mark.parametrize(("part", "expected"), CASES, ids=[json.dumps(expected) for _, expected in CASES])
def test_a_part_is_this_record_and_the_record_is_this_part(part: Part, expected: dict[str, Any]) -> None:
    written = Message(role="assistant", parts=[part.copy()], id="m").to_dict()
    assert written["parts"] == [expected]
    back = Message.from_dict(json.loads(json.dumps(written)))
    assert back.parts[0].same_as(part)
    assert back.to_dict() == written


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"type": "tool", "tool_name": "f", "tool_call_id": "c"}, {**tool(), "args": {}}),
        ({**tool(), "args": None}, {**tool(), "args": {}}),
        ({**tool(), "state": "error"}, tool(state="error", error="")),
        ({"type": "data-x"}, {"type": "data-x", "data": None}),
        ({"type": "unknown", "data": 1}, {"type": "unknown", "of": "unknown", "data": 1}),
        ({"type": "text"}, {"type": "text", "text": ""}),
        # What is no record of ours is read like what a chat dict holds.
        ({"type": "source", "sourceId": "s"}, {"type": "source", "id": "s"}),
        ({"type": "source", "source_id": "s"}, {"type": "source", "id": "s"}),
        ({"type": "source", "source": {"id": "s"}}, {"type": "source", "id": "s"}),
        (
            {"type": "file", "file_data": "data:text/a;base64,aWk="},
            {"type": "file", "media_type": "text/a", "url": "data:text/a;base64,aWk="},
        ),
        (
            {"type": "file", "data": "data:text/a;base64,aWk="},
            {"type": "file", "media_type": "text/a", "url": "data:text/a;base64,aWk="},
        ),
        ({"type": "clip", "s": 1}, {"type": "unknown", "of": "clip", "data": {"type": "clip", "s": 1}}),
    ],
)
def test_a_record_that_says_less_or_otherwise(record: dict[str, Any], expected: dict[str, Any]) -> None:
    message = Message.from_dict({"role": "assistant", "parts": [record]})
    assert message.to_dict()["parts"] == [expected]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({**tool(), "state": "gone"}, "parts[0]: unknown state 'gone' of a tool part"),
        ({"type": "text", "text": 3}, "parts[0]: `text` is a str, not int."),
        (3, "parts[0]: expected a dict, got int."),
    ],
)
def test_a_broken_record_says_where(record: Any, message: str) -> None:
    with pytest.raises(MessageError) as caught:
        Message.from_dict({"role": "assistant", "parts": [record]})
    assert str(caught.value) == message
