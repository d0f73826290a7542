"""A guard in front of a server that speaks Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from sluiceway import Agent, Processor, Workflow
from sluiceway.processors import PIIDetector
from sluiceway.serve import ServeOptions
from tests.integration.modelserver import Answer, Hang, ModelServer, Received, chat, refusal, sse
from tests.support.serving import Serving

CARD = "4111 1111 1111 1111"
MASKED = "**** **** **** 1111"
WEATHER: Any = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}


class Stop(Processor):
    """Ends whatever says stop."""

    def process_input(self, ctx: Any) -> None:
        if "stop" in ctx.messages[-1].text:
            ctx.abort("told to stop")


@pytest.fixture(scope="module")
def serving(provider: ModelServer) -> Iterator[Serving]:
    workflow = Workflow("guard").then(PIIDetector(strategy="redact"))
    agent = Agent(id="agent", instructions="Be kind.", model="echo/echo", input_processors=[Stop("stop")])
    with Serving([workflow, agent], ServeOptions(port=0, upstream=provider.url, shutdown_s=2)) as running:
        yield running


@pytest.fixture(scope="module")
def client(serving: Serving) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="sk-client-key", base_url=f"{serving.address}/v1", max_retries=0) as made:
        yield made


def ask(client: openai.OpenAI, text: str, model: str = "some/model", **more: Any) -> Any:
    return client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}], **more)


@pytest.mark.parametrize("stream", [False, True])
def test_both_ways_are_guarded_and_everything_else_is_passed_on(
    client: openai.OpenAI, provider: ModelServer, stream: bool
) -> None:
    provider.play(chat("It was 4111 1111 ", "1111 1111 ", "all along", usage=True))
    answer = ask(client, f"My card is {CARD}", stream=stream, max_tokens=7, user="ann", top_p=0.5, logit_bias={"5": 1})
    if stream:
        text = "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)
    else:
        text = answer.choices[0].message.content
        assert answer.usage.total_tokens == 12
    assert text == f"It was {MASKED} all along"
    [request] = provider.requests
    assert request.headers["authorization"] == "Bearer sk-client-key"
    assert request.json == {
        "model": "some/model",
        "messages": [{"role": "user", "content": f"My card is {MASKED}"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 7,
        "top_p": 0.5,
        "user": "ann",
        "logit_bias": {"5": 1},
    }


@pytest.mark.parametrize(("given", "seen"), [({}, True), ({"include_reasoning": False}, False)])
def test_reasoning_is_passed_on_as_the_guards_leave_it(
    client: openai.OpenAI, provider: ModelServer, given: Any, seen: bool
) -> None:
    provider.play(chat({"reasoning_content": "It is 4111 1111 "}, {"reasoning_content": "1111 1111."}, "four"))
    whole = ask(client, "hi", extra_body=given).choices[0].message
    assert (whole.content, (whole.model_extra or {}).get("reasoning_content")) == (
        "four",
        f"It is {MASKED}." if seen else None,
    )
    deltas = [chunk.choices[0].delta for chunk in ask(client, "hi", stream=True, extra_body=given) if chunk.choices]
    thought = "".join((delta.model_extra or {}).get("reasoning_content", "") for delta in deltas)
    assert thought == (f"It is {MASKED}." if seen else "")
    assert "".join(delta.content or "" for delta in deltas) == "four"
    assert provider.requests[-1].json.get("include_reasoning") == given.get("include_reasoning")


def test_what_cannot_be_looked_at_is_not_passed_on(client: openai.OpenAI, provider: ModelServer) -> None:
    provider.play(chat("never"))
    for part in ({"type": "file", "file": {"file_id": "file-1"}}, {"type": "odd", "text": CARD}):
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": [part]}])  # type: ignore[list-item, misc]
        assert (caught.value.code, caught.value.param) == ("unsupported_content", "messages.0.content.0")
    assert provider.requests == []


def test_tools_and_the_shape_of_the_answer_are_passed_on(client: openai.OpenAI, provider: ModelServer) -> None:
    made = {"index": 0, "id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"a": 1}'}}
    provider.play(chat({"tool_calls": [made]}, reason="tool_calls"))
    shape: Any = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {"type": "object"}}}
    answer = ask(client, "hi", tools=[WEATHER], tool_choice="required", response_format=shape)
    [call] = answer.choices[0].message.tool_calls
    assert (call.id, call.function.name, call.function.arguments) == ("c1", "get_weather", '{"a":1}')
    sent = provider.requests[0].json
    assert (sent["tool_choice"], sent["response_format"]) == ("required", shape)
    assert sent["tools"][0]["function"]["name"] == "get_weather"


def test_an_agent_of_the_file_answers_by_the_server_behind(client: openai.OpenAI, provider: ModelServer) -> None:
    provider.play(chat("hello"))
    assert ask(client, "hi", model="agent").choices[0].message.content == "hello"
    assert [m["role"] for m in provider.requests[0].json["messages"]] == ["system", "user"]
    provider.requests.clear()
    assert ask(client, "stop", model="agent").choices[0].message.refusal == "told to stop"
    assert provider.requests == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429, 500, 503])
def test_refusals_of_the_server_behind(client: openai.OpenAI, provider: ModelServer, status: int) -> None:
    provider.play(refusal(status, {"error": {"message": "it says no", "type": "t", "code": "c"}}))
    for stream in (False, True):
        with pytest.raises(openai.APIStatusError, match="it says no") as caught:
            ask(client, "hi", stream=stream)
        assert caught.value.status_code == status
        assert "sk-client-key" not in str(caught.value)


def test_a_server_behind_that_breaks_off(client: openai.OpenAI, provider: ModelServer) -> None:
    whole = chat("one ", "two ").steps
    provider.play(Answer(whole[:2]))
    stream = ask(client, "hi", stream=True)
    with pytest.raises(openai.APIError, match="closed the connection in the middle"):
        list(stream)
    provider.play(Answer([sse({"odd": True})]))
    with pytest.raises(openai.APIStatusError) as caught:
        ask(client, "hi")
    assert caught.value.status_code == 502


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_ends_the_call_behind(provider: ModelServer, serving: Serving, stream: bool) -> None:
    """Where it has got something, and where nothing has come yet."""
    provider.play(Answer([*(chat("one ", "two ").steps[:3] if stream else []), Hang()]))
    with openai.OpenAI(api_key="x", base_url=f"{serving.address}/v1", max_retries=0, timeout=0.5) as leaving:
        if stream:
            answer = ask(leaving, "hi", stream=True)
            assert next(iter(answer)).choices[0].delta.role == "assistant"
            answer.close()
        else:
            with pytest.raises(openai.APITimeoutError):
                ask(leaving, "hi")
    assert provider.requests[0].left.wait(5)


def test_the_models_are_those_of_the_server_behind(client: openai.OpenAI, provider: ModelServer) -> None:
    listed = {"object": "list", "data": [{"id": "some/model", "object": "model", "created": 1, "owned_by": "them"}]}

    def answer(request: Received) -> Answer:
        assert (request.method, request.path, request.body) == ("GET", "/v1/models", b"")
        assert request.headers["authorization"] == "Bearer sk-client-key"
        return Answer([json.dumps(listed).encode()], headers={"content-type": "application/json"}, framing="length")

    provider.respond(answer)
    assert [model.id for model in client.models.list()] == ["some/model"]
    assert client.models.retrieve("some/model").owned_by == "them"


def test_anthropics_client_talks_to_it_too(serving: Serving, provider: ModelServer) -> None:
    provider.play(chat("It was 4111 1111 ", "1111 1111", usage=True))
    with anthropic.Anthropic(api_key="sk-other", base_url=serving.address, max_retries=0) as other:
        message = other.messages.create(
            model="some/model", max_tokens=9, messages=[{"role": "user", "content": CARD}], metadata={"user_id": "u"}
        )
    assert message.content[0].model_dump()["text"] == f"It was {MASKED}"
    [request] = provider.requests
    assert request.headers["authorization"] == "Bearer sk-other"
    assert "metadata" not in request.json


def test_with_keys_of_its_own_the_clients_key_stays_here(provider: ModelServer) -> None:
    options = ServeOptions(port=0, upstream=provider.url, upstream_key="sk-behind", keys=("sk-front",), shutdown_s=2)
    with (
        Serving([PIIDetector(strategy="redact")], options) as serving,
        openai.OpenAI(api_key="sk-front", base_url=f"{serving.address}/v1", max_retries=0) as client,
    ):
        provider.play(chat("hello"))
        assert ask(client, "hi").choices[0].message.content == "hello"
        assert provider.requests[0].headers["authorization"] == "Bearer sk-behind"
        provider.play(refusal(401, {"error": {"message": "wrong key sk-behind"}}))
        with pytest.raises(openai.APIStatusError) as caught:
            ask(client, "hi")
        assert caught.value.status_code == 502
        assert "sk-behind" not in str(caught.value)
        with pytest.raises(openai.AuthenticationError):
            ask(client.with_options(api_key="sk-behind"), "hi")
