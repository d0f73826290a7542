"""`OpenAIModerations`: scores per category, by OpenAI and by servers that speak its API."""

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

__all__ = ["OpenAIModerations"]

_MOST_BYTES: Final = 16 * 1024 * 1024


class OpenAIModerations(HttpModel):
    """A classifier behind an API of the kind of OpenAI's moderations.

    May be called from many tasks at a time.

    Args:
        model_id: As the server calls it.
        provider: One of the known names, whose address and key are used; another name for a
            server of one's own.
        api_key: None: from the environment variable that the provider's users know.
        base_url: Such as `http://127.0.0.1:8000/v1`. None: the provider's. A key from the
            environment is not sent to another address than the provider's.
        headers: More headers; their values are shown nowhere.
        client: An `httpx.AsyncClient` of one's own, which is not closed. None: one that all
            models in the event loop share.
        timeouts: For connecting, for silence, and for a whole answer.
        max_retries: How often a refused request is sent again.

    Raises:
        ConfigurationError: An unknown provider without `base_url`.

    Example:
        >>> OpenAIModerations()
        OpenAIModerations('omni-moderation-latest', provider='openai')
    """

    def __init__(
        self,
        model_id: str = "omni-moderation-latest",
        *,
        provider: str = "openai",
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        client: HttpClient | None = None,
        timeouts: Timeouts | None = None,
        max_retries: int = 2,
    ) -> None:
        known = PROVIDERS.get(provider)
        if known is None and base_url is None:
            raise ConfigurationError(f"provider {provider!r} is not known; pass base_url")
        known = known or Provider("", key_needed=False)
        endpoint = Endpoint(known, provider, api_key=api_key, base_url=base_url, headers=headers)
        super().__init__(endpoint, client, timeouts)
        self.provider = provider
        self.model_id = model_id
        self.max_retries = max_retries
        self.backoff = Backoff()

    async def classify(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """Return for each text the score of each category, in order.

        Raises:
            ModelError: The server refused, after all retries, or answered something else.
        """
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

    async def _ask(self, texts: Sequence[str]) -> list[dict[str, float]]:
        settings = settings_of({})
        refusals = self._endpoint.refusals(self.model_id, settings)
        fields: dict[str, Any] = {"model": self.model_id, "input": list(texts)}
        post = self._endpoint.post("/moderations", encoded(fields), settings, refusals, {"accept": "application/json"})
        async with self._connected() as client, exchange(client, post, refusals, self._limits(Settings())) as answer:
            body = await answer.read_all(_MOST_BYTES)
        return _scores(parsed(body), len(texts), refusals)

    def __repr__(self) -> str:
        return f"OpenAIModerations({self.model_id!r}, provider={self.provider!r})"


def _scores(body: object, count: int, refusals: Refusals) -> list[dict[str, float]]:
    try:
        items = cast("list[Any]", cast("Any", body)["results"])
        # A category that a server leaves empty was not looked at.
        scores = [
            {name: float(score) for name, score in item["category_scores"].items() if score is not None}
            for item in items
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise refusals.error("the answer holds no scores", retryable=False) from error
    if len(scores) != count:
        raise refusals.error(f"{count} texts gave the scores of {len(scores)}")
    return scores
