"""Messages: how they are built, copied, compared and stored."""

from datetime import UTC, datetime, timedelta
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


def every_part() -> list[Part]:
    return [
        TextPart("text", id="t1", provider_metadata={"p": {"a": 1}}),
        ReasoningPart("why", provider_metadata={"p": {"signature": "s"}}),
        ToolPart("t", "c1", {"q": [1]}),
        ToolPart("t", "c2", {}, "result", {"n": 1}, model_output="one", provider_executed=True),
        ToolPart("t", "c3", {}, "error", error="broke"),
        FilePart(b"\x00\xff", "application/x-a", filename="a"),
        ImagePart("https://x.test/a.png"),
        SourcePart("s1", "https://x.test", "X"),
        DataPart("data-progress", {"n": 1}, id="d1", transient=True),
        StepStartPart(),
        UnknownPart("audio-clip", {"type": "audio-clip", "seconds": 3}),
    ]


def test_a_str_is_the_text_of_a_user() -> None:
    message = Message("hi")
    assert (message.role, message.text, [p.type for p in message.parts]) == ("user", "hi", ["text"])
    assert message.id != Message("hi").id
    assert message.created_at.tzinfo is UTC


def test_a_chat_dict_with_list_content() -> None:
    message = Message(
        {
            "role": "user",
            "id": "m1",
            "content": [
                {"type": "text", "text": "look: "},
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
                {"type": "input_text", "text": "what is it?"},
                {"type": "hologram", "frames": 2},
            ],
            "metadata": {"k": 1},
        }
    )
    assert (message.id, message.text, message.metadata) == ("m1", "look: what is it?", {"k": 1})
    assert [p.type for p in message.parts] == ["text", "image", "text", "hologram"]
    assert message.parts[1].provider_metadata == {"openai": {"detail": "low"}}


def test_tool_calls_of_an_assistant_dict_in_both_spellings() -> None:
    message = Message(
        {
            "role": "assistant",
            "content": "let me see",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"q": "x"}'}},
                {"id": "c2", "name": "g", "args": {"n": 1}},
            ],
        }
    )
    calls = [(p.tool_call_id, p.tool_name, p.args) for p in message.parts if isinstance(p, ToolPart)]
    assert calls == [("c1", "f", {"q": "x"}), ("c2", "g", {"n": 1})]
    assert message.parts[0].type == "text"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"role": "system", "content": "x"}, "role: a dict of role 'system' is no message"),
        ({"role": "robot", "content": "x"}, "user, assistant or signal, not 'robot'"),
        ({"content": 7}, "content: content is a str or a list of parts, not int"),
        ({"content": [7]}, r"content\[0\]: expected a dict, got int"),
        ({"content": ["a", {"text": "b"}]}, r"content\[1\]: a part is a dict with a `type`"),
        ({"content": [{"type": "text", "text": 7}]}, r"content\[0\]: `text` is a str, not int"),
        ({"content": [{"type": "image_url"}]}, r"content\[0\]: an image needs a URL"),
        ({"content": [{"type": "file"}]}, r"content\[0\]: a file needs a URL"),
        (
            {"content": [{"type": "file", "data": "A", "mediaType": "x/y"}]},
            r"content\[0\]: The data of a file are neither",
        ),
        ({"tool_calls": [{"id": "c"}]}, r"tool_calls\[0\]: `tool_name` is missing"),
        (
            {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{"}}]},
            r"tool_calls\[0\]: the arguments of the tool call are not valid JSON",
        ),
        ({"tool_calls": "x"}, "tool_calls: `tool_calls` is a list, not str"),
        ({"content": "x", "created_at": "soon"}, "created_at: 'soon' is no time"),
    ],
)
def test_a_bad_shape_says_where(content: dict[str, Any], says: str) -> None:
    with pytest.raises(MessageError, match=says):
        Message(content)


def test_a_chat_dict_gives_all_its_fields_in_every_spelling() -> None:
    file = {"type": "file", "url": "https://x.test/a", "media_type": "text/a"}
    for files, created in (("attachments", "created_at"), ("experimental_attachments", "createdAt")):
        message = Message(
            {
                "role": "user",
                "content": "hi",
                "id": "m",
                "metadata": {"k": 1},
                "providerOptions": {"p": {"k": 1}},
                files: [file],
                created: "2024-01-02T00:00:00Z",
            }
        )
        assert message.to_dict() == {
            "id": "m",
            "role": "user",
            "parts": [{"type": "text", "text": "hi"}],
            "created_at": "2024-01-02T00:00:00+00:00",
            "metadata": {"k": 1},
            "thread_id": None,
            "resource_id": None,
            "attachments": [file],
            "provider_metadata": {"p": {"k": 1}},
        }


@pytest.mark.parametrize("name", ["contentType", "media_type", "mediaType"])
def test_an_attachment_without_a_type_is_a_file(name: str) -> None:
    given = {"url": "https://x.test/a", "name": "n", name: "text/a"}
    message = Message({"content": "hi", "attachments": [given, FilePart(b"ii", "text/b")]})
    assert message.to_dict()["attachments"] == [
        {"type": "file", "media_type": "text/a", "url": "https://x.test/a", "filename": "n"},
        {"type": "file", "media_type": "text/b", "data": "aWk="},
    ]


def test_what_no_attachment_can_be_made_of_says_which() -> None:
    with pytest.raises(MessageError, match=r"^attachments\[1\]: an attachment is a file part or a dict, not int\.$"):
        Message({"content": "hi", "attachments": [FilePart(b"ii", "text/b"), 7]})


@pytest.mark.parametrize(
    "given",
    [
        datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
        datetime(2024, 1, 2, 3, 4, 5),  # noqa: DTZ001
        "2024-01-02T03:04:05Z",
        "2024-01-02T03:04:05",
        "2024-01-02T05:04:05+02:00",
        1704164645,
        1704164645.0,
    ],
)
def test_a_time_in_every_form(given: Any) -> None:
    assert Message({"content": "hi", "created_at": given}).created_at == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_message_shows_what_it_is() -> None:
    assert repr(Message("hi", id="m")) == "Message('user', 'hi', id='m')"
    assert repr(Message("x" * 60, id="m")) == f"Message('user', '{'x' * 60}', id='m')"
    assert repr(Message("x" * 61, id="m")) == f"Message('user', '{'x' * 60}'…, id='m')"


def test_a_new_message_has_an_id_of_its_own() -> None:
    ids = {Message("hi").id for _ in range(10)}
    assert len(ids) == 10
    assert all(one.startswith("msg_") for one in ids), ids


def test_a_part_belongs_to_one_message() -> None:
    first = Message("hi")
    second = Message(parts=first.parts)
    second.parts[0].edit(0, 2, "yo")  # pyright: ignore[reportAttributeAccessIssue]
    assert (first.text, second.text) == ("hi", "yo")


def test_its_text_parts_are_those_that_a_model_reads_and_can_be_edited() -> None:
    message = Message(parts=every_part(), attachments=[TextPart("beside"), FilePart(b"x", "a/b")])
    texts = message.text_parts
    assert [type(part) for part in texts] == [TextPart] * len(texts)
    assert [part.text for part in texts] == [message.text, "beside"]
    for part in texts:
        part.text = part.text.upper()
    assert [part.text for part in message.text_parts] == [message.text.upper(), "BESIDE"]


def test_replace_copies_and_keeps_the_id() -> None:
    message = Message("hi", metadata={"k": [1]}, thread_id="t1")
    new = message.replace(parts=[*message.parts, TextPart("!")], metadata={"k": [2]})
    assert (new.id, new.text, new.metadata, new.thread_id) == (message.id, "hi!", {"k": [2]}, "t1")
    assert new.created_at == message.created_at
    new.parts[0].edit(0, 2, "yo")  # pyright: ignore[reportAttributeAccessIssue]
    assert (message.text, message.metadata) == ("hi", {"k": [1]})
    assert message.replace(thread_id=None).thread_id is None


def test_a_copy_is_the_same_and_shares_nothing() -> None:
    message = Message(parts=every_part(), metadata={"k": [1]}, attachments=[FilePart(b"x", "a/b")])
    copy = message.copy()
    assert copy.same_as(message)
    copy.metadata["k"].append(2)
    assert not copy.same_as(message)
    assert message.metadata == {"k": [1]}
    assert {id(p) for p in copy.parts}.isdisjoint({id(p) for p in message.parts})


def test_a_time_without_a_zone_is_utc() -> None:
    assert Message("x", created_at=datetime(2024, 1, 2)).created_at == datetime(2024, 1, 2, tzinfo=UTC)  # noqa: DTZ001
    with pytest.raises(MessageError, match="created_at is a datetime"):
        Message("x").created_at = "now"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_record_gives_the_same_message_back() -> None:
    message = Message(
        role="assistant",
        parts=every_part(),
        metadata={"k": [1]},
        thread_id="t1",
        resource_id="u1",
        created_at=datetime.now(UTC) - timedelta(days=1),
        attachments=[ImagePart(b"\x89PNG\r\n\x1a\n", filename="x.png")],
        provider_metadata={"p": {"id": "x"}},
    )
    back = Message.from_dict(message.to_dict())
    assert back.same_as(message)
    assert back.to_dict() == message.to_dict()


def test_a_record_is_json() -> None:
    class Model:
        def model_dump(self) -> dict[str, Any]:
            return {"at": datetime(2024, 1, 2, tzinfo=UTC), "n": float("nan")}

    message = Message(role="assistant", parts=[ToolPart("t", "c", {"1": {2: {3}}}, "result", Model())])
    assert message.to_dict()["parts"] == [
        {
            "type": "tool",
            "tool_name": "t",
            "tool_call_id": "c",
            "args": {"1": {"2": [3]}},
            "state": "result",
            "result": {"at": "2024-01-02T00:00:00+00:00", "n": None},
        }
    ]


def test_missing_fields_of_a_record_are_empty() -> None:
    message = Message.from_dict({"id": "m1", "role": "assistant"})
    assert (message.id, message.role, message.parts, message.text, message.metadata) == (
        "m1",
        "assistant",
        [],
        "",
        {},
    )


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"parts": "x"}, "parts: expected a list of parts, got str"),
        ({"parts": [{"type": "tool"}]}, r"parts\[0\]: The tool_name and the tool_call_id"),
        (
            {"parts": [{"type": "tool", "tool_name": "t", "tool_call_id": "c", "state": "done"}]},
            r"parts\[0\]: unknown state 'done'",
        ),
        ({"parts": [{"type": "text", "text": 1}]}, r"parts\[0\]: `text` is a str"),
        ({"role": "robot"}, "not 'robot'"),
        ({"id": 7}, "The id of a message is a str"),
        (["x"], "record: expected a dict, got list"),
    ],
)
def test_a_bad_record_says_where(record: Any, says: str) -> None:
    with pytest.raises(MessageError, match=says):
        Message.from_dict(record)
