"""The official clients, guarded in place."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic as anthropic_sdk
import anyio
import anyio.to_thread
import httpx2
import openai
import pydantic
import pytest

from sluiceway import Processor, Workflow
from sluiceway.errors import ConfigurationError
from sluiceway.processors import PIIDetector
from sluiceway.serve import guard_anthropic, guard_openai
from tests.integration.modelserver import Answer, Close, Hang, ModelServer, Reset, anthropic, chat, refusal, sse

CARD = "4111 1111 1111 1111"
MASKED = "**** **** **** 1111"
PII = Workflow("pii").then(PIIDetector(strategy="redact"))


class Stop(Processor):
    """Ends whatever says stop."""

    def process_input(self, ctx: Any) -> None:
        if "stop" in ctx.messages[-1].text:
            ctx.abort("told to stop")


class Polite(Processor):
    """Asks again for an answer without rudeness."""

    def process_output_step(self, ctx: Any) -> None:
        if "rude" in ctx.text:
            ctx.abort("be polite", retry=True)


class Broken(Processor):
    """Fails."""

    def process_input(self, ctx: Any) -> None:
        raise ValueError(f"could not read {ctx.messages[-1].text}")


@pytest.fixture
def client(provider: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        api_key="sk-mine",
        base_url=provider.url,
        max_retries=0,
        default_headers={"x-own": "1"},
        default_query={"v": "2"},
    ) as made:
        yield made


@pytest.fixture
async def async_client(provider: ModelServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(api_key="sk-mine", base_url=provider.url, max_retries=0) as made:
        yield made


def unending(answer: Answer) -> Answer:
    """Return an answer whose end never comes, so that nothing but the client can close the connection."""
    return Answer([*answer.steps[:-3], Hang()])


def said(text: str) -> Any:
    return [{"role": "user", "content": text}]


def text_of(chunks: Any) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def test_openai_both_ways_in_its_own_words(client: openai.OpenAI, provider: ModelServer) -> None:
    guarded = guard_openai(client, PII)
    assert type(guarded) is openai.OpenAI
    provider.play(chat("It was 4111 1111 ", "1111 1111!", usage=True))
    answer = guarded.chat.completions.create(model="m", messages=said(CARD), max_completion_tokens=3)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (f"It was {MASKED}!", "stop")
    assert answer.usage is not None
    assert answer.usage.total_tokens == 12
    [request] = provider.requests
    assert request.path == "/v1/chat/completions?v=2"
    assert (request.headers["authorization"], request.headers["x-own"]) == ("Bearer sk-mine", "1")
    assert request.json["messages"] == said(MASKED)
    assert request.json["max_completion_tokens"] == 3


def test_openai_streamed(client: openai.OpenAI, provider: ModelServer) -> None:
    provider.play(chat("It was 4111 1111 ", "1111 1111!", usage=True))
    with guard_openai(client, PII).chat.completions.create(model="m", messages=said(CARD), stream=True) as stream:
        assert text_of(stream) == f"It was {MASKED}!"


def test_openai_stopped_before_anything_is_sent(client: openai.OpenAI, provider: ModelServer) -> None:
    provider.play(chat("never"))
    guarded = guard_openai(client, [Stop("stop"), PII])
    answer = guarded.chat.completions.create(model="m", messages=said("stop"))
    assert (answer.choices[0].finish_reason, answer.choices[0].message.refusal) == ("content_filter", "told to stop")
    assert provider.requests == []


def test_openai_asks_again_and_shows_only_the_good_answer(client: openai.OpenAI, provider: ModelServer) -> None:
    provider.play(chat("so rude"), chat("good ", "day"))
    guarded = guard_openai(client, Polite("polite"), max_processor_retries=1)
    assert text_of(guarded.chat.completions.create(model="m", messages=said("hi"), stream=True)) == "good day"
    assert len(provider.requests) == 2


def test_openai_tools_and_parsed_answers(client: openai.OpenAI, provider: ModelServer) -> None:
    made = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    provider.play(chat({"tool_calls": [made]}, reason="tool_calls"))
    tools: Any = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    answer = guard_openai(client, PII).chat.completions.create(model="m", messages=said("hi"), tools=tools)
    assert [call.id for call in answer.choices[0].message.tool_calls or []] == ["c1"]
    assert answer.choices[0].finish_reason == "tool_calls"


def test_openai_errors_are_the_servers_own(client: openai.OpenAI, provider: ModelServer) -> None:
    body = {"error": {"message": "slow down", "type": "rate", "code": "c", "param": None}}
    guarded = guard_openai(client, PII)
    for stream in (False, True):
        provider.play(refusal(429, body, retry_after="9", x_request_id="req_7"))
        with pytest.raises(openai.RateLimitError) as caught:
            guarded.chat.completions.create(model="m", messages=said("hi"), stream=stream)
        assert (caught.value.request_id, caught.value.body) == ("req_7", body["error"])
        assert caught.value.response.headers["retry-after"] == "9"


def test_openai_tries_again_by_its_own_rules(client: openai.OpenAI, provider: ModelServer) -> None:
    provider.play(refusal(500, "oops"), Answer([Reset()]), chat("third time"))
    guarded = guard_openai(client.with_options(max_retries=2), PII)
    assert guarded.chat.completions.create(model="m", messages=said("hi")).choices[0].message.content == "third time"


def test_openai_without_a_connection(client: openai.OpenAI) -> None:
    guarded = guard_openai(client.with_options(base_url="http://127.0.0.1:9/v1"), PII)
    with pytest.raises(openai.APIConnectionError):
        guarded.chat.completions.create(model="m", messages=said("hi"))


def test_openai_broken_off_in_the_middle(client: openai.OpenAI, provider: ModelServer) -> None:
    provider.play(Answer([*chat("one ").steps[:2], Close()]))
    stream = guard_openai(client, PII).chat.completions.create(model="m", messages=said("hi"), stream=True)
    with pytest.raises(openai.APIError):
        list(stream)


def test_a_failing_guard_is_an_error_and_not_an_answer(client: openai.OpenAI, provider: ModelServer) -> None:
    provider.play(chat("never"))
    guarded = guard_openai(client.with_options(max_retries=2), Broken("broken"))
    with pytest.raises(openai.InternalServerError, match="'broken' failed in process_input") as caught:
        guarded.chat.completions.create(model="m", messages=said(CARD))
    assert (provider.requests, CARD in str(caught.value)) == ([], False)


def test_what_is_not_guarded_is_not_sent(client: openai.OpenAI, provider: ModelServer) -> None:
    listed = json.dumps({"object": "list", "data": []}).encode()
    provider.play(Answer([listed], headers={"content-type": "application/json"}, framing="length"))
    guarded = guard_openai(client, PII)
    assert list(guarded.models.list()) == []
    provider.requests.clear()
    with pytest.raises((openai.APIConnectionError, ConfigurationError)) as caught:
        guarded.responses.create(model="m", input=CARD)
    assert "is not guarded" in f"{caught.value} {caught.value.__cause__}"
    assert provider.requests == []


def test_leaving_a_stream_early_closes_the_connection(client: openai.OpenAI, provider: ModelServer) -> None:
    provider.play(unending(chat(*["word "] * 100)))
    stream = guard_openai(client, PII).chat.completions.create(model="m", messages=said("hi"), stream=True)
    next(iter(stream))
    stream.close()
    assert provider.requests[0].left.wait(5)


def drop(caplog: pytest.LogCaptureFixture, provider: ModelServer) -> None:
    """Collect what was dropped, and see it end without a word."""
    until = time.monotonic() + 5
    while not all(request.left.wait(0.05) for request in provider.requests):
        gc.collect()
        assert time.monotonic() < until, "the connection is still open"
    time.sleep(0.1)
    gc.collect()  # a task whose error nobody has asked for says so when it goes
    assert [record.getMessage() for record in caplog.records if record.name in ("asyncio", "sluiceway")] == []


def test_a_stream_that_is_dropped_unread_ends_in_order(
    client: openai.OpenAI, provider: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """As a loop that is left with `break` drops it."""
    provider.play(unending(chat(*["word "] * 100)))
    guarded = guard_openai(client, PII)
    before = threading.active_count()
    stream: Any = None
    for _ in range(3):
        stream = guarded.chat.completions.create(model="m", messages=said("hi"), stream=True)
        next(iter(stream))
        stream.kept = stream  # so that it is the garbage collector that finds it
    del stream
    drop(caplog, provider)
    until = time.monotonic() + 5
    while threading.active_count() > before:
        assert time.monotonic() < until, "its thread still runs"
        time.sleep(0.02)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_asynchronous_stream_that_is_dropped_unread_ends_in_order(
    async_client: openai.AsyncOpenAI, provider: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    provider.play(unending(chat(*["word "] * 100)))
    guarded = guard_openai(async_client, PII)
    stream = await guarded.chat.completions.create(model="m", messages=said("hi"), stream=True)
    await anext(aiter(stream))
    del stream
    gc.collect()
    await anyio.sleep(0.1)
    await anyio.to_thread.run_sync(drop, caplog, provider)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_openai_asynchronous(async_client: openai.AsyncOpenAI, provider: ModelServer) -> None:
    guarded = guard_openai(async_client, PII)
    provider.play(chat("It was 4111 1111 ", "1111 1111!"))
    answer = await guarded.chat.completions.create(model="m", messages=said(CARD))
    assert answer.choices[0].message.content == f"It was {MASKED}!"
    async with await guarded.chat.completions.create(model="m", messages=said(CARD), stream=True) as stream:
        chunks = [chunk async for chunk in stream]
    assert text_of(chunks) == f"It was {MASKED}!"
    assert provider.requests[-1].json["messages"] == said(MASKED)


@pytest.mark.anyio
async def test_openai_asynchronous_on_both_backends(async_client: openai.AsyncOpenAI, provider: ModelServer) -> None:
    provider.play(chat(f"It was {CARD}"))
    answer = await guard_openai(async_client, PII).chat.completions.create(model="m", messages=said(CARD))
    assert answer.choices[0].message.content == f"It was {MASKED}"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_client_of_the_users_own_is_used_and_left_open(provider: ModelServer) -> None:
    seen: list[str] = []

    async def look(request: httpx2.Request) -> None:
        seen.append(request.url.path)

    async with httpx2.AsyncClient(event_hooks={"request": [look]}) as http:
        client = openai.AsyncOpenAI(api_key="x", base_url=provider.url, http_client=http)
        provider.play(chat("hello"))
        guarded = guard_openai(client, PII)
        await guarded.chat.completions.create(model="m", messages=said("hi"))
        await guarded.close()
        assert seen == ["/v1/chat/completions"]
        assert not http.is_closed


def anthropic_client(provider: ModelServer) -> anthropic_sdk.Anthropic:
    return anthropic_sdk.Anthropic(api_key="sk-mine", base_url=provider.url.removesuffix("/v1"), max_retries=0)


def test_anthropic_both_ways(provider: ModelServer) -> None:
    with anthropic_client(provider) as client:
        guarded = guard_anthropic(client, PII)
        provider.play(anthropic("It was 4111 1111 ", "1111 1111!"))
        message = guarded.messages.create(model="m", max_tokens=9, messages=said(CARD), metadata={"user_id": "u"})
        assert message.content[0].model_dump()["text"] == f"It was {MASKED}!"
        assert (message.usage.input_tokens, message.usage.output_tokens) == (5, 7)
        [request] = provider.requests
        client.messages.create(model="m", max_tokens=9, messages=said(CARD))
        plain = provider.requests.pop()
        assert (request.method, request.path) == (plain.method, plain.path) == ("POST", "/v1/messages")
        for name in ("authorization", "x-api-key", "anthropic-version", "user-agent"):
            assert request.headers.get(name) == plain.headers.get(name)
        assert request.json["messages"] == [{"role": "user", "content": [{"type": "text", "text": MASKED}]}]
        assert (request.json["max_tokens"], request.json["metadata"]) == (9, {"user_id": "u"})
        with guarded.messages.stream(model="m", max_tokens=9, messages=said(CARD)) as stream:
            assert "".join(stream.text_stream) == f"It was {MASKED}!"


def test_anthropic_stopped_and_refused(provider: ModelServer) -> None:
    with anthropic_client(provider) as client:
        guarded = guard_anthropic(client, Stop("stop"))
        message = guarded.messages.create(model="m", max_tokens=9, messages=said("stop"))
        assert message.stop_reason == "refusal"
        assert message.stop_details is not None
        assert message.stop_details.explanation == "told to stop"
        body = {"type": "error", "error": {"type": "overloaded_error", "message": "later"}, "request_id": "req_1"}
        provider.play(refusal(529, body, request_id="req_1"))
        with pytest.raises(anthropic_sdk.APIStatusError) as caught:
            guarded.messages.create(model="m", max_tokens=9, messages=said("hi"))
        assert (caught.value.status_code, caught.value.body) == (529, body)


class Person(pydantic.BaseModel):
    name: str
    card: str


RECORD: Any = {"name": "record", "description": "Record a person.", "input_schema": Person.model_json_schema()}


def calls(name: str, *pieces: str) -> Answer:
    """A Messages stream of one call of a tool, its input in pieces."""
    events: list[Any] = [
        {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1",
         "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0,
         "content_block": {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
          for piece in pieces),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None},
         "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]  # fmt: skip
    return Answer([sse(event, name=True) for event in events])


def test_anthropic_structured_by_a_tool(provider: ModelServer) -> None:
    """The usual way to a structured answer: a tool that has to be called, whose input is the answer."""
    with anthropic_client(provider) as client:
        guarded = guard_anthropic(client, PII)
        provider.play(calls("record", '{"name": "Ann", "ca', 'rd": "4111 1111 ', '1111 1111"}'))
        wanted: Any = {"model": "m", "max_tokens": 9, "messages": said(CARD), "tools": [RECORD]}
        wanted["tool_choice"] = {"type": "tool", "name": "record"}
        message = guarded.messages.create(**wanted)
        with guarded.messages.stream(**wanted) as stream:
            streamed = stream.get_final_message()
        for found in (message, streamed):
            [block] = found.content
            assert block.type == "tool_use"
            assert (block.id, block.name, found.stop_reason) == ("toolu_1", "record", "tool_use")
            assert Person.model_validate(block.input) == Person(name="Ann", card=MASKED)
        for request in provider.requests:
            assert request.json["tool_choice"] == {"type": "tool", "name": "record"}
            assert request.json["tools"] == [RECORD]
            assert request.json["messages"] == [{"role": "user", "content": [{"type": "text", "text": MASKED}]}]


def test_anthropic_parsed_answers(provider: ModelServer) -> None:
    with anthropic_client(provider) as client:
        guarded = guard_anthropic(client, PII)
        provider.play(anthropic('{"name": "Ann", ', '"card": "4111 1111 1111 1111"}'))
        parsed = guarded.messages.parse(model="m", max_tokens=9, messages=said("hi"), output_format=Person)
        assert parsed.parsed_output == Person(name="Ann", card=MASKED)
        assert provider.requests[0].json["output_config"]["format"]["type"] == "json_schema"


def test_anthropic_leaving_a_stream_early_closes_the_connection(provider: ModelServer) -> None:
    provider.play(unending(anthropic(*["word "] * 100)))
    with anthropic_client(provider) as client:
        with guard_anthropic(client, PII).messages.stream(model="m", max_tokens=9, messages=said("hi")) as stream:
            next(iter(stream.text_stream))
        assert provider.requests[0].left.wait(5)


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [False, True])
async def test_anthropic_cancelled_closes_the_connection(provider: ModelServer, stream: bool) -> None:
    """Also where the server has said nothing yet, on both backends."""
    provider.play(Answer([*anthropic("one ", "two ").steps[:4], Hang()]) if stream else Answer([Hang()]))
    url = provider.url.removesuffix("/v1")
    read: list[str] = []
    async with anthropic_sdk.AsyncAnthropic(api_key="x", base_url=url, max_retries=0) as client:
        guarded = guard_anthropic(client, PII)

        async def ask() -> None:
            wanted: Any = {"model": "m", "max_tokens": 9, "messages": said("hi")}
            if not stream:
                await guarded.messages.create(**wanted)
            async with guarded.messages.stream(**wanted) as answer:
                async for text in answer.text_stream:
                    read.append(text)  # noqa: PERF401 - what came before it is cancelled counts

        with anyio.move_on_after(0.7) as scope:
            await ask()
        assert scope.cancelled_caught
        assert await anyio.to_thread.run_sync(provider.requests[0].left.wait, 5)
    assert read == (["one "] if stream else [])


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_anthropic_asynchronous(provider: ModelServer) -> None:
    url = provider.url.removesuffix("/v1")
    async with anthropic_sdk.AsyncAnthropic(api_key="x", base_url=url, max_retries=0) as client:
        provider.play(anthropic("It was 4111 1111 ", "1111 1111!"))
        guarded = guard_anthropic(client, PII)
        message = await guarded.messages.create(model="m", max_tokens=9, messages=said(CARD))
        assert message.content[0].model_dump()["text"] == f"It was {MASKED}!"
        async with guarded.messages.stream(model="m", max_tokens=9, messages=said(CARD)) as stream:
            text = "".join([piece async for piece in stream.text_stream])
        assert text == f"It was {MASKED}!"


@pytest.mark.parametrize("guard", [guard_openai, guard_anthropic])
def test_something_that_is_no_client_is_refused(guard: Any) -> None:
    with pytest.raises(ConfigurationError, match="an official client was expected, not str"):
        guard("client", PII)
    with pytest.raises(ConfigurationError, match="nothing to guard with"):
        guard(openai.OpenAI(api_key="x") if guard is guard_openai else anthropic_sdk.Anthropic(api_key="x"), [])
