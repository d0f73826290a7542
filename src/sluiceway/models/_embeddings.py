"""`OpenAIEmbeddings`: texts as vectors, by OpenAI and by the many servers that speak its API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from sluiceway.errors import ConfigurationError
from sluiceway.models._client import HttpClient
from sluiceway.models._endpoint import Endpoint
from sluiceway.models._errors import Refusals
from sluiceway.models._exchange import Timeouts
from sluiceway.models._json_model import JsonModel

__all__ = ["OpenAIEmbeddings"]

_MOST_BYTES: Final = 256 * 1024 * 1024


class OpenAIEmbeddings(JsonModel):
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

    Examples:
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
        if batch_size < 1:
            raise ConfigurationError(f"batch_size={batch_size!r} is not allowed; give a whole number from 1")
        endpoint = Endpoint.of(provider, api_key=api_key, base_url=base_url, headers=headers)
        super().__init__(model_id, endpoint, client, timeouts, max_retries)
        self.dimensions = dimensions
        self.batch_size = batch_size

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
        fields: dict[str, Any] = {"input": list(texts), "encoding_format": "float"}
        if self.dimensions is not None:
            fields["dimensions"] = self.dimensions
        return await self._asked(
            "/embeddings",
            fields,
            lambda body, refusals: _vectors(body, len(texts), refusals),
            most_bytes=_MOST_BYTES,
        )


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
