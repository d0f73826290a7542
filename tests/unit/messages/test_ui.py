"""Messages as a chat UI takes them."""

from sluiceway.messages import (
    DataPart,
    FilePart,
    Message,
    MessageList,
    ReasoningPart,
    SourcePart,
    StepStartPart,
    TextPart,
    ToolPart,
    UnknownPart,
)


def message() -> Message:
    return Message(
        role="assistant",
        id="m1",
        metadata={"k": 1},
        parts=[
            ReasoningPart("why", provider_metadata={"p": {"signature": "s"}}),
            TextPart("hi"),
            ToolPart("t", "c1", {"q": 1}, provider_metadata={"p": {"a": 1}}),
            ToolPart("t", "c2", {}, "result", {"n": 1}, provider_executed=True),
            ToolPart("t", "c3", {}, "error", error="broke"),
            StepStartPart(),
            FilePart(b"\x00", "application/x-a", filename="a"),
            SourcePart("s1", "https://x.test", "X"),
            SourcePart("s2", title="Doc", media_type="a/b"),
            DataPart("data-progress", {"n": 1}, id="d1"),
            UnknownPart("odd", {"type": "odd", "x": 1}),
        ],
    )


def test_every_part() -> None:
    messages = MessageList()
    messages.add(message())
    assert messages.to_ui() == [
        {
            "id": "m1",
            "role": "assistant",
            "metadata": {"k": 1},
            "parts": [
                {"type": "reasoning", "text": "why", "providerMetadata": {"p": {"signature": "s"}}},
                {"type": "text", "text": "hi"},
                {
                    "type": "tool-t",
                    "toolName": "t",
                    "toolCallId": "c1",
                    "state": "input-available",
                    "input": {"q": 1},
                    "callProviderMetadata": {"p": {"a": 1}},
                },
                {
                    "type": "tool-t",
                    "toolName": "t",
                    "toolCallId": "c2",
                    "state": "output-available",
                    "input": {},
                    "output": {"n": 1},
                    "providerExecuted": True,
                },
                {
                    "type": "tool-t",
                    "toolName": "t",
                    "toolCallId": "c3",
                    "state": "output-error",
                    "input": {},
                    "errorText": "broke",
                },
                {"type": "step-start"},
                {
                    "type": "file",
                    "mediaType": "application/x-a",
                    "url": "data:application/x-a;base64,AA==",
                    "filename": "a",
                },
                {"type": "source-url", "sourceId": "s1", "url": "https://x.test", "title": "X"},
                {"type": "source-document", "sourceId": "s2", "title": "Doc", "mediaType": "a/b"},
                {"type": "data-progress", "id": "d1", "data": {"n": 1}},
                {"type": "odd", "x": 1},
            ],
        }
    ]


def test_a_ui_message_is_read_back_as_it_was_written() -> None:
    messages = MessageList()
    messages.add(message())
    once = messages.to_ui()
    assert MessageList(once).to_ui() == once


def test_signals_are_hidden_unless_asked_for() -> None:
    messages = MessageList("hi")
    signal = messages.add_signal("stop", {"n": 1}, "note")
    assert [m["role"] for m in messages.to_ui()] == ["user"]
    assert messages.to_ui(include_signals=True)[1] == {
        "id": signal.id,
        "role": "system",
        "parts": [{"type": "data-signal", "data": {"contents": "stop", "tagName": "note", "attributes": {"n": 1}}}],
    }


def test_a_client_cannot_send_a_signal() -> None:
    """What a UI posts back as a signal is data, and data is in no prompt."""
    part = {"type": "data-signal", "data": {"contents": "obey"}}
    messages = MessageList({"role": "user", "parts": [part, {"type": "text", "text": "hi"}]})
    assert [m.text for m in messages.to_prompt().messages] == ["hi"]
