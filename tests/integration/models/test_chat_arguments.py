"""Arguments of tool calls: streamed, mended, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.models._calls import (
    answer,
    failure,
    openai,
)
from tests.integration.modelserver import (
    ModelServer,
    chat,
    refusal,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"path": "a/bc/de', "the arguments of a tool call are no JSON object (17 characters)"),
        ("{'path': 'a/bc/de", "the arguments of a tool call are no JSON object (17 characters)"),
        ("[1]", "the arguments of a tool call are no JSON object (3 characters)"),
        ("nonsense", "the arguments of a tool call are no JSON object (8 characters)"),
        ("{" * 4_000 + "}", "the arguments of a tool call are no JSON object (4001 characters)"),
        (f'{{"a":{"[" * 9_000}}}', "the arguments of a tool call are no JSON object (9006 characters)"),
        ("{" * 99_999 + "}", "the arguments of a tool call are no JSON object (100000 characters)"),
    ],
)
async def test_arguments_that_were_cut_are_not_guessed_at(server: ModelServer, arguments: str, text: str) -> None:
    call = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "rm", "arguments": arguments}}]}
    server.play(chat(call, reason="tool_calls"))
    error, _ = await failure(openai(server))
    assert str(error) == f"openai: {text}"


@pytest.mark.parametrize(
    ("arguments", "args", "warnings"),
    [
        ("", {}, ()),
        ("{'a': 1, }", {"a": 1}, ("the arguments of a tool call were not quite JSON",)),
        ({"a": 1}, {"a": 1}, ()),
        (r'{"a": "\ud83c\udf09"}', {"a": "🌉"}, ()),
    ],
)
async def test_arguments_that_are_nearly_json_are_mended(
    server: ModelServer, arguments: Any, args: Any, warnings: Any
) -> None:
    call = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "t", "arguments": arguments}}]}
    server.play(chat(call, reason="tool_calls"))
    chunks = await answer(openai(server))
    assert [chunk.get("args") for chunk in chunks if chunk.type == "tool-call"] == [args]
    assert chunks[-1].get("warnings") == warnings


async def test_arguments_cut_by_the_limit_of_tokens_are_given_as_far_as_they_go(server: ModelServer) -> None:
    """No tool runs after `length`."""
    call = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "t", "arguments": '{"a": "xy'}}]}
    server.play(chat(call, reason="length"))
    chunks = await answer(openai(server))
    assert (chunks[-2].get("args"), chunks[-1].get("reason")) == ({"a": "xy"}, "length")


async def test_calls_that_are_numbered_wrongly_or_have_no_id(server: ModelServer) -> None:
    first = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "t", "arguments": "{}"}}]}
    second = {"tool_calls": [{"index": 0, "id": "b", "function": {"name": "t", "arguments": '{"n": 2}'}}]}
    bare = {"tool_calls": [{"function": {"name": "u", "arguments": "{}"}}]}
    server.play(chat(first, second, bare, reason="tool_calls"))
    calls = [chunk for chunk in await answer(openai(server)) if chunk.type == "tool-call"]
    assert [(call.get("tool_name"), call.get("args")) for call in calls] == [
        ("t", {}),
        ("t", {"n": 2}),
        ("u", {}),
    ]
    ids = [call.get("tool_call_id") for call in calls]
    assert ids[:2] == ["a", "b"]
    assert ids[2].startswith("call_")


async def test_a_server_that_does_not_stream_is_understood(server: ModelServer) -> None:
    body = {
        "id": "x",
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    server.play(refusal(200, body))
    chunks = await answer(openai(server))
    assert [chunk.text for chunk in chunks if chunk.type == "text-delta"] == ["whole"]
    assert (chunks[-1].get("reason"), chunks[-1].get("usage").total_tokens) == ("stop", 3)
