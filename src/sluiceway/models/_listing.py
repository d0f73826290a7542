"""`list_models`: what a server that speaks Chat Completions has to offer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from sluiceway.errors import ModelError
from sluiceway.models._client import shared_client
from sluiceway.models._endpoint import Endpoint
from sluiceway.models._errors import parsed
from sluiceway.models._exchange import Post, Timeouts, exchange
from sluiceway.models._providers import Provider
from sluiceway.models._settings import Settings

__all__ = ["list_models"]

_NAME: Final = "openai-compatible"
_LIMITS: Final = Timeouts(connect_s=5.0, read_s=15.0, total_s=20.0)
_MOST_BYTES: Final = 4 * 1024 * 1024


async def list_models(base_url: str, *, api_key: str | None = None) -> list[dict[str, Any]]:
    """Return the models of a server, as its `/models` describes them.

    Args:
        base_url: Such as `http://127.0.0.1:8000/v1`.
        api_key: Sent as a bearer token; None: none is.

    Raises:
        ModelError: The server refused, or sent something else.
        ConfigurationError: The address is none.
    """
    endpoint = Endpoint(Provider("", key_needed=False), _NAME, api_key=api_key or "", base_url=base_url, headers=None)
    refusals = endpoint.refusals("", Settings())
    asked = endpoint.post("/models", b"", Settings(), refusals, {"accept": "application/json"})
    post = Post(asked.url, asked.headers, b"", method="GET")
    async with shared_client() as client, exchange(client, post, refusals, _LIMITS) as answer:
        body = parsed(await answer.read_all(_MOST_BYTES))
    listed = cast("Mapping[str, object]", body).get("data") if isinstance(body, Mapping) else None
    if not isinstance(listed, list):
        raise ModelError(f"{_NAME}: the server sent no list of models", provider=_NAME)
    return [item for item in cast("list[Any]", listed) if isinstance(item, dict) and "id" in item]
