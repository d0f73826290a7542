"""`OpenAIChat`: Chat Completions, by OpenAI and by the many servers that speak it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

from sluiceway.messages import Chunk
from sluiceway.models._body import encoded
from sluiceway.models._chat_body import chat_body
from sluiceway.models._chat_events import ChatEvents
from sluiceway.models._client import HttpClient
from sluiceway.models._endpoint import Endpoint
from sluiceway.models._exchange import Timeouts
from sluiceway.models._http import HttpModel
from sluiceway.models._port import ModelRequest
from sluiceway.models._providers import ChatQuirks
from sluiceway.models._settings import settings_of

__all__ = ["OpenAIChat"]


class OpenAIChat(HttpModel):
    """A model behind an API of the kind of OpenAI's Chat Completions, always streamed.

    May be called from many tasks at a time. `async with` keeps its connections open between
    calls.

    Args:
        model_id: As the server calls it.
        provider: One of the known names, whose address, key and quirks are used; another
            name for a server of one's own.
        api_key: None: from the environment variable that the provider's users know. It is in
            no `repr`, error or log.
        base_url: Such as `http://127.0.0.1:8000/v1`. None: the provider's. A key from the
            environment is not sent to another address than the provider's.
        headers: More headers; their values are shown nowhere.
        client: An `httpx.AsyncClient` (or httpx2's) of one's own, which is not closed. None:
            one that all models in the event loop share.
        timeouts: For connecting, for silence, and for the whole answer.
        max_retries: How often a refused call is made again before the first chunk.
        quirks: How the server differs from others; None: as known of the provider.

    Raises:
        ConfigurationError: An unknown provider without `base_url`, or an address or a client
            that is none.

    Examples:
        >>> model = OpenAIChat("qwen3", base_url="http://127.0.0.1:8000/v1")
        >>> model
        OpenAIChat('qwen3', provider='openai')
    """

    def __init__(
        self,
        model_id: str,
        *,
        provider: str = "openai",
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        client: HttpClient | None = None,
        timeouts: Timeouts | None = None,
        max_retries: int = 2,
        quirks: ChatQuirks | None = None,
    ) -> None:
        endpoint = Endpoint.of(provider, api_key=api_key, base_url=base_url, headers=headers)
        super().__init__(endpoint, client, timeouts)
        self.provider = provider
        self.model_id = model_id
        self.max_retries = max_retries
        self._quirks = endpoint.provider.quirks if quirks is None else quirks

    @property
    def structured(self) -> bool:
        """Whether it can be asked for an answer of a given shape."""
        return self._quirks.structured is not None

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Call the model; see `Model.stream`.

        Raises:
            ModelError: On entering or at a read.
            ConfigurationError: A setting that there is not.
            MessageError: A prompt that cannot be written as JSON.
        """
        settings = settings_of(request.settings)
        refusals = self._endpoint.refusals(self.model_id, settings)
        body = chat_body(request, self.model_id, self.provider, settings, self._quirks)
        post = self._endpoint.post("/chat/completions", encoded(body.fields), settings, refusals, {})
        events = ChatEvents(self.provider, refusals, request.run_id, tuple(body.warnings))
        async with self._answered(post, events, refusals, settings) as chunks:
            yield chunks

    def __repr__(self) -> str:
        return f"OpenAIChat({self.model_id!r}, provider={self.provider!r})"
