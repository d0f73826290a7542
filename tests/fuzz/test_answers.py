"""What a provider sends: any bytes, any events, any arguments. A `ModelError`, or the chunks that a model may send."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluiceway import Agent
from sluiceway.errors import ModelError
from sluiceway.messages import Chunk
from sluiceway.models import OpenAIChat, OpenAIEmbeddings, OpenAIModerations
from sluiceway.models._answer import Answer, ToolDraft
from sluiceway.models._chat_events import ChatEvents
from sluiceway.models._errors import Refusals
from sluiceway.models._messages_events import MessagesEvents
from sluiceway.models._sse import EventTooLong, ServerEvent, SSEDecoder
from sluiceway.testing import ChunkModel, check_model
from tests.fuzz.values import broken_json, cut_anywhere, json_values, mutated, nested

KEY = "sk-fuzz-0123456789"
REFUSALS = Refusals("fuzz", "fuzz-1", (KEY,))

CHAT = (
    {"id": "c1", "created": 1_900_000_000, "model": "m", "choices": [{"index": 0, "delta": {"content": "Hi"}}]},
    {
        "choices": [
            {"delta": {"reasoning_content": "hm", "reasoning_details": [{"type": "t", "index": 0, "text": "a"}]}}
        ]
    },
    {
        "choices": [
            {
                "delta": {
                    "tool_calls": [
                        {"index": 0, "id": "call_1", "function": {"name": "look", "arguments": '{"a": 1}'}},
                        {"index": 1, "function": {"name": "look", "arguments": {"b": [2]}}, "extra_content": {"x": 1}},
                    ]
                }
            }
        ]
    },
    {"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": []}]}}]},
    {
        "choices": [
            {
                "delta": {
                    "annotations": [{"url_citation": {"url": "https://example.org", "title": "t"}}],
                    "images": [{"image_url": {"url": "data:image/png;base64,AA=="}}],
                    "refusal": "no",
                },
                "finish_reason": "stop",
            }
        ]
    },
    {
        "choices": [],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}},
    },
    {"error": {"message": "overloaded", "type": "overloaded_error", "code": 529}},
)
MESSAGES = (
    {"type": "message_start", "message": {"id": "m1", "model": "m", "usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "thinking", "thinking": "", "signature": "s"},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "signature_delta", "signature": "s"}},
    {"type": "content_block_start", "content_block": {"type": "tool_use", "id": "t1", "name": "look", "input": {}}},
    {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'}},
    {"type": "content_block_start", "content_block": {"type": "server_tool_use", "id": "t2", "name": "web"}},
    {"type": "content_block_start", "content_block": {"type": "web_tool_result", "tool_use_id": "t2", "content": []}},
    {"type": "content_block_start", "content_block": {"type": "redacted_thinking", "data": "AA=="}},
    {
        "type": "content_block_delta",
        "delta": {"type": "citations_delta", "citation": {"url": "https://example.org", "title": "t"}},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
    {"type": "ping"},
    {"type": "error", "error": {"type": "overloaded_error", "message": "later"}},
)
ENDS = {"chat": ({"choices": [{"finish_reason": "stop"}]},), "messages": MESSAGES[-4:-2]}
NAMES = sorted({name for one in (*CHAT, *MESSAGES) for name in [*one, "delta", "content", "text", "index", "function"]})

MAPPERS = {
    "chat": lambda: ChatEvents("fuzz", REFUSALS, "run-kit"),
    "messages": lambda: MessagesEvents("fuzz", REFUSALS, "run-kit"),
}
DOCUMENTS = {"chat": CHAT, "messages": MESSAGES}


def events_of(api: str) -> st.SearchStrategy[list[bytes]]:
    """The data of a few events: valid, broken, JSON of any shape; mostly with those that end an answer behind."""
    documents = DOCUMENTS[api]
    one = st.one_of(
        st.sampled_from(documents).map(json.dumps),
        st.sampled_from(documents).map(json.dumps),
        broken_json(documents, NAMES),
        json_values(NAMES, [str(one.get("type", "stop")) for one in documents]).map(json.dumps),
        st.just("[DONE]"),
    )
    ends = st.sampled_from([ENDS[api], ENDS[api], ENDS[api], ()])
    return st.tuples(st.lists(one, max_size=6), ends).map(
        lambda drawn: [text.encode("utf-8", "surrogatepass") for text in (*drawn[0], *map(json.dumps, drawn[1]))]
    )


def answered(mapper: Any, events: Sequence[ServerEvent]) -> list[Chunk]:
    """Return the chunks of an answer."""
    chunks: list[Chunk] = []
    for event in events:
        if mapper.done:
            break
        chunks += mapper.take(event)
    return [*chunks, *mapper.end()]


def used(chunks: list[Chunk]) -> None:
    """Have an agent take an answer, which may end in any way but by surprise."""

    async def run() -> None:
        await check_model(ChunkModel(chunks))
        agent = Agent(id="fuzzed", model=ChunkModel(chunks), max_steps=1)
        async with agent.stream("hello") as stream:
            types = [chunk.type async for chunk in stream]
            assert types.count("finish") == 1
            try:
                result = await stream.result()
            except ModelError:
                return
            json.dumps(result.response.ui_messages)

    anyio.run(run)


@pytest.mark.parametrize("api", sorted(MAPPERS))
def test_any_events_are_an_answer_or_a_model_error(api: str) -> None:
    @given(events_of(api))
    def check(events: list[bytes]) -> None:
        try:
            chunks = answered(MAPPERS[api](), [ServerEvent("", data) for data in events])
        except ModelError as error:
            told = f"{error!r} {error.body}"
            assert KEY not in told
            return
        used(chunks)

    check()


FRAMES = [b"data: ", b"data:", b"event: ", b"\n", b"\r", b"\r\n", b":", b"\xef\xbb\xbf", b"\xff", b"\x00", b"[DONE]"]


@given(
    st.lists(
        st.sampled_from([*FRAMES, *(json.dumps(one).encode() for one in CHAT)]) | st.binary(max_size=5), max_size=20
    ),
    st.lists(st.integers(0, 10_000), max_size=5),
)
def test_any_bytes_are_events_however_they_are_cut(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    whole, cut = SSEDecoder(), SSEDecoder()
    events = [*whole.feed(data), *whole.end()]
    assert [*(event for piece in cut_anywhere(data, cuts) for event in cut.feed(piece)), *cut.end()] == events
    with suppress(ModelError):
        answered(ChatEvents("fuzz", REFUSALS), events)


@given(st.lists(st.binary(max_size=40) | st.just(b"data: " + b"x" * 60 + b"\n"), max_size=10))
def test_what_is_kept_of_a_stream_is_bounded(pieces: list[bytes]) -> None:
    decoder = SSEDecoder(limit_bytes=100)
    try:
        events = [event for piece in pieces for event in decoder.feed(piece)]
    except EventTooLong:
        return
    assert all(len(event.data) <= 100 for event in events)


ARGUMENTS = ({"city": "Oslo", "days": [1, 2], "deep": {"a": None, "b": "é\n"}}, {}, {"text": 'quoted "x" \\'})


@given(
    broken_json(ARGUMENTS)
    | st.text(max_size=30)
    | st.sampled_from([nested(50), nested(5000), '{"a":' * 3000, "{" * 9]),
    st.sampled_from(["stop", "tool-calls", "length", "content-filter"]),
    st.lists(st.integers(0, 10_000), max_size=4),
)
@example('{"a": 1,}', "tool-calls", [])
@example("{'a': 1}", "tool-calls", [3])
@example('{"a": "cut of', "length", [])
def test_any_arguments_are_an_object_or_a_model_error(text: str, reason: str, cuts: list[int]) -> None:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in cuts)})
    pieces = [text[start:end] for start, end in itertools.pairwise(edges)]
    answer = Answer(REFUSALS, "run-kit")
    try:
        chunk = answer.tool_call(ToolDraft("c1", "look", pieces), reason)
    except ModelError as error:
        may_be_asked_again = error.retryable
        assert may_be_asked_again
        return
    assert isinstance(chunk.get("args"), dict)
    if reason not in ("length", "content-filter"):
        assert not text.strip() or text.strip().endswith("}"), "arguments that were cut off would be run"


def offline(body: bytes) -> httpx.AsyncClient:
    """A client whose server gives one answer to everything."""
    return httpx.AsyncClient(
        transport=httpx.MockTransport(
            lambda _: httpx.Response(200, content=body, headers={"content-type": "application/json"})
        )
    )


async def embedded(client: httpx.AsyncClient, /) -> None:
    model = OpenAIEmbeddings("m", base_url="http://fuzz.test", api_key=KEY, client=client, max_retries=0)
    vectors = await model.embed(["a", "b"])
    assert [[type(number) for number in vector] for vector in vectors] == [[float] * len(vectors[0])] * 2


async def classified(client: httpx.AsyncClient, /) -> None:
    model = OpenAIModerations(base_url="http://fuzz.test", api_key=KEY, client=client, max_retries=0)
    scores = await model.classify(["a", "b"])
    assert all(isinstance(score, float) for one in scores for score in one.values())


async def completed(client: httpx.AsyncClient, /) -> None:
    model = OpenAIChat("m", base_url="http://fuzz.test", api_key=KEY, client=client, max_retries=0)
    await Agent(id="a", model=model, max_steps=1).generate("hello")


BODIES: dict[Callable[[httpx.AsyncClient], Any], Any] = {
    embedded: {"data": [{"index": 1, "embedding": [0.5, 1]}, {"index": 0, "embedding": [1, 2.5]}]},
    classified: {"results": [{"category_scores": {"hate": 0.5, "odd": None}}, {"category_scores": {}}]},
    completed: {
        "id": "c1",
        "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    },
}


@pytest.mark.parametrize("ask", BODIES, ids=lambda ask: ask.__name__)
def test_any_body_is_an_answer_or_a_model_error(ask: Callable[[httpx.AsyncClient], Any]) -> None:
    @given(broken_json([BODIES[ask]], NAMES) | mutated([BODIES[ask]], ["data", "results", "index"]).map(json.dumps))
    def check(body: str) -> None:
        async def run() -> None:
            async with offline(body.encode("utf-8", "surrogatepass")) as client:
                try:
                    await ask(client)
                except ModelError as error:
                    told = f"{error!r} {error.body}"
                    assert KEY not in told

        anyio.run(run)

    check()
