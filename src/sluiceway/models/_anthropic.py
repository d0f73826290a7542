"""`AnthropicMessages`: the Messages API of Anthropic and of those who speak it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

from sluiceway.messages import Chunk
from sluiceway.models._body import encoded
from sluiceway.models._client import HttpClient
from sluiceway.models._endpoint import Endpoint
from sluiceway.models._exchange import Timeouts
from sluiceway.models._http import HttpModel
from sluiceway.models._messages_body import messages_body
from sluiceway.models._messages_events import MessagesEvents
from sluiceway.models._port import ModelRequest
from sluiceway.models._providers import PROVIDERS
from sluiceway.models._settings import settings_of

__all__ = ["AnthropicMessages"]

_VERSION = "2023-06-01"


class AnthropicMessages(HttpModel):
    """A model behind Anthropic's Messages API, always streamed.

    Thinking is kept with its signature in the provider metadata of the reasoning, so that
    it can be sent back. May be called from many tasks at a time. `async with` keeps its
    connections open between calls.

    Args:
        model_id: Such as `claude-sonnet-4-5`.
        api_key: None: from `ANTHROPIC_API_KEY`. It is in no `repr`, error or log.
        base_url: None: from `ANTHROPIC_BASE_URL`, else Anthropic's. A key from the
            environment is not sent to an address given here.
        headers: More headers, such as `anthropic-beta`; their values are shown nowhere.
        client: An `httpx.AsyncClient` (or httpx2's) of one's own, which is not closed. None:
            one that all models in the event loop share.
        timeouts: For connecting, for silence, and for the whole answer.
        max_retries: How often a refused call is made again before the first chunk.
        max_tokens: The most an answer may take where the settings do not say.

    Raises:
        ConfigurationError: An address or a client that is none.

    Examples:
        >>> AnthropicMessages("claude-sonnet-4-5")
        AnthropicMessages('claude-sonnet-4-5')
    """

    provider = "anthropic"
    structured = True

    def __init__(
        self,
        model_id: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        client: HttpClient | None = None,
        timeouts: Timeouts | None = None,
        max_retries: int = 2,
        max_tokens: int = 8192,
    ) -> None:
        known = PROVIDERS[self.provider]
        endpoint = Endpoint(known, self.provider, api_key=api_key, base_url=base_url, headers=headers)
        super().__init__(endpoint, client, timeouts)
        self.model_id = model_id
        self.max_retries = max_retries
        self._max_tokens = max_tokens

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Call the model; see `Model.stream`.

        Raises:
            ModelError: On entering or at a read.
            ConfigurationError: A setting that there is not.
            MessageError: A prompt that cannot be written as JSON, or a file that is not taken.
        """
        settings = settings_of(request.settings)
        refusals = self._endpoint.refusals(self.model_id, settings)
        body = messages_body(request, self.model_id, self.provider, settings, self._max_tokens)
        version = {"anthropic-version": _VERSION}
        post = self._endpoint.post("/messages", encoded(body.fields), settings, refusals, version)
        events = MessagesEvents(self.provider, refusals, request.run_id, tuple(body.warnings))
        async with self._answered(post, events, refusals, settings) as chunks:
            yield chunks

    def __repr__(self) -> str:
        return f"AnthropicMessages({self.model_id!r})"
