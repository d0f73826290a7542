"""AnthropicMessages against a server that speaks Messages."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from sluiceway.errors import MessageError
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
from sluiceway.models import AnthropicMessages, ModelRequest
from sluiceway.tools import Tool
from tests.integration.models._calls import KEY, answer, anthropic, asking, shown
from tests.integration.modelserver import Answer, ModelServer, transcript
from tests.integration.modelserver import anthropic as saying

pytestmark = pytest.mark.anyio

METADATA = (
    "response-metadata",
    {"id": "msg_01XFDUDY", "model_id": "claude-sonnet-4-5-20250929", "timestamp": None},
)
CACHED = (("cached_tokens", 8), ("cache_creation_tokens", 3))
WEATHER = Tool("get_weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
LOOK = PromptToolCall("c1", "look", {"at": "it"})


def end(reason: str, output_tokens: int = 15) -> tuple[str, dict[str, Any]]:
    usage = Usage(36, output_tokens, 36 + output_tokens, CACHED)
    return "finish", {"reason": reason, "usage": usage, "provider_metadata": {}, "warnings": ()}


def call(call_id: str, name: str, args: dict[str, Any], own: bool = False) -> tuple[str, dict[str, Any]]:
    return "tool-call", {
        "tool_call_id": call_id,
        "tool_name": name,
        "args": args,
        "provider_executed": own,
    }


def block(kind: str, number: int, *texts: str, **metadata: Any) -> list[tuple[str, dict[str, Any]]]:
    name = f"{kind}-{number}"
    deltas = [(f"{kind}-delta", {"id": name, "text": text}) for text in texts]
    last = {"id": name} | ({"provider_metadata": {"anthropic": metadata}} if metadata else {})
    return [(f"{kind}-start", {"id": name}), *deltas, (f"{kind}-end", last)]


async def played(server: ModelServer, name: str) -> list[tuple[str, dict[str, Any]]]:
    server.play(Answer([transcript(name)]))
    return shown(await answer(anthropic(server)))


async def sent(server: ModelServer, *messages: PromptMessage, **more: Any) -> dict[str, Any]:
    server.play(saying("ok"))
    await answer(anthropic(server), ModelRequest(Prompt(messages), **more))
    return server.requests[0].json


async def test_a_plain_answer(server: ModelServer) -> None:
    assert await played(server, "messages_plain.sse") == [
        METADATA,
        *block("text", 1, "Grüße", " aus Köln 🌉", "."),
        end("stop"),
    ]


async def test_text_and_a_call_whose_arguments_are_streamed(server: ModelServer) -> None:
    assert await played(server, "messages_tools.sse") == [
        METADATA,
        *block("text", 1, "Let me look."),
        call("toolu_01T1x1fJ", "get_weather", {"city": "Paris"}),
        end("tool-calls", 89),
    ]


async def test_parallel_calls_come_in_order(server: ModelServer) -> None:
    assert await played(server, "messages_parallel_tools.sse") == [
        METADATA,
        call("toolu_a1", "get_weather", {"city": "Paris"}),
        call("toolu_b2", "get_time", {}),
        end("tool-calls", 89),
    ]


async def test_thinking_keeps_its_signature(server: ModelServer) -> None:
    assert await played(server, "messages_thinking.sse") == [
        METADATA,
        *block("reasoning", 1, "Two and", " two.", signature="EqQBCgIYAhIM"),
        *block("reasoning", 2, redacted_data="EmwKAhgBEgy3"),
        *block("text", 3, "Four."),
        end("stop"),
    ]


async def test_a_refusal_ends_as_a_content_filter(server: ModelServer) -> None:
    assert (await played(server, "messages_refusal.sse"))[-1] == end("content-filter", 3)


async def test_a_tool_of_the_provider_gives_call_result_and_source(server: ModelServer) -> None:
    chunks = await played(server, "messages_web_search.sse")
    found = [
        {
            "type": "web_search_result",
            "title": "Weather",
            "url": "https://example.com/w",
            "encrypted_content": "Ev0DCioI",
            "page_age": None,
        }
    ]
    source = chunks[5][1]["part"]
    assert chunks == [
        METADATA,
        call("srvtoolu_01", "web_search", {"query": "weather NYC"}, own=True),
        (
            "tool-result",
            {
                "tool_call_id": "srvtoolu_01",
                "tool_name": "web_search",
                "result": found,
                "provider_executed": True,
            },
        ),
        ("text-start", {"id": "text-1"}),
        ("text-delta", {"id": "text-1", "text": "Sunny."}),
        ("source", {"part": source}),
        ("text-end", {"id": "text-1"}),
        end("stop", 30),
    ]
    assert (source.url, source.title) == ("https://example.com/w", "Weather")


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        (
            "messages_thinking.sse",
            [
                {"type": "thinking", "thinking": "Two and two.", "signature": "EqQBCgIYAhIM"},
                {"type": "redacted_thinking", "data": "EmwKAhgBEgy3"},
                {"type": "text", "text": "Four."},
            ],
        ),
        (
            "messages_web_search.sse",
            [
                {
                    "type": "server_tool_use",
                    "id": "srvtoolu_01",
                    "name": "web_search",
                    "input": {"query": "weather NYC"},
                },
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srvtoolu_01",
                    "content": [
                        {
                            "type": "web_search_result",
                            "title": "Weather",
                            "url": "https://example.com/w",
                            "encrypted_content": "Ev0DCioI",
                            "page_age": None,
                        }
                    ],
                },
                {"type": "text", "text": "Sunny."},
            ],
        ),
    ],
)
async def test_an_answer_goes_back_as_it_came(server: ModelServer, name: str, blocks: list[dict[str, Any]]) -> None:
    server.play(Answer([transcript(name)]))
    messages = MessageList()
    messages.add("hi")
    reply = Reply(messages)
    reply.start_step()
    for chunk in await answer(anthropic(server)):
        reply.apply(chunk)
    messages.add("and now?")
    await answer(anthropic(server), ModelRequest(messages.to_prompt()))
    assert server.requests[1].json["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [{"type": "text", "text": "and now?"}]},
    ]


async def test_what_is_asked_is_sent(server: ModelServer) -> None:
    server.play(saying("ok"))
    settings = {
        "temperature": 0.2,
        "top_p": 0.9,
        "top_k": 40,
        "max_tokens": 100,
        "stop": "END",
        "seed": 7,
        "presence_penalty": 0.1,
        "reasoning_effort": "low",
        "parallel_tool_calls": False,
        "headers": {"anthropic-beta": "some-beta"},
    }
    request = asking(
        tools=(WEATHER,),
        tool_choice="required",
        settings=settings,
        structured_output={"type": "object", "properties": {}},
        provider_options={"anthropic": {"metadata": {"user_id": "u"}}, "openai": {"store": False}},
    )
    chunks = await answer(anthropic(server), request)
    received = server.requests[0]
    names = ("x-api-key", "anthropic-version", "anthropic-beta", "content-type")
    assert received.path == "/v1/messages"
    assert [received.headers[name] for name in names] == [
        KEY,
        "2023-06-01",
        "some-beta",
        "application/json",
    ]
    assert received.json == {
        "model": "m-1",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "stream": True,
        "temperature": 0.2,
        "top_p": 0.9,
        "top_k": 40,
        "stop_sequences": ["END"],
        "output_config": {
            "effort": "low",
            "format": {
                "type": "json_schema",
                "schema": {"type": "object", "properties": {}, "additionalProperties": False},
            },
        },
        "tools": [
            {
                "name": "get_weather",
                "description": "The weather.",
                "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
            }
        ],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "metadata": {"user_id": "u"},
    }
    assert chunks[-1].get("warnings") == (
        "seed is not known to this provider and was left out",
        "presence_penalty is not known to this provider and was left out",
    )


async def test_every_kind_of_message_is_sent(server: ModelServer) -> None:
    png, pdf = base64.b64encode(b"png").decode(), base64.b64encode(b"pdf").decode()
    cached = {"anthropic": {"cache_control": {"type": "ephemeral"}}}
    body = await sent(
        server,
        PromptMessage("system", (PromptText("Be brief.", cached),)),
        PromptMessage("system", (PromptText("Be kind."),)),
        PromptMessage(
            "user",
            (
                PromptText(""),
                PromptText("What is it?"),
                PromptImage("image/png", data=b"png"),
                PromptImage("image/*", url="https://example.com/a.jpg"),
                PromptImage("image/*", url=f"data:image/gif;base64,{png}"),
                PromptFile("application/pdf", data=b"pdf", filename="a.pdf"),
                PromptFile("text/markdown", data=b"# hi"),
            ),
        ),
        PromptMessage("assistant", (PromptReasoning("another's"), PromptText("Let me see."), LOOK)),
        PromptMessage("tool", (PromptToolResult("c1", "look", {"seen": 1}),)),
        PromptMessage("user", (PromptText("Well?"),)),
        PromptMessage("assistant", (PromptToolCall("c2", "look", None),)),
        PromptMessage("tool", (PromptToolResult("c2", "look", "no", is_error=True),)),
    )
    assert body["system"] == [
        {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Be kind."},
    ]
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.jpg"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": png}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": pdf},
                    "title": "a.pdf",
                },
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "# hi"},
                },
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "it"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": '{"seen": 1}'},
                {"type": "text", "text": "Well?"},
            ],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c2", "name": "look", "input": {}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True}],
        },
    ]


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ({"type": "tool", "tool_name": "get_weather"}, {"type": "tool", "name": "get_weather"}),
        (None, None),
    ],
)
async def test_the_tool_choice_is_sent(server: ModelServer, choice: Any, wanted: Any) -> None:
    body = await sent(server, PromptMessage("user", (PromptText("x"),)), tools=(WEATHER,), tool_choice=choice)
    assert body.get("tool_choice") == wanted


async def test_b068_a_history_of_calls_without_tools_is_sent_with_a_choice_of_none(
    server: ModelServer,
) -> None:
    """The API refuses tool blocks where no tools are defined."""
    history = (
        PromptMessage("user", (PromptText("x"),)),
        PromptMessage("assistant", (LOOK,)),
        PromptMessage("tool", (PromptToolResult("c1", "look", "seen"),)),
    )
    for choice in ("none", "auto", None):
        body = await sent(server, *history, tool_choice=choice)
        assert body["tools"] == [{"name": "look", "input_schema": {"type": "object"}}]
        assert body["tool_choice"] == {"type": "none"}
    assert "tools" not in await sent(server, history[0], tool_choice="none")


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (PromptFile("audio/wav", data=b"x"), "anthropic: files of type audio/wav are not taken"),
        (PromptFile("text/plain", url="data:text/plain,hello"), "anthropic: a data URL must be in base64"),
        (PromptImage("image/png", url="data:image/png;base64,?"), "anthropic: a data URL that is no base64"),
    ],
)
async def test_a_file_that_cannot_be_sent_is_an_error(server: ModelServer, item: Any, text: str) -> None:
    with pytest.raises(MessageError, match=text):
        await sent(server, PromptMessage("user", (item,)))


async def test_the_number_of_tokens_has_a_default(server: ModelServer) -> None:
    server.play(saying("ok"))
    await answer(anthropic(server))
    await answer(anthropic(server, max_tokens=512))
    assert [request.json["max_tokens"] for request in server.requests] == [8192, 512]


async def test_keys_and_addresses_come_from_the_environment(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.port}/")
    server.play(saying("ok"))
    await answer(AnthropicMessages("m-1"))
    assert (server.requests[0].path, server.requests[0].headers["x-api-key"]) == ("/v1/messages", KEY)
