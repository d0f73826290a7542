"""From the bodies of two APIs to what is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluiceway.serve._ask import Ask
from sluiceway.serve._chat_ask import chat_ask
from sluiceway.serve._messages_ask import messages_ask
from sluiceway.serve._refusal import Refusal

HELLO: Any = [{"role": "user", "content": "hi"}]


def chat(**fields: Any) -> Ask:
    return chat_ask(json.dumps({"model": "m", "messages": HELLO, **fields}).encode())


def messages(**fields: Any) -> Ask:
    return messages_ask(json.dumps({"model": "m", "max_tokens": 9, "messages": HELLO, **fields}).encode())


def told(ask: Ask) -> dict[str, Any]:
    tools = [(tool.name, tool.description, dict(tool.parameters), tool.run) for tool in ask.tools]
    return {
        "model": ask.model,
        "messages": ask.messages,
        "tools": tools,
        "options": ask.options,
        "passed": ask.passed,
        "flags": (ask.stream, ask.include_usage, ask.reasoning),
        "max_tokens_name": ask.max_tokens_name,
    }


def test_the_least_of_chat_completions() -> None:
    assert told(chat_ask(json.dumps({"messages": HELLO}).encode())) == {
        "model": "",
        "messages": HELLO,
        "tools": [],
        "options": {"model_settings": {}},
        "passed": {},
        "flags": (False, False, None),
        "max_tokens_name": "max_tokens",
    }


def test_all_of_chat_completions() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    shape = {"type": "json_schema", "json_schema": {"name": "thing", "strict": True, "schema": schema}}
    ask = chat(
        stream=True,
        stream_options={"include_usage": True},
        temperature=0.5,
        top_p=1,
        seed=3,
        stop=["x"],
        presence_penalty=0.1,
        frequency_penalty=0.2,
        reasoning_effort="low",
        parallel_tool_calls=False,
        max_completion_tokens=5,
        n=1,
        tools=[
            {"type": "function", "function": {"name": "f", "description": "d", "parameters": schema, "strict": True}}
        ],
        tool_choice={"type": "function", "function": {"name": "f"}},
        response_format=shape,
        user="ann",
        logit_bias={"5": 1},
    )
    assert told(ask) == {
        "model": "m",
        "messages": HELLO,
        "tools": [("f", "d", schema, None)],
        "options": {
            "model_settings": {
                "temperature": 0.5,
                "top_p": 1.0,
                "seed": 3,
                "stop": ["x"],
                "presence_penalty": 0.1,
                "frequency_penalty": 0.2,
                "reasoning_effort": "low",
                "parallel_tool_calls": False,
                "max_tokens": 5,
            },
            "tool_choice": {"type": "tool", "tool_name": "f"},
            "structured_output": {"title": "thing", **schema},
        },
        "passed": {"user": "ann", "logit_bias": {"5": 1}, "response_format": shape},
        "flags": (True, True, None),
        "max_tokens_name": "max_completion_tokens",
    }


def test_all_of_messages() -> None:
    schema = {"type": "object"}
    ask = messages(
        system=[{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}],
        stream=True,
        temperature=0.5,
        top_k=4,
        stop_sequences=["x"],
        tools=[{"name": "f", "description": "d", "input_schema": schema}],
        tool_choice={"type": "tool", "name": "f"},
        thinking={"type": "enabled", "budget_tokens": 1024},
        output_config={"format": {"type": "json_schema", "schema": schema}},
        metadata={"user_id": "u"},
    )
    assert told(ask) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be short."}, *HELLO],
        "tools": [("f", "d", schema, None)],
        "options": {
            "model_settings": {"max_tokens": 9, "temperature": 0.5, "top_k": 4, "stop": ["x"]},
            "tool_choice": {"type": "tool", "tool_name": "f"},
            "structured_output": schema,
        },
        "passed": {
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "output_config": {"format": {"type": "json_schema", "schema": schema}},
            "metadata": {"user_id": "u"},
        },
        "flags": (True, True, True),
        "max_tokens_name": "max_tokens",
    }


def test_blocks_of_messages_keep_what_only_their_api_knows() -> None:
    blocks = [
        {"type": "redacted_thinking", "data": "abc"},
        {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}},
        {"type": "tool_result", "tool_use_id": "t", "content": "x", "cache_control": {"type": "ephemeral"}},
    ]
    [turn] = messages(messages=[{"role": "assistant", "content": blocks}]).messages
    assert turn["content"] == [
        {"type": "reasoning", "text": "", "provider_metadata": {"anthropic": {"redacted_data": "abc"}}},
        {**blocks[1], "provider_metadata": {"anthropic": {"cache_control": {"type": "ephemeral"}}}},
        blocks[2],
    ]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": "hi"}, "messages"),
        ({"messages": [1]}, "messages.0"),
        ({"n": 3}, "n"),
        ({"top_logprobs": 5}, "top_logprobs"),
        ({"audio": {"voice": "x"}}, "audio"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"tools": [{"type": "function"}]}, "tools.0"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}] * 2}, "tools.1"),
        ({"tools": [{"type": "function", "function": {"name": ""}}]}, "tools.0"),
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": 5}}}]}, "tools.0"),
        ({"tool_choice": {"type": "function"}}, "tool_choice"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        ({"top_p": 7}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": 5}, "stop"),
        ({"tool_choice": "whatever"}, "tool_choice"),
        ({"prediction": {"type": "content", "content": "4111 1111 1111 1111"}}, "prediction"),
        ({"documents": [{"title": "a", "text": "b"}]}, "documents"),
        ({"chat_template": "{{ messages }} and more"}, "chat_template"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages.0.content.0"),
        ({"messages": [{"role": "user", "content": [HELLO[0], 5]}]}, "messages.0.content.0"),
        ({"messages": [*HELLO, {"role": "user", "content": ["hi"]}]}, "messages.1.content.0"),
        (
            {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}]},
            "messages.0.content.0",
        ),
    ],
)
def test_what_chat_completions_refuses(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(Refusal) as caught:
        chat(**fields)
    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"system": 5}, "system"),
        ({"tool_choice": {"type": "whatever"}}, "tool_choice"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools.0"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages.0.content.0"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages.0.content.0"),
        ({"messages": [{"role": "assistant", "content": [{"type": "redacted_thinking"}]}]}, "messages.0.content.0"),
        (
            {"messages": [*HELLO, {"role": "user", "content": [{"type": "document", "source": {"type": "file"}}]}]},
            "messages.1.content.0",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "document"}]}]}, "messages.0.content.0"),
    ],
)
def test_what_messages_refuses(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(Refusal) as caught:
        messages(**fields)
    assert (caught.value.status, caught.value.param) == (400, param)


def test_a_document_of_plain_text_is_text() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "hello"}
    [turn] = messages(messages=[{"role": "user", "content": [{"type": "document", "source": source}]}]).messages
    assert [(part["type"], part["text"]) for part in turn["content"]] == [("text", "hello")]


def test_only_what_a_message_says_is_the_clients_to_say() -> None:
    own = {"id": "msg_1", "created_at": "2020-01-01T00:00:00Z", "metadata": {"x": 1}, "parts": [], "attachments": []}
    assert chat(messages=[{**HELLO[0], **own, "name": "ann"}]).messages == [{**HELLO[0], "name": "ann"}]


def test_an_answer_that_a_guard_stopped_is_history_with_its_reason() -> None:
    stopped = {"role": "assistant", "content": None, "refusal": "no card numbers"}
    assert chat(messages=[*HELLO, stopped, *HELLO]).messages[1] == {"role": "assistant", "content": "no card numbers"}


def test_the_newer_bound_on_the_answer_counts() -> None:
    ask = chat(max_tokens=7, max_completion_tokens=5)
    assert (ask.options.get("model_settings"), ask.max_tokens_name) == ({"max_tokens": 5}, "max_completion_tokens")


@pytest.mark.parametrize(
    ("fields", "reasoning"),
    [({}, None), ({"include_reasoning": True}, True), ({"include_reasoning": False}, False)],
)
def test_who_wants_to_see_the_reasoning_says_so(fields: dict[str, Any], reasoning: bool | None) -> None:
    ask = chat(**fields)
    assert (ask.reasoning, ask.passed) == (reasoning, fields)


def test_a_refusal_holds_no_value() -> None:
    with pytest.raises(Refusal) as caught:
        chat(messages=[{"role": "user", "content": "ok"}], temperature="4111 1111 1111 1111")
    assert "4111" not in caught.value.message


@pytest.mark.parametrize("body", [b"", b"nope", b"[]", b'"x"', b"\xff", b"[" * 100_000])
@pytest.mark.parametrize("read", [chat_ask, messages_ask])
def test_what_is_no_request(read: Any, body: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        read(body)
    assert (caught.value.status, caught.value.code) == (400, "invalid_body")


def test_hostile_texts_are_taken_as_they_are() -> None:
    ask = chat_ask(b'{"messages": [{"role": "user", "content": "\\u0000\\u202e<b>"}]}')
    assert ask.messages == [{"role": "user", "content": "\x00\u202e<b>"}]
