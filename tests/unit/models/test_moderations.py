"""`OpenAIModerations`: the scores of a moderation endpoint, and a guard over them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from sluiceway.errors import ConfigurationError, ModelError
from sluiceway.models import Backoff, OpenAIModerations
from sluiceway.processors import ClassifierDetector, ModerationProcessor
from tests.support.runs import collect, make_agent

pytestmark = pytest.mark.anyio

KEY = "sk-planted-key"


class Server:
    """A moderation server: texts with `foul` in them are hateful."""

    def __init__(self, *failures: httpx.Response) -> None:
        self.failures = list(failures)
        self.requests: list[dict[str, Any]] = []
        self.sent: list[tuple[str, str | None]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        self.sent.append((request.url.path, request.headers.get("authorization")))
        if self.failures:
            return self.failures.pop(0)
        results = [
            {"flagged": "foul" in text, "category_scores": {"hate": 0.9 if "foul" in text else 0.1, "odd": None}}
            for text in body["input"]
        ]
        return httpx.Response(200, json={"id": "m1", "results": results})


def endpoint(server: Server, **options: Any) -> OpenAIModerations:
    client = httpx.AsyncClient(transport=httpx.MockTransport(server))
    made = OpenAIModerations(api_key=KEY, base_url="http://mod.test/v1", client=client, **options)
    made.backoff = Backoff(first_s=0)
    return made


async def test_each_text_has_its_scores() -> None:
    server = Server()
    scored = await endpoint(server).classify(["so foul", "nice"])
    assert scored == [{"hate": 0.9}, {"hate": 0.1}]
    assert server.requests == [{"model": "omni-moderation-latest", "input": ["so foul", "nice"]}]
    assert server.sent == [("/v1/moderations", f"Bearer {KEY}")]


async def test_a_guard_over_the_endpoint_holds_the_answer_until_it_is_cleared() -> None:
    guard = ModerationProcessor(detector=ClassifierDetector(endpoint(Server())), window_chars=10)
    agent, _ = make_agent(["nice text ", "and then so foul"], output_processors=[guard])
    ran = await collect(agent, "hi")
    assert (ran.emitted, ran.result.finish_reason) == ("nice text and then s", "other")


async def test_a_server_that_is_busy_is_asked_again() -> None:
    server = Server(httpx.Response(429), httpx.Response(503))
    assert await endpoint(server).classify(["nice"]) == [{"hate": 0.1}]
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (httpx.Response(401, json={"error": {"message": f"bad key {KEY}"}}), "401"),
        (httpx.Response(200, json={"results": []}), "1 texts gave the scores of 0"),
        (httpx.Response(200, json={"results": [{"category_scores": {"hate": "x"}}]}), "holds no scores"),
        (httpx.Response(200, json={"results": [{"category_scores": [1]}]}), "holds no scores"),
        (httpx.Response(200, json=[]), "holds no scores"),
    ],
)
async def test_another_answer_is_an_error_without_the_key(failure: httpx.Response, said: str) -> None:
    with pytest.raises(ModelError, match=said) as caught:
        await endpoint(Server(failure), max_retries=0).classify(["nice"])
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value)


async def test_a_guard_whose_endpoint_is_down_is_closed() -> None:
    made = endpoint(Server(*[httpx.Response(500)] * 9))
    agent, model = make_agent("ok", input_processors=[ModerationProcessor(detector=ClassifierDetector(made))])
    result = await agent.generate("hi")
    assert (result.finish_reason, len(model.calls)) == ("other", 0)


def test_an_unknown_provider_needs_an_address() -> None:
    with pytest.raises(ConfigurationError, match="provider 'mine' is not known; pass base_url"):
        OpenAIModerations(provider="mine")
