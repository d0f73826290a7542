"""Every spelling of a part that the usual APIs have, read into the same part."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.errors import MessageError
from sluiceway.messages import Message

META = {"p": {"k": 1}}
PNG = "data:image/png;base64,aWk="
TEXT = "data:text/a;base64,aWk="


def record(item: Any) -> dict[str, Any]:
    """The one part of an assistant's message with this in its content, as a record."""
    parts = Message({"role": "assistant", "content": [item]}).to_dict()["parts"]
    assert len(parts) == 1
    return parts[0]


def call(**more: Any) -> dict[str, Any]:
    return {"type": "tool", "tool_name": "f", "tool_call_id": "c", "args": {"a": 1}, "state": "call", **more}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "text", "text": "a"}, {"type": "text", "text": "a"}),
        ({"type": "text"}, {"type": "text", "text": ""}),
        ({"type": "input_text", "text": "a"}, {"type": "text", "text": "a"}),
        ({"type": "output_text", "text": "a"}, {"type": "text", "text": "a"}),
        ({"type": "refusal", "refusal": "no"}, {"type": "text", "text": "no"}),
        ({"type": "reasoning", "text": "why"}, {"type": "reasoning", "text": "why"}),
        ({"type": "reasoning", "reasoning": "why"}, {"type": "reasoning", "text": "why"}),
        ({"type": "thinking", "thinking": "why"}, {"type": "reasoning", "text": "why"}),
        (
            {"type": "thinking", "thinking": "why", "signature": "s"},
            {"type": "reasoning", "text": "why", "provider_metadata": {"anthropic": {"signature": "s"}}},
        ),
        (
            {"type": "thinking", "thinking": "why", "signature": "s", "provider_metadata": META},
            {"type": "reasoning", "text": "why", "provider_metadata": META},
        ),
        ({"type": "step-start"}, {"type": "step-start"}),
        ({"type": "step-start", "providerMetadata": META}, {"type": "step-start", "provider_metadata": META}),
        ({"type": "data-x", "data": [1]}, {"type": "data-x", "data": [1]}),
        (
            {"type": "data-x", "data": [1], "id": "d", "provider_metadata": META},
            {"type": "data-x", "data": [1], "id": "d", "provider_metadata": META},
        ),
        ({"type": "clip", "s": 1}, {"type": "unknown", "of": "clip", "data": {"type": "clip", "s": 1}}),
    ],
)
def test_texts_data_and_steps(item: dict[str, Any], expected: dict[str, Any]) -> None:
    assert record(item) == expected


@pytest.mark.parametrize("name", ["provider_metadata", "providerMetadata", "provider_options", "providerOptions"])
@pytest.mark.parametrize("kind", ["text", "reasoning", "step-start", "data-x", "source", "tool-call", "image", "file"])
def test_every_kind_keeps_its_metadata_in_every_spelling(kind: str, name: str) -> None:
    item = {"type": kind, "id": "i", "name": "f", "url": "https://x.test/a.png", "text": "t", name: META}
    assert record(item)["provider_metadata"] == META


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"image_url": {"url": PNG}}, {"media_type": "image/png", "url": PNG}),
        ({"image_url": PNG}, {"media_type": "image/png", "url": PNG}),
        ({"image": PNG}, {"media_type": "image/png", "url": PNG}),
        ({"url": PNG}, {"media_type": "image/png", "url": PNG}),
        ({"data": PNG}, {"media_type": "image/png", "url": PNG}),
        ({"image": b"ii", "media_type": "image/gif"}, {"media_type": "image/gif", "data": "aWk="}),
        ({"image": b"ii", "mediaType": "image/gif"}, {"media_type": "image/gif", "data": "aWk="}),
        ({"image": b"ii", "mimeType": "image/gif"}, {"media_type": "image/gif", "data": "aWk="}),
        (
            {"source": {"type": "base64", "media_type": "image/gif", "data": "aWk="}},
            {"media_type": "image/gif", "data": "aWk="},
        ),
        (
            {"source": {"media_type": "image/gif", "data": b"ii"}, "media_type": "image/webp"},
            {"media_type": "image/webp", "data": "aWk="},
        ),
        (
            {"image_url": {"url": PNG, "detail": "low"}},
            {"media_type": "image/png", "url": PNG, "provider_metadata": {"openai": {"detail": "low"}}},
        ),
        (
            {"image_url": {"url": PNG, "detail": "low"}, "provider_metadata": META},
            {"media_type": "image/png", "url": PNG, "provider_metadata": META},
        ),
    ],
)
@pytest.mark.parametrize("kind", ["image", "image_url", "input_image"])
def test_images(kind: str, item: dict[str, Any], expected: dict[str, Any]) -> None:
    assert record({"type": kind, **item}) == {"type": "image", **expected}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"url": "https://x.test/a", "media_type": "text/a"}, {"url": "https://x.test/a", "media_type": "text/a"}),
        ({"url": "https://x.test/a", "mediaType": "text/a"}, {"url": "https://x.test/a", "media_type": "text/a"}),
        ({"url": "https://x.test/a", "mimeType": "text/a"}, {"url": "https://x.test/a", "media_type": "text/a"}),
        ({"file_url": "https://x.test/a", "media_type": "text/a"}, {"url": "https://x.test/a", "media_type": "text/a"}),
        ({"data": b"ii", "media_type": "text/a"}, {"data": "aWk=", "media_type": "text/a"}),
        ({"file_data": TEXT}, {"url": TEXT, "media_type": "text/a"}),
        ({"source": TEXT}, {"url": TEXT, "media_type": "text/a"}),
        ({"file": {"file_data": TEXT}}, {"url": TEXT, "media_type": "text/a"}),
        ({"source": {"media_type": "text/a", "data": "aWk="}}, {"data": "aWk=", "media_type": "text/a"}),
        ({"source": {"media_type": "text/a", "content": b"ii"}}, {"data": "aWk=", "media_type": "text/a"}),
        (
            {"source": {"media_type": "text/a", "url": "https://x.test/a"}, "mediaType": "text/b"},
            {"url": "https://x.test/a", "media_type": "text/b"},
        ),
        (
            {"data": b"ii", "media_type": "text/a", "filename": "n"},
            {"data": "aWk=", "media_type": "text/a", "filename": "n"},
        ),
        (
            {"data": b"ii", "media_type": "text/a", "name": "n"},
            {"data": "aWk=", "media_type": "text/a", "filename": "n"},
        ),
        (
            {"data": b"ii", "media_type": "text/a", "title": "n"},
            {"data": "aWk=", "media_type": "text/a", "filename": "n"},
        ),
    ],
)
@pytest.mark.parametrize("kind", ["file", "document", "input_file"])
def test_files(kind: str, item: dict[str, Any], expected: dict[str, Any]) -> None:
    assert record({"type": kind, **item}) == {"type": "file", **expected}


@pytest.mark.parametrize("name", ["file_id", "fileId"])
def test_a_file_that_only_the_provider_has_stays_as_it_is(name: str) -> None:
    item = {"type": "file", name: "f1"}
    assert record(item) == {"type": "unknown", "of": "file", "data": item}


def test_a_file_with_the_media_type_of_an_image_is_one() -> None:
    assert record({"type": "file", "data": b"ii", "media_type": "image/gif"})["type"] == "image"


@pytest.mark.parametrize(("given", "media_type"), [({"format": "mp3"}, "audio/mp3"), ({}, "audio/wav")])
def test_audio(given: dict[str, str], media_type: str) -> None:
    assert record({"type": "input_audio", "input_audio": {"data": "aWk=", **given}, "providerOptions": META}) == {
        "type": "file",
        "media_type": media_type,
        "data": "aWk=",
        "provider_metadata": META,
    }


@pytest.mark.parametrize("kind", ["tool-call", "tool_call", "tool_use"])
@pytest.mark.parametrize("args", [{"args": {"a": 1}}, {"input": {"a": 1}}, {"arguments": '{"a": 1}'}])
@pytest.mark.parametrize("name", ["tool_name", "toolName", "name"])
@pytest.mark.parametrize("call_id", ["tool_call_id", "toolCallId", "id"])
def test_calls(kind: str, args: dict[str, Any], name: str, call_id: str) -> None:
    assert record({"type": kind, name: "f", call_id: "c", **args}) == call()


@pytest.mark.parametrize("flag", ["provider_executed", "providerExecuted"])
@pytest.mark.parametrize("kind", ["tool-call", "tool-f", "dynamic-tool"])
def test_a_call_that_the_provider_runs_says_so(kind: str, flag: str) -> None:
    item = {"type": kind, "toolName": "f", "toolCallId": "c", "input": {"a": 1}, flag: True}
    assert record(item) == call(provider_executed=True)


@pytest.mark.parametrize("args", [{}, {"args": None}, {"args": ""}, {"args": "{}"}])
def test_a_call_without_arguments_has_none(args: dict[str, Any]) -> None:
    assert record({"type": "tool-call", "name": "f", "id": "c", **args}) == {**call(), "args": {}}


@pytest.mark.parametrize("key", ["tool_calls", "toolCalls"])
def test_the_calls_of_an_assistant_in_both_spellings(key: str) -> None:
    calls = [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "c", "name": "f", "args": {"a": 1}},
    ]
    assert Message({"role": "assistant", key: calls}).to_dict()["parts"] == [call(), call()]


@pytest.mark.parametrize("args", ["input", "args", "rawInput"])
@pytest.mark.parametrize("call_id", ["toolCallId", "tool_call_id", "id"])
@pytest.mark.parametrize(
    "kind",
    [{"type": "tool-f"}, {"type": "dynamic-tool", "toolName": "f"}, {"type": "dynamic-tool", "tool_name": "f"}],
)
def test_calls_of_a_user_interface(kind: dict[str, str], call_id: str, args: str) -> None:
    assert record({**kind, call_id: "c", args: {"a": 1}, "state": "input-available"}) == call()


@pytest.mark.parametrize("name", ["toolInvocation", "tool_invocation"])
def test_a_call_inside_of_another_dict(name: str) -> None:
    inner = {"toolName": "f", "toolCallId": "c", "args": {"a": 1}, "state": "result", "result": 7}
    assert record({"type": "tool-invocation", name: inner}) == call(state="result", result=7)


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        ({"state": "output-available", "output": 7, "result": 8}, {"state": "result", "result": 7}),
        ({"state": "output-available", "output": None, "result": 8}, {"state": "result", "result": None}),
        ({"state": "result", "result": 8}, {"state": "result", "result": 8}),
        ({"state": "output-error", "errorText": "no"}, {"state": "error", "error": "no"}),
        ({"state": "error", "error": "no"}, {"state": "error", "error": "no"}),
        ({"state": "error"}, {"state": "error", "error": "The tool failed."}),
        ({"callProviderMetadata": META}, {"provider_metadata": META}),
        ({"callProviderMetadata": {"q": {}}, "provider_metadata": META}, {"provider_metadata": META}),
    ],
)
def test_what_became_of_a_call_of_a_user_interface(ended: dict[str, Any], expected: dict[str, Any]) -> None:
    assert record({"type": "tool-f", "toolCallId": "c", "input": {"a": 1}, **ended}) == call(**expected)


@pytest.mark.parametrize("kind", ["source", "source-url", "source-document"])
@pytest.mark.parametrize("source_id", ["sourceId", "source_id", "id"])
@pytest.mark.parametrize("media_type", ["mediaType", "media_type"])
@pytest.mark.parametrize("inside", [False, True])
def test_sources(kind: str, source_id: str, media_type: str, inside: bool) -> None:
    fields = {source_id: "s", "url": "https://x.test", "title": "T", media_type: "text/a", "filename": "n"}
    assert record({"type": kind, **({"source": fields} if inside else fields)}) == {
        "type": "source",
        "id": "s",
        "url": "https://x.test",
        "title": "T",
        "media_type": "text/a",
        "filename": "n",
    }


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (3, "content[0]: expected a dict, got int."),
        ({"type": 3}, "content[0]: a part is a dict with a `type` of type str; 3 is not one."),
        ({}, "content[0]: a part is a dict with a `type` of type str; None is not one."),
        ({"type": "text", "text": 3}, "content[0]: `text` is a str, not int."),
        ({"type": "file", "media_type": 3}, "content[0]: `media_type` is a str, not int."),
        ({"type": "source", "id": "s", "url": 3}, "content[0]: `url` is a str, not int."),
        ({"type": "image"}, "content[0]: an image needs a URL, a data URL or bytes."),
        ({"type": "file"}, "content[0]: a file needs a URL, a data URL, base64 text or bytes."),
        ({"type": "input_audio"}, "content[0].input_audio: expected a dict, got NoneType."),
        ({"type": "tool-call", "id": "c"}, "content[0]: `tool_name` is missing."),
        ({"type": "tool-call", "name": "f"}, "content[0]: `tool_call_id` is missing."),
        ({"type": "tool-f"}, "content[0]: `toolCallId` is missing."),
        (
            {"type": "tool-call", "name": "f", "id": "c", "args": "{"},
            "content[0]: the arguments of the tool call are not valid JSON.",
        ),
        (
            {"type": "tool-call", "name": "f", "id": "c", "args": "[" * 200_000},
            "content[0]: the arguments of the tool call are nested too deep.",
        ),
    ],
)
def test_what_no_part_can_be_made_of_says_where(item: Any, message: str) -> None:
    with pytest.raises(MessageError) as caught:
        record(item)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"content": 3}, "content: content is a str or a list of parts, not int."),
        ({"content": b"raw"}, "content: content is a str or a list of parts, not bytes."),
        ({"content": "x", "metadata": 3}, "metadata: expected a dict, got int."),
        ({"tool_calls": "c"}, "tool_calls: `tool_calls` is a list, not str."),
        ({"tool_calls": {"id": "c"}}, "tool_calls: `tool_calls` is a list, not dict."),
        ({"tool_calls": [{"id": "c", "name": "f"}, 3]}, "tool_calls[1]: expected a dict, got int."),
    ],
)
def test_content_and_calls_of_a_wrong_shape_say_where(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(MessageError) as caught:
        Message({"role": "assistant", **fields})
    assert str(caught.value) == message
