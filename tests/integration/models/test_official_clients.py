"""The official clients talk to the same server, so that it is known to speak right."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest

from tests.integration.models._calls import KEY
from tests.integration.modelserver import Answer, ModelServer, refusal, transcript

TRANSCRIPTS = json.loads(transcript("errors.json"))


def openai_client(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=0)


def anthropic_client(server: ModelServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key=KEY, base_url=server.url.removesuffix("/v1"), max_retries=0)


def streamed(server: ModelServer, name: str) -> list[Any]:
    server.play(Answer([transcript(name)]))
    with openai_client(server) as client:
        return list(
            client.chat.completions.create(model="m-1", messages=[{"role": "user", "content": "hi"}], stream=True)
        )


def message(server: ModelServer, name: str) -> anthropic.types.Message:
    server.play(Answer([transcript(name)]))
    with (
        anthropic_client(server) as client,
        client.messages.stream(model="m-1", max_tokens=10, messages=[{"role": "user", "content": "hi"}]) as stream,
    ):
        return stream.get_final_message()


def test_openai_reads_the_plain_answer(server: ModelServer) -> None:
    chunks = streamed(server, "chat_plain.sse")
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == ("Grüße aus Köln 🌉.")
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage.model_dump(include={"prompt_tokens", "completion_tokens", "total_tokens"}) == {
        "prompt_tokens": 19,
        "completion_tokens": 10,
        "total_tokens": 29,
    }


def test_openai_reads_parallel_tool_calls(server: ModelServer) -> None:
    calls: dict[int, list[str]] = {}
    for chunk in streamed(server, "chat_parallel_tools.sse"):
        for call in (chunk.choices[0].delta.tool_calls or []) if chunk.choices else []:
            calls.setdefault(call.index, []).append((call.function.name or "") + call.function.arguments)
    assert {index: "".join(pieces) for index, pieces in calls.items()} == {
        0: 'get_weather{"city":"Paris"}',
        1: 'get_time{"zone":"CET"}',
        2: 'get_weather{"city":"Rome"}',
    }


def test_openai_reads_the_refusal(server: ModelServer) -> None:
    chunks = streamed(server, "chat_refusal.sse")
    refused = "".join(chunk.choices[0].delta.refusal or "" for chunk in chunks if chunk.choices)
    assert refused == "I'm sorry, I can't help with that."


@pytest.mark.parametrize("case", TRANSCRIPTS["chat"], ids=lambda case: str(case["status"]))
def test_openai_reads_the_refusals_of_every_status(server: ModelServer, case: dict[str, Any]) -> None:
    server.play(refusal(case["status"], case["body"], x_request_id="req_9"))
    with openai_client(server) as client, pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(model="m-1", messages=[{"role": "user", "content": "hi"}])
    assert (caught.value.status_code, caught.value.request_id) == (case["status"], "req_9")


def test_anthropic_reads_the_plain_answer(server: ModelServer) -> None:
    read = message(server, "messages_plain.sse")
    assert [block.model_dump(exclude_none=True) for block in read.content] == [
        {"type": "text", "text": "Grüße aus Köln 🌉."}
    ]
    assert (read.stop_reason, read.usage.input_tokens, read.usage.output_tokens) == ("end_turn", 25, 15)


def test_anthropic_reads_tool_calls(server: ModelServer) -> None:
    read = message(server, "messages_parallel_tools.sse")
    assert [(block.id, block.name, block.input) for block in read.content if block.type == "tool_use"] == [
        ("toolu_a1", "get_weather", {"city": "Paris"}),
        ("toolu_b2", "get_time", {}),
    ]


def test_anthropic_reads_thinking_with_its_signature(server: ModelServer) -> None:
    read = message(server, "messages_thinking.sse")
    assert [block.model_dump(exclude_none=True) for block in read.content] == [
        {"type": "thinking", "thinking": "Two and two.", "signature": "EqQBCgIYAhIM"},
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3"},
        {"type": "text", "text": "Four."},
    ]


def test_anthropic_reads_a_search_of_its_own(server: ModelServer) -> None:
    read = message(server, "messages_web_search.sse")
    kinds = [block.type for block in read.content]
    assert kinds == ["server_tool_use", "web_search_tool_result", "text"]


@pytest.mark.parametrize("case", TRANSCRIPTS["messages"], ids=lambda case: str(case["status"]))
def test_anthropic_reads_the_refusals_of_every_status(server: ModelServer, case: dict[str, Any]) -> None:
    server.play(refusal(case["status"], case["body"], request_id="req_9"))
    with anthropic_client(server) as client, pytest.raises(anthropic.APIStatusError) as caught:
        client.messages.create(model="m-1", max_tokens=10, messages=[{"role": "user", "content": "hi"}])
    assert (caught.value.status_code, caught.value.request_id) == (case["status"], "req_9")
