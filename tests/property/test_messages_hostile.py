"""Bad and huge input is handled, or refused with a clear error; the cost is linear."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluiceway.errors import MessageError
from sluiceway.messages import (
    Chunk,
    Message,
    MessageList,
    Reply,
    TextPart,
    ToolPart,
    merge_forks,
    parse_input,
)

FIELDS = (
    *("role", "content", "parts", "type", "text", "tool_calls", "tool_call_id", "id", "image_url", "data"),
    *("args", "function", "arguments", "name", "url", "source", "output", "state", "toolCallId", "file"),
    *("metadata", "attachments", "created_at", "provider_metadata", "media_type", "input_audio"),
)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.binary(max_size=3) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner
            | st.sampled_from(["user", "assistant", "tool", "system", "text", "image", "file", "tool-call", "tool-x"])
            | st.sampled_from(["reasoning", "source-url", "tool_result", "input_audio", "data-x", "step-start"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(anything)
def test_any_input_is_read_or_refused(given_value: Any) -> None:
    try:
        parsed = parse_input(given_value)
    except MessageError:
        return
    messages = MessageList()
    for message in parsed.messages:
        messages.add(message)
    messages.to_prompt()
    messages.to_ui()
    messages.to_openai()
    for message in messages.all:
        Message.from_dict(message.to_dict())


@given(anything)
def test_any_record_is_read_or_refused(record: Any) -> None:
    try:
        message = Message.from_dict(record)
    except MessageError:
        return
    assert Message.from_dict(message.to_dict()).same_as(message)


@pytest.mark.parametrize("text", ["\ud800 lone", "a\x00b", "\ufdd0", "x" * 10_000_000, "\u202e" * 1000])
def test_odd_and_huge_texts_go_through_everything(text: str) -> None:
    messages = MessageList(text)
    assert messages.to_prompt().messages[0].text == text
    assert Message.from_dict(messages.all[0].to_dict()).text == text
    snapshot = messages.snapshot()
    fork = messages.fork()
    part = fork.all[0].parts[0]
    assert isinstance(part, TextPart)
    part.text = text + "!"
    merge_forks(messages, [("x", fork)])
    assert messages.all[0].text == text + "!"
    messages.restore(snapshot)
    assert messages.all[0].text == text


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"k": [value]}
    return value


def test_deep_values_are_copied_compared_and_refused_where_they_cannot_be_sent() -> None:
    messages = MessageList()
    messages.add(Message(role="assistant", parts=[ToolPart("t", "c", {"q": nested(20_000)}, "result", 1)]))
    snapshot = messages.snapshot()
    fork = messages.fork()
    call = fork.find_call("c")
    assert call is not None
    call.args["q"]["k"][0]["k"].append(2)
    merge_forks(messages, [("x", fork)])
    messages.restore(snapshot)
    for write in (messages.to_prompt, messages.to_ui, messages.to_openai, messages.all[0].to_dict):
        with pytest.raises(MessageError, match="too deep"):
            write()
    with pytest.raises(MessageError, match="nested too deep"):
        Message({"role": "assistant", "tool_calls": [{"id": "c", "name": "t", "arguments": "[" * 100_000}]})


def best(act: Callable[[], object]) -> float:
    """Return the least time of three runs, without the collector, whose turns are not ours to judge."""
    times: list[float] = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            begun = time.perf_counter()
            act()
            times.append(time.perf_counter() - begun)
    finally:
        gc.enable()
    return min(times)


def many_parts(count: int) -> Callable[[], object]:
    def run() -> None:
        messages = MessageList()
        reply = Reply(messages)
        for i in range(count):
            reply.apply(Chunk("text-delta", {"id": str(i), "text": "x"}))
        snapshot = messages.snapshot()
        messages.response[0].parts[0].text = "y"  # pyright: ignore[reportAttributeAccessIssue]
        messages.take_edits()
        messages.to_prompt()
        fork = messages.fork()
        fork.response[0].parts.append(TextPart("z"))
        merge_forks(messages, [("x", fork)])
        messages.restore(snapshot)
        Message.from_dict(messages.response[0].to_dict())

    return run


def many_messages(count: int) -> Callable[[], object]:
    def run() -> None:
        messages = MessageList([{"role": "user", "content": "x"} for _ in range(count)])
        for i in range(count):
            messages.add(Message(f"m{i}"), "memory")
        messages.snapshot()
        forks = [(key, messages.fork()) for key in "xy"]
        for message in forks[0][1].all:
            message.parts[0].edit(0, 1, "y")  # pyright: ignore[reportAttributeAccessIssue]
        merge_forks(messages, forks)
        messages.reconcile(messages.all, messages.all[::-1])
        messages.to_prompt()

    return run


def growing_text(count: int) -> Callable[[], object]:
    def run() -> None:
        messages = MessageList()
        reply = Reply(messages)
        chunk = Chunk("text-delta", {"id": "1", "text": "word "})
        for _ in range(count * 10):
            reply.apply(chunk)
        assert len(reply.text) == count * 50

    return run


@pytest.mark.parametrize("make", [many_parts, many_messages, growing_text])
def test_the_cost_grows_linearly(make: Callable[[int], Callable[[], object]]) -> None:
    """A wide margin: quadratic work would take sixteen times as long."""
    small, large = best(make(1_000)), best(make(4_000))
    assert large < 9 * small


def test_a_hundred_thousand_parts() -> None:
    many_parts(100_000)()
