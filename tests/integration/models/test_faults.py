"""Every fault of a stream is a ModelError that says what was received, and holds no key."""

from __future__ import annotations

import gzip
from typing import Any

import anyio
import pytest

from tests.integration.models._calls import (
    BOTH,
    KEY,
    WHOLE,
    Make,
    anthropic,
    failure,
    half,
    openai,
    quick,
    text,
)
from tests.integration.modelserver import (
    Answer,
    Close,
    Hang,
    ModelServer,
    Pause,
    Reset,
    Step,
    chat,
    sse,
    transcript,
)
from tests.integration.modelserver import anthropic as saying

pytestmark = pytest.mark.anyio


def pieces(data: bytes, size: int) -> list[Step]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@BOTH
@pytest.mark.parametrize("size", [1, 3, 16, 100_000])
async def test_cuts_anywhere_change_nothing(server: ModelServer, make: Make, name: str, plain: str, size: int) -> None:
    """In the middle of lines and of UTF-8 characters, and many events in one packet."""
    server.play(Answer(pieces(transcript(plain), size)))
    assert await text(make(server)) == WHOLE


@BOTH
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
@pytest.mark.parametrize("newline", [b"\r\n", b"\r"])
async def test_other_line_ends_and_framings_change_nothing(
    server: ModelServer, make: Make, name: str, plain: str, newline: bytes, framing: str
) -> None:
    data = transcript(plain).replace(b"\n", newline)
    server.play(Answer(pieces(data, 7), framing=framing))
    assert await text(make(server)) == WHOLE


@BOTH
async def test_keep_alive_comments_change_nothing(server: ModelServer, make: Make, name: str, plain: str) -> None:
    ping = b": keep-alive\n\n"
    data = transcript(plain).replace(b"\n\n", b"\n\n" + ping)
    server.play(Answer([*([ping, Pause(0.2)] * 5), data]))
    assert await text(make(server, timeouts=quick(read_s=0.8))) == WHOLE


@BOTH
async def test_a_packed_stream_is_read_and_a_broken_one_is_an_error(
    server: ModelServer, make: Make, name: str, plain: str
) -> None:
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    server.play(Answer(pieces(gzip.compress(transcript(plain)), 9), headers=headers))
    assert await text(make(server)) == WHOLE
    server.play(Answer([transcript(plain)], headers=headers))
    error, got = await failure(make(server))
    assert got == ""
    assert str(error) == (f"{name}: the answer is no gzip: Error -3 while decompressing data: incorrect header check")
    headers["content-encoding"] = "br"
    error, _ = await failure(make(server))
    assert str(error) == f"{name}: the answer is encoded as br, which was not asked for"
    assert server.requests[0].headers["accept-encoding"] == "identity"


@BOTH
async def test_a_giant_line_is_read(server: ModelServer, make: Make, name: str, plain: str) -> None:
    giant = "x" * 3_000_000
    server.play(saying(giant) if name == "anthropic" else chat(giant))
    assert await text(make(server)) == giant


@BOTH
async def test_an_end_without_its_empty_line_is_read(server: ModelServer, make: Make, name: str, plain: str) -> None:
    server.play(Answer([transcript(plain).rstrip(b"\n")]))
    assert await text(make(server)) == WHOLE


@BOTH
async def test_a_server_that_holds_on_after_the_last_event_is_not_waited_for(
    server: ModelServer, make: Make, name: str, plain: str
) -> None:
    server.play(Answer([transcript(plain), Hang()]))
    with anyio.fail_after(5):
        assert await text(make(server)) == WHOLE


async def test_halves_of_a_character_are_joined(server: ModelServer) -> None:
    """Servers that cut by UTF-16 units send the halves of an emoji in two deltas."""
    data = b""
    for escaped in (r'"a \ud83c"', r'"\udf09 b"', r'"\ud83c"'):
        data += b'data: {"choices": [{"delta": {"content": ' + escaped.encode() + b"}}]}\n\n"
    data += sse({"choices": [{"delta": {}, "finish_reason": "stop"}]}, "[DONE]")
    server.play(Answer([data]))
    assert await text(openai(server)) == "a 🌉 b\ufffd"


@BOTH
@pytest.mark.parametrize("framing", ["chunked", "close"])
async def test_a_stream_cut_in_the_middle_of_a_character(
    server: ModelServer, make: Make, name: str, plain: str, framing: str
) -> None:
    data = half(transcript(plain))
    server.play(Answer([data, Pause(0.05), Close()], framing=framing))
    error, got = await failure(make(server))
    assert WHOLE.startswith(got)
    assert got
    assert str(error).startswith(f"{name}: ")
    assert (error.provider, error.model_id, error.status, error.retryable) == (name, "m-1", None, True)
    expected = (
        f"the connection broke after {len(data)} bytes of the answer" if framing == "chunked" else "is no JSON object"
    )
    assert expected in str(error)


@BOTH
@pytest.mark.parametrize("framing", ["chunked", "close"])
async def test_a_stream_closed_between_two_events(
    server: ModelServer, make: Make, name: str, plain: str, framing: str
) -> None:
    events = transcript(plain).split(b"\n\n")
    steps: list[Step] = [b"\n\n".join(events[:4]) + b"\n\n"]
    server.play(Answer([*steps, *([] if framing == "chunked" else [Close()])], framing=framing))
    error, got = await failure(make(server))
    assert WHOLE.startswith(got)
    assert str(error) == f"{name}: the server closed the connection in the middle of the answer, after 4 events"


@BOTH
async def test_a_stream_that_is_reset(server: ModelServer, make: Make, name: str, plain: str) -> None:
    server.play(Answer([half(transcript(plain)), Pause(0.05), Reset()]))
    error, _ = await failure(make(server))
    assert f"{name}: the connection broke after" in str(error)
    assert error.retryable


@BOTH
async def test_half_a_json_object(server: ModelServer, make: Make, name: str, plain: str) -> None:
    """Its text is not shown: no guardrail has seen it."""
    server.play(Answer([b'data: {"type": "ping", "choices": [{"delta": {"content": "my secret wo\n\n']))
    error, got = await failure(make(server))
    shape = '{"type": "…", "choices": [{"delta": {"content": "…"'
    assert (got, str(error)) == ("", f"{name}: event 1 is no JSON object (64 bytes): {shape}")


@BOTH
@pytest.mark.parametrize(
    ("event", "shape"),
    [
        ("[1, 2]", "is no JSON object (6 bytes): [1, 2]"),
        ("plain words", "is no JSON object (11 bytes): no JSON"),
        ("[" * 100_000, "is no JSON object (100000 bytes): [[["),
        ({"unrelated": "words"}, ': {"unrelated": "…"}'),
    ],
)
async def test_events_that_are_something_else(
    server: ModelServer, make: Make, name: str, plain: str, event: Any, shape: str
) -> None:
    server.play(Answer([sse(event)]))
    error, _ = await failure(make(server))
    assert shape in str(error)
    assert len(str(error)) < 400


@pytest.mark.parametrize(
    "delta",
    [
        {"content": 5},
        {"content": [{"type": "text"}]},
        {"tool_calls": "x"},
        {"tool_calls": [{"function": "x"}]},
        {"reasoning_details": [5]},
        {"tool_calls": [{"id": ["x"], "function": {"name": "f"}}]},
        {"tool_calls": [{"id": "c", "function": {"name": ["f"]}}]},
        {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": 5}}]},
        {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": ["x"]}}]},
        "x",
    ],
)
async def test_deltas_of_the_wrong_types(server: ModelServer, delta: Any) -> None:
    server.play(Answer([sse({"choices": [{"delta": delta}]})]))
    error, _ = await failure(openai(server))
    assert "openai: event 1 is no chunk of a chat completion" in str(error)


@pytest.mark.parametrize(
    "fields",
    [{"usage": "x"}, {"usage": [1]}, {"x_groq": 5}, {"usage": {"prompt_tokens_details": 5}}],
)
async def test_counts_of_the_wrong_types(server: ModelServer, fields: Any) -> None:
    server.play(Answer([sse({"choices": [], **fields})]))
    error, _ = await failure(openai(server))
    assert "openai: event 1 is no chunk of a chat completion" in str(error)


@BOTH
async def test_an_error_that_is_null_is_none(server: ModelServer, make: Make, name: str, plain: str) -> None:
    server.play(Answer([transcript(plain).replace(b'data: {"', b'data: {"error": null, "')]))
    assert await text(make(server)) == WHOLE


@pytest.mark.parametrize(
    "event",
    [
        {"type": "content_block_start", "content_block": {"type": "tool_use", "id": 5, "name": "f"}},
        {"type": "content_block_start", "content_block": {"type": "tool_use", "id": "c", "name": ["f"]}},
        {"type": "content_block_start", "content_block": {"type": "thinking", "signature": 5}},
        {"type": "message_start"},
        {"type": "message_start", "message": 5},
        {"type": "content_block_start"},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": 5}},
        {"type": "content_block_delta", "delta": "x"},
        {"type": "message_delta", "delta": None},
        {"type": 5},
    ],
)
async def test_events_of_a_message_of_the_wrong_types(server: ModelServer, event: Any) -> None:
    server.play(Answer([sse(event)]))
    error, _ = await failure(anthropic(server))
    assert "anthropic: event 1 is no event of a message" in str(error)


@BOTH
@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        (
            "text/html; charset=utf-8",
            b"<html><title>Log\nin</title>my secret words",
            "text/html (42 bytes): Log in",
        ),
        ("text/plain", b"my secret words", "text/plain (15 bytes): no JSON"),
        ("application/json", b'{"error": {"message": "bad day"}}', "application/json (33 bytes): bad day"),
        ("application/json", b'{"half', 'application/json (6 bytes): {"…"'),
    ],
)
async def test_an_answer_of_another_type(
    server: ModelServer, make: Make, name: str, plain: str, kind: str, body: bytes, said: str
) -> None:
    server.play(Answer([body], headers={"content-type": kind, "x-request-id": "req_9"}, framing="length"))
    error, _ = await failure(make(server))
    assert str(error) == f"{name}: expected an event stream, received {said}"
    assert error.request_id == "req_9"


async def test_a_long_answer_of_another_type_takes_no_long_time(server: ModelServer) -> None:
    """The work is linear in the bytes, however small the pieces are."""
    server.play(Answer([b"x" * 1024] * 20_000, headers={"content-type": "text/html"}, framing="close"))
    with anyio.fail_after(5):
        error, _ = await failure(openai(server))
    assert str(error) == "openai: expected an event stream, received text/html (20480000 bytes): no JSON"


@BOTH
async def test_an_answer_with_nothing_in_it(server: ModelServer, make: Make, name: str, plain: str) -> None:
    for stream in (b"", b": ping\n\n", b"\n"):
        server.play(Answer([stream]))
        error, _ = await failure(make(server))
        assert "in the middle of the answer, after 0 events" in str(error)


@BOTH
async def test_an_event_that_never_ends(server: ModelServer, make: Make, name: str, plain: str) -> None:
    server.play(Answer([b"data: ", *([b"x" * 1_000_000] * 34), Hang()]))
    error, _ = await failure(make(server))
    assert str(error) == f"{name}: an event is longer than 32 MiB"


@BOTH
async def test_an_error_in_the_stream(server: ModelServer, make: Make, name: str, plain: str) -> None:
    event = {"type": "error", "error": {"type": "overloaded_error", "message": f"Overloaded, {KEY}"}}
    first = transcript(plain).split(b"\n\n")[:4]
    server.play(Answer([b"\n\n".join(first) + b"\n\n", sse(event, name=True)]))
    error, got = await failure(make(server))
    assert got.startswith("Grüße")
    assert (str(error), error.status, error.retryable) == (f"{name}: Overloaded, [secret]", 529, True)


async def test_an_error_that_comes_as_a_code(server: ModelServer) -> None:
    server.play(Answer([sse({"error": {"code": 502, "message": "upstream"}, "choices": []})]))
    error, _ = await failure(openai(server))
    assert (str(error), error.status, error.retryable) == ("openai: upstream", 502, True)
