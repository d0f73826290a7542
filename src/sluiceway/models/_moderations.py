"""`OpenAIModerations`: scores per category, by OpenAI and by servers that speak its API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from sluiceway.models._client import HttpClient
from sluiceway.models._endpoint import Endpoint
from sluiceway.models._errors import Refusals
from sluiceway.models._exchange import Timeouts
from sluiceway.models._json_model import JsonModel

__all__ = ["OpenAIModerations"]

_MOST_BYTES: Final = 16 * 1024 * 1024


class OpenAIModerations(JsonModel):
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

    Examples:
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
        endpoint = Endpoint.of(provider, api_key=api_key, base_url=base_url, headers=headers)
        super().__init__(model_id, endpoint, client, timeouts, max_retries)

    async def classify(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """Return for each text the score of each category, in order.

        Raises:
            ModelError: The server refused, after all retries, or answered something else.
        """
        return await self._asked(
            "/moderations",
            {"input": list(texts)},
            lambda body, refusals: _scores(body, len(texts), refusals),
            most_bytes=_MOST_BYTES,
        )


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
