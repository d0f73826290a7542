"""`OpenAIEmbeddings`: texts as vectors, by OpenAI and by the many servers that speak its API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import anyio

from sluiceway.errors import ConfigurationError, ModelError
from sluiceway.models._backoff import Backoff
from sluiceway.models._body import encoded
from sluiceway.models._client import HttpClient
from sluiceway.models._endpoint import Endpoint
from sluiceway.models._errors import Refusals, parsed
from sluiceway.models._exchange import Timeouts, exchange
from sluiceway.models._http import HttpModel
from sluiceway.models._providers import PROVIDERS, Provider
from sluiceway.models._settings import Settings, settings_of

__all__ = ["OpenAIEmbeddings"]

_MOST_BYTES: Final = 256 * 1024 * 1024


class OpenAIEmbeddings(HttpModel):
    """An embedder behind an API of the kind of OpenAI's embeddings.

    May be called from many tasks at a time. Texts go in batches, one after the other.

    Args:
        model_id: As the server calls it.
        provider: One of the known names, whose address and key are used; another name for a
            server of one's own.
        dimensions: How many numbers a vector is to have, where the server can choose; None: as
            the model makes them.
        api_key: None: from the environment variable that the provider's users know.
        base_url: Such as `http://127.0.0.1:8000/v1`. None: the provider's. A key from the
            environment is not sent to another address than the provider's.
        headers: More headers; their values are shown nowhere.
        client: An `httpx.AsyncClient` of one's own, which is not closed. None: one that all
            models in the event loop share.
        timeouts: For connecting, for silence, and for a whole answer.
        max_retries: How often a refused batch is sent again.
        batch_size: How many texts go in one request.

    Raises:
        ConfigurationError: An unknown provider without `base_url`, or a value that is not allowed.

    Example:
        >>> OpenAIEmbeddings("text-embedding-3-small")
        OpenAIEmbeddings('text-embedding-3-small', provider='openai')
    """

    def __init__(
        self,
        model_id: str,
        *,
        provider: str = "openai",
        dimensions: int | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        client: HttpClient | None = None,
        timeouts: Timeouts | None = None,
        max_retries: int = 2,
        batch_size: int = 96,
    ) -> None:
        known = PROVIDERS.get(provider)
        if known is None and base_url is None:
            raise ConfigurationError(f"provider {provider!r} is not known; pass base_url")
        if batch_size < 1:
            raise ConfigurationError(f"batch_size={batch_size!r} is not allowed; give a whole number from 1")
        known = known or Provider("", key_needed=False)
        endpoint = Endpoint(known, provider, api_key=api_key, base_url=base_url, headers=headers)
        super().__init__(endpoint, client, timeouts)
        self.provider = provider
        self.model_id = model_id
        self.dimensions = dimensions
        self.max_retries = max_retries
        self.batch_size = batch_size
        self.backoff = Backoff()

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order.

        Raises:
            ModelError: The server refused, after all retries, or answered something else.
        """
        vectors: list[list[float]] = []
        for start in range(0, len(texts), self.batch_size):
            vectors += await self._batch(texts[start : start + self.batch_size])
        return vectors

    async def _batch(self, texts: Sequence[str]) -> list[list[float]]:
        retry = 0
        while True:
            try:
                return await self._ask(texts)
            except ModelError as error:
                wait_s = self.backoff.wait_s(retry, error.retry_after_s) if error.retryable else None
                if wait_s is None or retry >= self.max_retries:
                    raise
            retry += 1
            await anyio.sleep(wait_s)

    async def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        settings = settings_of({})
        refusals = self._endpoint.refusals(self.model_id, settings)
        fields: dict[str, Any] = {"model": self.model_id, "input": list(texts), "encoding_format": "float"}
        if self.dimensions is not None:
            fields["dimensions"] = self.dimensions
        post = self._endpoint.post("/embeddings", encoded(fields), settings, refusals, {"accept": "application/json"})
        async with self._connected() as client, exchange(client, post, refusals, self._limits(Settings())) as answer:
            body = await answer.read_all(_MOST_BYTES)
        return _vectors(parsed(body), len(texts), refusals)

    def __repr__(self) -> str:
        return f"OpenAIEmbeddings({self.model_id!r}, provider={self.provider!r})"


def _vectors(body: object, count: int, refusals: Refusals) -> list[list[float]]:
    try:
        items = cast("list[Any]", cast("Any", body)["data"])
        ordered = sorted(items, key=lambda item: item["index"])
        vectors = [[float(number) for number in item["embedding"]] for item in ordered]
    except (KeyError, TypeError, ValueError) as error:
        raise refusals.error("the answer holds no embeddings", retryable=False) from error
    if len(vectors) != count or len({len(vector) for vector in vectors}) > 1:
        raise refusals.error(f"{count} texts gave {len(vectors)} embeddings, or some of another length")
    return vectors
