"""Round trips through every format, on anything a message can hold."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluiceway.messages import (
    DataPart,
    FilePart,
    ImagePart,
    Message,
    MessageList,
    Part,
    ReasoningPart,
    SourcePart,
    StepStartPart,
    TextPart,
    ToolPart,
    UnknownPart,
)

texts = st.text(st.characters(codec=None, exclude_categories=[]), max_size=8)
names = st.text("abcxyz", min_size=1, max_size=5)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
metadata = st.none() | st.dictionaries(names, st.dictionaries(names, plain, max_size=2), min_size=1, max_size=2)


@st.composite
def tool_parts(draw: st.DrawFn) -> ToolPart:
    part = ToolPart(
        draw(names),
        draw(names),
        draw(st.dictionaries(texts, plain, max_size=2)),
        provider_executed=draw(st.booleans()),
        provider_metadata=draw(metadata),
    )
    state = draw(st.sampled_from(["call", "result", "shown", "error"]))
    if state == "error":
        part.set_error(draw(texts) or "broke")
    elif state != "call":
        part.set_result(draw(plain), draw(plain)) if state == "shown" else part.set_result(draw(plain))
    return part


def media(kind: type[FilePart], media_type: st.SearchStrategy[str]) -> st.SearchStrategy[Part]:
    source = st.binary(max_size=8) | st.sampled_from(["https://x.test/a", "data:image/png;base64,AAEC"])
    return st.builds(kind, source, media_type, filename=st.none() | names, provider_metadata=metadata)


parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, texts, provider_metadata=metadata),
    st.builds(ReasoningPart, texts, provider_metadata=metadata),
    tool_parts(),
    media(FilePart, st.sampled_from(["application/pdf", "audio/wav"])),
    media(ImagePart, st.sampled_from(["image/png", "image/*"])),
    st.builds(SourcePart, names, st.none() | st.just("https://x.test"), st.none() | names),
    st.builds(DataPart, st.just("data-x"), plain, id=st.none() | names, provider_metadata=metadata),
    st.builds(StepStartPart),
    st.builds(lambda data: UnknownPart("odd-type", {"type": "odd-type", **data}), st.dictionaries(names, plain)),
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant"]),
    parts=st.lists(parts, max_size=6),
    metadata=st.dictionaries(texts, plain, max_size=2),
    thread_id=st.none() | names,
    created_at=st.datetimes(timezones=st.just(UTC)),
    provider_metadata=metadata,
)


@given(messages)
def test_a_record_as_json_text_gives_the_same_message(message: Message) -> None:
    record = json.loads(json.dumps(message.to_dict()))
    back = Message.from_dict(record)
    assert back.same_as(message)
    assert back.to_dict() == message.to_dict()


@given(messages)
def test_a_ui_message_gives_the_same_parts(message: Message) -> None:
    one = MessageList()
    one.add(message)
    shown = one.to_ui()
    back = MessageList(json.loads(json.dumps(shown)))
    assert back.to_ui() == shown
    assert [p.type for p in back.all[0].parts] == [p.type for p in message.parts]


@given(st.lists(messages, max_size=3))
def test_the_split_form_is_stable(given_messages: list[Message]) -> None:
    """Written, read and written again it is the same, and no call is without its result."""
    one = MessageList()
    for message in given_messages:
        one.add(message)
    once = one.to_openai()
    again = MessageList(once).to_openai()
    assert [entry.get("role") for entry in once] == [entry.get("role") for entry in again]
    calls = [call["id"] for entry in once for call in entry.get("tool_calls", ())]
    answers = [entry["tool_call_id"] for entry in once if entry["role"] == "tool"]
    assert sorted(calls) == sorted(answers)


@given(messages)
def test_a_copy_is_equal_and_isolated(message: Message) -> None:
    before = message.to_dict()
    copy = message.copy()
    assert copy.same_as(message)
    for part in copy.parts:
        scramble(part)
    copy.metadata["x"] = 1
    copy.parts.append(TextPart("x"))
    assert message.to_dict() == before


def scramble(part: Any) -> None:
    part.provider_metadata["scrambled"] = True
    if isinstance(part, TextPart):
        part.text += "!"
    elif isinstance(part, ToolPart):
        part.args["scrambled"] = True
        part.set_result("scrambled")
    elif isinstance(part, FilePart):
        part.data = b"scrambled"
    elif isinstance(part, DataPart | UnknownPart):
        part.data = "scrambled"


@given(st.datetimes())
def test_times_keep_their_moment(when: datetime) -> None:
    message = Message("x", created_at=when)
    assert Message.from_dict(message.to_dict()).created_at == when.replace(tzinfo=UTC)
