"""OpenAIChat against a server that speaks Chat Completions."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from sluiceway.messages import (
    MessageList,
    Prompt,
    PromptFile,
    PromptImage,
    PromptMessage,
    PromptReasoning,
    PromptText,
    PromptToolCall,
    PromptToolResult,
    Reply,
    Usage,
)
from sluiceway.models import ChatQuirks, ModelRequest, OpenAIChat
from sluiceway.tools import Tool
from tests.integration.models._calls import KEY, answer, asking, openai, shown
from tests.integration.modelserver import Answer, ModelServer, chat, transcript

pytestmark = pytest.mark.anyio

METADATA = (
    "response-metadata",
    {
        "id": "chatcmpl-B9MBs8Cj",
        "model_id": "gpt-5-mini-2025-08-07",
        "timestamp": datetime(2025, 3, 10, 1, 25, 52, tzinfo=UTC),
    },
)
USAGE = Usage(19, 10, 29, (("cached_tokens", 8), ("reasoning_tokens", 4)))
WEATHER = Tool("get_weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})


def end(reason: str, usage: Usage | None = USAGE, **metadata: Any) -> tuple[str, dict[str, Any]]:
    return "finish", {"reason": reason, "usage": usage, "provider_metadata": metadata, "warnings": ()}


def call(call_id: str, name: str, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "tool-call", {
        "tool_call_id": call_id,
        "tool_name": name,
        "args": args,
        "provider_executed": False,
    }


def block(kind: str, number: int, *texts: str) -> list[tuple[str, dict[str, Any]]]:
    name = f"{kind}-{number}"
    deltas = [(f"{kind}-delta", {"id": name, "text": text}) for text in texts]
    return [(f"{kind}-start", {"id": name}), *deltas, (f"{kind}-end", {"id": name})]


async def played(server: ModelServer, name: str, **more: Any) -> list[tuple[str, dict[str, Any]]]:
    server.play(Answer([transcript(name)]))
    return shown(await answer(openai(server, **more)))


async def test_a_plain_answer(server: ModelServer) -> None:
    assert await played(server, "chat_plain.sse") == [
        METADATA,
        *block("text", 1, "Grüße", " aus", " Köln 🌉", "."),
        end("stop"),
    ]


async def test_every_chunk_carries_the_run(server: ModelServer) -> None:
    server.play(Answer([transcript("chat_plain.sse")]))
    assert {chunk.run_id for chunk in await answer(openai(server))} == {"run-1"}


async def test_text_and_a_call_whose_arguments_are_streamed(server: ModelServer) -> None:
    assert await played(server, "chat_tools.sse") == [
        METADATA,
        *block("text", 1, "Let me look."),
        call("call_DdmO9pD3", "get_weather", {"city": "Paris"}),
        end("tool-calls"),
    ]


async def test_parallel_calls_come_in_order(server: ModelServer) -> None:
    assert await played(server, "chat_parallel_tools.sse") == [
        METADATA,
        call("call_a1", "get_weather", {"city": "Paris"}),
        call("call_b2", "get_time", {"zone": "CET"}),
        call("call_c3", "get_weather", {"city": "Rome"}),
        end("tool-calls"),
    ]


async def test_a_refusal_is_shown_and_ends_as_a_content_filter(server: ModelServer) -> None:
    assert await played(server, "chat_refusal.sse") == [
        METADATA,
        *block("text", 1, "I'm sorry, ", "I can't help with that."),
        end("content-filter", openai={"refusal": True}),
    ]


async def test_reasoning_is_apart_from_text(server: ModelServer) -> None:
    chunks = await played(server, "chat_reasoning.sse")
    assert chunks[1:] == [
        *block("reasoning", 1, "Two and", " two."),
        *block("text", 2, "Four", "."),
        end("stop"),
    ]


async def test_signed_reasoning_is_kept_and_goes_back_as_it_came(server: ModelServer) -> None:
    server.play(Answer([transcript("chat_reasoning_details.sse")]))
    model = openai(server, provider="openrouter")
    messages = MessageList()
    messages.add("hi")
    reply = Reply(messages)
    reply.start_step()
    for chunk in await answer(model):
        reply.apply(chunk)
    messages.add("and now?")
    await answer(model, ModelRequest(messages.to_prompt()))
    detail = {
        "type": "reasoning.text",
        "text": "Thinking.",
        "signature": "c2lnbmVk",
        "format": "anthropic-claude-v1",
        "index": 0,
    }
    assert server.requests[1].json["messages"][1] == {
        "role": "assistant",
        "content": "Done.",
        "reasoning_details": [detail],
    }


async def test_what_is_asked_is_sent(server: ModelServer) -> None:
    server.play(chat("ok"))
    settings = {
        "temperature": 0.2,
        "top_p": 0.9,
        "max_tokens": 100,
        "stop": ["END"],
        "seed": 7,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "reasoning_effort": "low",
        "parallel_tool_calls": False,
        "headers": {"X-Team": "blue-team"},
    }
    request = asking(
        tools=(WEATHER,),
        tool_choice={"type": "tool", "tool_name": "get_weather"},
        settings=settings,
        provider_options={"openai": {"store": False}, "anthropic": {"thinking": {}}},
    )
    await answer(openai(server), request)
    received = server.requests[0]
    assert (received.method, received.path) == ("POST", "/v1/chat/completions")
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["x-team"] == "blue-team"
    assert received.json == {
        "model": "m-1",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.2,
        "top_p": 0.9,
        "max_completion_tokens": 100,
        "stop": ["END"],
        "seed": 7,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "reasoning_effort": "low",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "get_weather",
                    "description": "The weather.",
                    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
                },
            }
        ],
        "parallel_tool_calls": False,
        "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
        "store": False,
    }


async def test_every_kind_of_message_is_sent(server: ModelServer) -> None:
    server.play(chat("ok"))
    prompt = Prompt(
        (
            PromptMessage("system", (PromptText("Be brief."),)),
            PromptMessage(
                "user",
                (
                    PromptText("What is it?"),
                    PromptImage("image/png", data=b"png", provider_metadata={"openai": {"detail": "low"}}),
                    PromptImage("image/*", url="https://example.com/a.jpg"),
                    PromptFile("application/pdf", data=b"pdf", filename="a.pdf"),
                    PromptFile("audio/wav", data=b"wav"),
                ),
            ),
            PromptMessage(
                "assistant",
                (PromptReasoning("hm"), PromptText("Let me see."), PromptToolCall("c1", "look", {"at": "ü"})),
            ),
            PromptMessage(
                "tool",
                (
                    PromptToolResult("c1", "look", {"seen": 1}),
                    PromptToolResult("c2", "look", "no", is_error=True),
                ),
            ),
        )
    )
    await answer(openai(server), ModelRequest(prompt))
    encoded = {name: base64.b64encode(name.encode()).decode() for name in ("png", "pdf", "wav")}
    assert server.requests[0].json["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {
                    "type": "image_url",
                    "image_url": {"url": f"data:image/png;base64,{encoded['png']}", "detail": "low"},
                },
                {"type": "image_url", "image_url": {"url": "https://example.com/a.jpg"}},
                {
                    "type": "file",
                    "file": {
                        "file_data": f"data:application/pdf;base64,{encoded['pdf']}",
                        "filename": "a.pdf",
                    },
                },
                {"type": "input_audio", "input_audio": {"data": encoded["wav"], "format": "wav"}},
            ],
        },
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "look", "arguments": '{"at": "ü"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"seen": 1}'},
        {"role": "tool", "tool_call_id": "c2", "content": "no"},
    ]


@pytest.mark.parametrize(
    ("choice", "tools", "provider", "sent"),
    [
        ("auto", True, "openai", "auto"),
        ("required", True, "openai", "required"),
        ("required", True, "mistral", "any"),
        ("none", True, "openai", "none"),
        ("none", False, "vllm", "none"),
        ("none", False, "openai", None),
        ("auto", False, "vllm", None),
        (None, True, "openai", None),
    ],
)
async def test_b068_the_tool_choice_is_sent_also_without_tools(
    server: ModelServer, choice: Any, tools: bool, provider: str, sent: str | None
) -> None:
    """OpenAI refuses a choice without tools; there its absence means the same."""
    server.play(chat("ok"))
    request = asking(tools=(WEATHER,) if tools else (), tool_choice=choice)
    await answer(openai(server, provider=provider), request)
    body = server.requests[0].json
    assert (body.get("tool_choice"), "tools" in body) == (sent, tools)


class City(BaseModel):
    name: str
    people: int


class Loose(BaseModel):
    name: str = "x"


@pytest.mark.parametrize(("shape", "strict"), [(City, True), (Loose, False)])
async def test_a_shape_is_asked_for_by_its_schema(server: ModelServer, shape: type, strict: bool) -> None:
    server.play(chat('{"name": "Rome", "people": 3}'))
    await answer(openai(server), asking(structured_output=shape))
    assert server.requests[0].json["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": shape.__name__,
            "strict": strict,
            "schema": {**shape.model_json_schema(), "additionalProperties": False},
        },
    }


async def test_a_server_that_knows_no_schemas_is_told_in_words(server: ModelServer) -> None:
    server.play(chat("{}"))
    await answer(openai(server, provider="deepseek"), asking(structured_output={"type": "object"}))
    body = server.requests[0].json
    assert body["response_format"] == {"type": "json_object"}
    assert body["messages"][0] == {
        "role": "system",
        "content": 'Answer with one JSON object, and nothing else, that fits this JSON schema:\n{"type": "object"}',
    }
    assert not openai(server, quirks=ChatQuirks(structured=None)).structured


async def test_what_a_provider_has_no_word_for_is_left_out_with_a_warning(server: ModelServer) -> None:
    server.play(chat("ok"))
    chunks = await answer(openai(server), asking(settings={"top_k": 5}))
    assert chunks[-1].get("warnings") == ("top_k is not known to this provider and was left out",)
    assert "top_k" not in server.requests[0].json
    await answer(openai(server, provider="vllm"), asking(settings={"top_k": 5}))
    assert server.requests[1].json["top_k"] == 5


async def test_ids_are_of_the_length_that_mistral_asks_for(server: ModelServer) -> None:
    server.play(chat("ok"))
    prompt = Prompt(
        (
            PromptMessage(
                "assistant",
                (PromptToolCall("call_1-long", "t", {}), PromptToolCall("abcDEF123", "t", {})),
            ),
            PromptMessage("tool", (PromptToolResult("call_1-long", "t", "a"), PromptToolResult("abcDEF123", "t", "b"))),
        )
    )
    await answer(openai(server, provider="mistral"), ModelRequest(prompt))
    assistant, *results = server.requests[0].json["messages"]
    ids = [call["id"] for call in assistant["tool_calls"]]
    assert ids == [result["tool_call_id"] for result in results]
    assert (len(ids[0]), ids[0].isalnum(), ids[1]) == (9, True, "abcDEF123")


async def test_deepseek_gets_its_reasoning_back(server: ModelServer) -> None:
    server.play(chat("ok"))
    prompt = Prompt((PromptMessage("assistant", (PromptReasoning("hm"), PromptText("4"))),))
    await answer(openai(server, provider="deepseek"), ModelRequest(prompt))
    assert server.requests[0].json["messages"] == [{"role": "assistant", "content": "4", "reasoning_content": "hm"}]


async def test_the_key_of_the_environment_goes_to_its_own_provider_only(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    server.play(chat("ok"))
    await answer(OpenAIChat("m-1", base_url=server.url))
    assert "authorization" not in server.requests[0].headers
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/")
    await answer(OpenAIChat("m-1"))
    assert server.requests[1].headers["authorization"] == f"Bearer {KEY}"
    assert server.requests[1].path == "/v1/chat/completions"


async def test_azure_takes_its_key_in_a_header_of_its_own(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", f"http://127.0.0.1:{server.port}")
    server.play(chat("ok"))
    await answer(OpenAIChat("gpt", provider="azure"))
    received = server.requests[0]
    assert (received.path, received.headers["api-key"]) == ("/openai/v1/chat/completions", KEY)
    assert "authorization" not in received.headers
