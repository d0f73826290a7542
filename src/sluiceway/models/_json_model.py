"""What the models have in common that answer one JSON body with another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import anyio

from sluiceway.errors import ModelError
from sluiceway.models._backoff import Backoff
from sluiceway.models._body import encoded
from sluiceway.models._client import HttpClient
from sluiceway.models._endpoint import Endpoint
from sluiceway.models._errors import Refusals, parsed
from sluiceway.models._exchange import Timeouts, exchange
from sluiceway.models._http import HttpModel
from sluiceway.models._settings import Settings, settings_of

__all__ = ["JsonModel"]

T = TypeVar("T")


class JsonModel(HttpModel):
    """A model that is asked with a JSON body and answers with one.

    Args:
        model_id: As the server calls it.
        endpoint: Where it is.
        client: An `httpx.AsyncClient`, or None for the one shared in the event loop.
        timeouts: How long it may take.
        max_retries: How often a refused request is sent again.
    """

    def __init__(
        self,
        model_id: str,
        endpoint: Endpoint,
        client: HttpClient | None,
        timeouts: Timeouts | None,
        max_retries: int,
    ) -> None:
        super().__init__(endpoint, client, timeouts)
        self.provider = endpoint.name
        self.model_id = model_id
        self.max_retries = max_retries
        self.backoff = Backoff()

    async def _asked(
        self, path: str, fields: Mapping[str, Any], read: Callable[[object, Refusals], T], *, most_bytes: int
    ) -> T:
        """Send a body and return what `read` makes of the answer, trying again where that may help.

        Args:
            path: Behind the address, such as `/embeddings`.
            fields: The body, but for the model.
            read: Called with the parsed answer, and with what makes its errors.
            most_bytes: The longest answer that is taken.

        Raises:
            ModelError: The server refused, after all retries, or answered something else.
        """
        retry = 0
        while True:
            try:
                return await self._ask(path, fields, read, most_bytes)
            except ModelError as error:
                wait_s = self.backoff.wait_s(retry, error.retry_after_s) if error.retryable else None
                if wait_s is None or retry >= self.max_retries:
                    raise
            retry += 1
            await anyio.sleep(wait_s)

    async def _ask(
        self, path: str, fields: Mapping[str, Any], read: Callable[[object, Refusals], T], most_bytes: int
    ) -> T:
        settings = settings_of({})
        refusals = self._endpoint.refusals(self.model_id, settings)
        body = encoded({"model": self.model_id, **fields})
        post = self._endpoint.post(path, body, settings, refusals, {"accept": "application/json"})
        async with self._connected() as client, exchange(client, post, refusals, self._limits(Settings())) as answer:
            answered = await answer.read_all(most_bytes)
        return read(parsed(answered), refusals)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_id!r}, provider={self.provider!r})"
