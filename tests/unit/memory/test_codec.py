"""A message comes back from its row as it was."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sluiceway import Message
from sluiceway.errors import MessageError, StorageError
from sluiceway.memory import MessageRow
from sluiceway.memory._codec import decode, dumps, encode, is_edited
from sluiceway.messages import (
    DataPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    SourcePart,
    StepStartPart,
    TextPart,
    ToolPart,
    UnknownPart,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def test_every_part_and_field_survives() -> None:
    message = Message(
        role="assistant",
        parts=[
            TextPart("hi \x00 \ud83d 🙂", id="text-1", provider_metadata={"p": {"x": 1}}),
            ReasoningPart("why", provider_metadata={"p": {"signature": "s"}}),
            ToolPart("t", "c1", {"a": [1, {"b": None}]}, "result", {"n": 7}, model_output="seven"),
            ToolPart("t", "c2", {}, "error", error="broke"),
            ToolPart("search", "c3", {}, provider_executed=True),
            StepStartPart(),
            FilePart(b"\x00\xffbytes", "application/x", filename="f.bin"),
            ImagePart(url="https://example.org/i.png"),
            ImagePart("data:image/png;base64,aGk="),
            SourcePart("s1", "https://example.org", "Example"),
            DataPart("data-note", {"n": [1]}, id="d1"),
            UnknownPart("of-tomorrow", {"type": "of-tomorrow", "x": 1}),
        ],
        id="m1",
        metadata={"signal": {"transient": False}, "n": 1},
        created_at=NOW,
        thread_id="t1",
        resource_id="u1",
        attachments=[FilePart(b"a", filename="a.txt")],
        provider_metadata={"p": {"item": "i"}},
    )

    row = encode(message, "t1", parts=message.parts)
    back = decode(row, "u1")

    assert back.same_as(message)
    assert encode(back, "t1", parts=back.parts) == row
    assert (row.key, row.role, row.created_at) == (("t1", "m1"), "assistant", NOW)


def test_values_become_json() -> None:
    """What a tool returned may be anything; what is stored is what JSON makes of it."""
    args: Any = {"s": {3, 1}, 2: "two"}
    part = ToolPart("t", "c1", args, "result", (1, NOW, b"hi", float("nan")))

    back = decode(encode(Message(role="assistant", parts=[part], id="m"), "t", parts=[part]), None)

    tool: Any = back.parts[0]
    assert tool.args == {"s": [1, 3], "2": "two"}
    assert tool.result == [1, NOW.isoformat(), "aGk=", None]


def test_what_is_too_deep_is_a_message_error() -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]

    with pytest.raises(MessageError, match="nested too deep"):
        encode(Message("hi", metadata={"deep": deep}), "t", parts=[])


@pytest.mark.parametrize("name", ["a\0b", "half \ud83d"])
def test_an_id_that_no_database_holds_is_a_storage_error(name: str) -> None:
    with pytest.raises(StorageError, match=r"the message id .* cannot be stored"):
        encode(Message("hi", id=name), "t", parts=[])


@pytest.mark.parametrize("document", ["", "[]", "7", "{", "[" * 100_000])
def test_a_row_that_is_no_json_object_says_which(document: str) -> None:
    with pytest.raises(StorageError, match="message 'm1' of thread 't1' is stored as no"):
        decode(MessageRow("t1", "m1", "user", NOW, document), None)


def test_json_that_every_database_holds() -> None:
    assert dumps({"a": "ü🙂"}) == '{"a":"ü🙂"}'
    assert dumps({"a": "\0"}) == '{"a":"\\u0000"}'
    assert dumps({"a": "ü\ud83d"}) == '{"a":"\\u00fc\\ud83d"}'
    assert json.loads(dumps({"a": "ü\ud83d"})) == {"a": "ü\ud83d"}


def test_whether_processors_changed_it() -> None:
    message = Message("hi")
    assert is_edited(encode(message, "t", parts=message.parts, edited=True))
    assert not is_edited(encode(message, "t", parts=message.parts))


def test_another_time() -> None:
    message = Message("hi", created_at=NOW)
    later = datetime(2027, 1, 1, tzinfo=UTC)
    row = encode(message, "t", parts=message.parts)
    assert decode(row, None).created_at == NOW
    assert decode(row, None, later).created_at == later


def test_a_part_of_a_class_derived_from_ours_is_kept_as_ours() -> None:
    class Note(DataPart):
        pass

    message = Message(role="assistant", parts=[Note("data-note", {"n": 1})], created_at=NOW)

    row = encode(message, "t1", parts=message.parts)

    assert [(type(part), part.type) for part in decode(row, None).parts] == [(DataPart, "data-note")]
