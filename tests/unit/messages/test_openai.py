"""Prompts as the OpenAI chat API takes them."""

from sluiceway.messages import (
    FilePart,
    ImagePart,
    Message,
    MessageList,
    ReasoningPart,
    StepStartPart,
    TextPart,
    ToolPart,
    output_text,
)


def test_a_conversation() -> None:
    messages = MessageList("hi", system=["sys"])
    messages.add(
        Message(
            role="assistant",
            parts=[
                ReasoningPart("why"),
                TextPart("let me "),
                TextPart("look"),
                ToolPart("f", "c1", {"q": "ü"}, "result", {"n": 1}),
                ToolPart("f", "c2", {}, "error", error="broke"),
                StepStartPart(),
                ToolPart("search", "s1", {}, "result", "found", provider_executed=True),
                TextPart("done"),
            ],
        )
    )

    def call(call_id: str, name: str, arguments: str) -> dict[str, object]:
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}

    assert messages.to_openai() == [
        {"role": "system", "content": "sys"},
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "let me look",
            "tool_calls": [call("c1", "f", '{"q": "ü"}'), call("c2", "f", "{}")],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"n": 1}'},
        {"role": "tool", "tool_call_id": "c2", "content": "broke"},
        {"role": "assistant", "content": "done", "tool_calls": [call("s1", "search", "{}")]},
        {"role": "tool", "tool_call_id": "s1", "content": "found"},
    ]
    assert messages.to_prompt().to_openai() == messages.to_openai()


def test_media() -> None:
    messages = MessageList()
    messages.add(
        Message(
            parts=[
                TextPart("see"),
                ImagePart("https://x.test/a.png", provider_metadata={"openai": {"detail": "low"}}),
                ImagePart(b"\x89PNG\r\n\x1a\n"),
                FilePart(b"RIFF", "audio/wav"),
                FilePart(b"%PDF-", filename="a.pdf"),
            ]
        )
    )
    assert messages.to_openai() == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                {
                    "type": "file",
                    "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"},
                },
            ],
        }
    ]


def test_reading_back_what_was_written_gives_the_same_again() -> None:
    messages = MessageList("hi")
    messages.add(
        Message(
            role="assistant",
            parts=[TextPart("a"), ToolPart("f", "c1", {"q": 1}, "result", "r"), StepStartPart(), TextPart("b")],
        )
    )
    once = messages.to_openai()
    back = MessageList(once)
    assert [[p.type for p in m.parts] for m in back.all] == [["text"], ["text", "tool", "step-start", "text"]]
    assert back.to_openai() == once


def test_output_as_text() -> None:
    assert [output_text(x) for x in ("a", 1, None, {"k": {1}})] == ["a", "1", "null", '{"k": [1]}']
