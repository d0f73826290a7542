"""The embedders give one vector for each text."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from sluiceway.errors import ConfigurationError, ModelError
from sluiceway.memory import HashEmbedder, InMemoryStore, InMemoryVectors, Memory, WordLlamaEmbedder
from sluiceway.models import Backoff, OpenAIEmbeddings
from tests.support.memory import ON, remembering

pytestmark = pytest.mark.anyio


def cosine(one: Any, other: Any) -> float:
    lengths = [sum(x * x for x in vector) ** 0.5 for vector in (one, other)]
    return sum(x * y for x, y in zip(one, other, strict=True)) / (lengths[0] * lengths[1])


async def test_the_hash_embedder_is_deterministic_and_knows_words() -> None:
    one, two, three, nothing = await HashEmbedder(128).embed(
        ["the blue zebra", "The zebras are BLUE", "an invoice of May", " …"]
    )
    again = (await HashEmbedder(128).embed(["the blue zebra"]))[0]

    assert one == again
    assert [round(x, 6) for x in one[:4]] == [round(x, 6) for x in again[:4]]
    assert cosine(one, two) > 0.4 > abs(cosine(one, three))
    assert nothing == [0.0] * 128
    assert abs(sum(x * x for x in one) - 1) < 1e-9
    assert await HashEmbedder().embed(["half \ud83d"]) == await HashEmbedder().embed(["half ?"])


def test_a_vector_has_numbers() -> None:
    with pytest.raises(ConfigurationError, match="dimension=0 is not allowed"):
        HashEmbedder(0)


async def test_wordllama_runs_offline() -> None:
    dog, puppy, tax = await WordLlamaEmbedder().embed(["a dog barks", "the puppy is barking", "income tax form"])

    assert len(dog) == 256
    assert cosine(dog, puppy) > cosine(dog, tax) + 0.2


class Server:
    """An embeddings server: the length of a text and its first letter."""

    def __init__(self, *failures: httpx.Response) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[httpx.Headers] = []
        self.failures = list(failures)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        self.headers.append(request.headers)
        assert str(request.url) == "http://host/v1/embeddings"
        if self.failures:
            return self.failures.pop(0)
        data = [{"index": n, "embedding": [len(text), ord(text[0])]} for n, text in enumerate(body["input"])]
        return httpx.Response(200, json={"data": data[::-1], "model": body["model"]})

    def embedder(self, **options: Any) -> OpenAIEmbeddings:
        client = httpx.AsyncClient(transport=httpx.MockTransport(self))
        made = OpenAIEmbeddings("m-1", base_url="http://host/v1", client=client, api_key="sk-secret-key", **options)
        made.backoff = Backoff(first_s=0)
        return made


async def test_an_endpoint_is_asked_in_batches_and_in_order() -> None:
    server = Server()
    assert await server.embedder(batch_size=2, dimensions=2).embed(["a", "bb", "ccc"]) == [
        [1.0, 97.0],
        [2.0, 98.0],
        [3.0, 99.0],
    ]
    assert server.requests == [
        {"model": "m-1", "input": texts, "encoding_format": "float", "dimensions": 2}
        for texts in (["a", "bb"], ["ccc"])
    ]
    assert server.headers[0]["authorization"] == "Bearer sk-secret-key"
    assert await server.embedder().embed([]) == []


async def test_a_refused_batch_is_sent_again() -> None:
    server = Server(httpx.Response(429, headers={"retry-after": "0"}), httpx.Response(503))
    assert await server.embedder().embed(["a"]) == [[1.0, 97.0]]
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("response", "calls", "match"),
    [
        (httpx.Response(401, json={"error": {"message": "bad key sk-secret-key"}}), 1, r"HTTP 401: bad key \[secret\]"),
        (httpx.Response(503), 3, "HTTP 503"),
        (httpx.Response(200, text="hello"), 1, "the answer holds no embeddings"),
        (httpx.Response(200, json={"data": [{"index": 0, "embedding": ["x"]}]}), 1, "the answer holds no embeddings"),
        (httpx.Response(200, json={"data": []}), 1, "1 texts gave 0 embeddings"),
    ],
)
async def test_what_goes_wrong_is_a_model_error_without_the_key(
    response: httpx.Response, calls: int, match: str
) -> None:
    server = Server(*[response] * 3)
    with pytest.raises(ModelError, match=match) as caught:
        await server.embedder().embed(["a"])
    assert len(server.requests) == calls
    assert "sk-secret-key" not in f"{caught.value} {caught.value.body}"


async def test_an_endpoint_serves_semantic_recall() -> None:
    memory = Memory(InMemoryStore(), semantic_recall=True, vector=InMemoryVectors(), embedder=Server().embedder())
    agent, _, _ = remembering("ok", memory=memory)
    await agent.generate("hi", memory=ON)
    assert await memory.storage.pending("messages", "u1", 9) == []


def test_options_that_are_not_allowed() -> None:
    with pytest.raises(ConfigurationError, match="provider 'mine' is not known"):
        OpenAIEmbeddings("m", provider="mine")
    with pytest.raises(ConfigurationError, match="batch_size=0 is not allowed"):
        OpenAIEmbeddings("m", batch_size=0)
