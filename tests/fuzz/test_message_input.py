"""What a user hands to an agent: every shape that is taken, broken a little. Read, or a `MessageError`."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluiceway import Agent
from sluiceway.errors import MessageError
from sluiceway.memory import InMemoryStore, Memory
from sluiceway.messages import Message, MessageList, parse_input
from sluiceway.models import ModelRequest, ScriptedModel
from sluiceway.models._chat_body import chat_body
from sluiceway.models._messages_body import messages_body
from sluiceway.models._providers import PROVIDERS
from sluiceway.models._settings import Settings
from sluiceway.serve._chat_ask import chat_ask
from sluiceway.serve._messages_ask import messages_ask
from sluiceway.serve._refusal import Refusal
from tests.fuzz.values import broken_json, json_values, mutated, nested

PIXEL = "data:image/png;base64,iVBORw0KGgo="
SHAPES: tuple[Any, ...] = (
    "hello",
    ["one", "two"],
    {"role": "user", "content": "hello"},
    [{"role": "system", "content": "be kind"}, {"role": "developer", "content": [{"type": "text", "text": "x"}]}],
    [
        {
            "role": "user",
            "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": PIXEL}}],
        },
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_data": "AA==", "filename": "f.pdf"}}]},
        {"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "https://example.org"}}]},
    ],
    [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}},
                {"id": "c2", "name": "look", "args": {"a": 2}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "c2", "output": {"type": "json", "value": 1}}],
        },
        {"role": "assistant", "content": "done"},
    ],
    [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "no"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
    ],
    {
        "id": "m1",
        "role": "assistant",
        "metadata": {"a": 1},
        "parts": [
            {"type": "step-start"},
            {"type": "tool-look", "toolCallId": "c1", "state": "output-available", "input": {}, "output": {"x": 1}},
            {"type": "dynamic-tool", "toolName": "look", "toolCallId": "c2", "state": "output-error", "errorText": "e"},
            {"type": "source-url", "sourceId": "s", "url": "https://example.org"},
            {"type": "data-note", "data": {"n": 1}, "id": "d"},
            {"type": "reasoning", "text": "hm"},
            {"type": "text", "text": "hi"},
            {"type": "future", "anything": [1]},
        ],
    },
)
NAMES = (
    *("role", "content", "parts", "type", "text", "tool_calls", "tool_call_id", "toolCallId", "id", "name", "function"),
    *("arguments", "args", "input", "output", "result", "state", "source", "url", "data", "file", "image_url"),
    *("metadata", "attachments", "created_at", "thread_id", "resource_id", "provider_metadata", "is_error"),
)
WORDS = ("user", "assistant", "tool", "system", "text", "image", "file", "tool-call", "tool-x", "reasoning", "data-x")


def written(messages: MessageList) -> None:
    """Write what was read in every way that there is."""
    json.dumps(messages.to_ui())
    json.dumps(messages.to_openai())
    request = ModelRequest(messages.to_prompt(), run_id="r")
    settings = Settings()
    chat_body(request, "m", "openai", settings, PROVIDERS["openai"].quirks)
    messages_body(request, "m", "anthropic", settings, 100)


given_shapes = st.sampled_from(SHAPES) | mutated(SHAPES, NAMES) | json_values(NAMES, WORDS)


@given(given_shapes)
@example(nested(3))
def test_any_input_is_read_or_refused_with_where(given_value: Any) -> None:
    try:
        parsed = parse_input(given_value)
    except MessageError as error:
        told = str(error)
        assert told.startswith("input")
        return
    messages = MessageList()
    for message in parsed.messages:
        messages.add(message)
    try:
        written(messages)
    except MessageError:
        return  # a file that an API does not take
    for message in messages.all:
        again = Message.from_dict(json.loads(json.dumps(message.to_dict())))
        assert again.text == message.text


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
def test_the_shapes_themselves_are_taken(shape: Any) -> None:
    parsed = parse_input(shape)
    assert parsed.messages or parsed.system
    with pytest.raises(MessageError, match="audio/wav") if "input_audio" in str(shape) else nullcontext():
        written(MessageList(shape))


def test_an_agent_takes_any_input_or_refuses_it() -> None:
    """With a memory: what is refused leaves nothing, what is taken can be read again."""

    @given(given_shapes)
    def check(given_value: Any) -> None:
        async def run() -> None:
            store = InMemoryStore()
            agent = Agent(id="fuzzed", model=ScriptedModel(["ok"]), memory=Memory(store))
            where = {"thread": "t1", "resource": "u1"}
            try:
                result = await agent.generate(given_value, memory=where)
            except MessageError:
                assert await store.newest("t1") == []
                return
            if result.tripwire is None:
                assert (await agent.generate("and now?", memory=where)).text == "ok"

        anyio.run(run)

    check()


CHAT_ASK = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "c", "content": "x"}],
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}],
    "tool_choice": {"type": "function", "function": {"name": "look"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}},
    "temperature": 0.5,
    "max_tokens": 5,
    "stop": ["x"],
    "stream_options": {"include_usage": True},
}
MESSAGES_ASK = {
    "model": "m",
    "max_tokens": 5,
    "system": [{"type": "text", "text": "be kind"}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "AA=="}]},
    ],
    "tools": [{"name": "look", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "tool", "name": "look", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 5},
    "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
}


@pytest.mark.parametrize(("ask", "body"), [(chat_ask, CHAT_ASK), (messages_ask, MESSAGES_ASK)], ids=["chat", "claude"])
def test_any_body_of_a_client_is_asked_or_refused(ask: Any, body: Any) -> None:
    @given(broken_json([body], sorted(body)) | mutated([body], sorted(body)).map(json.dumps) | st.just(nested(3000)))
    def check(text: str) -> None:
        try:
            asked = ask(text.encode("utf-8", "surrogatepass"))
        except Refusal as refusal:
            status = refusal.status
            assert 400 <= status < 500
            return
        try:
            parse_input(asked.messages)
        except MessageError:
            return

    check()
