"""What the models that are reached over HTTP have in common."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from sluiceway.messages import Chunk
from sluiceway.models._client import Holds, HttpClient, checked_client, shared_client
from sluiceway.models._endpoint import Endpoint
from sluiceway.models._errors import Refusals
from sluiceway.models._exchange import Post, Timeouts, exchange
from sluiceway.models._reading import EventMapper, chunks_of
from sluiceway.models._settings import Settings

__all__ = ["HttpModel"]


class HttpModel:
    """A model reached over HTTP: holds its options, and connections only while it is entered.

    Outside of `async with`, connections last as long as the calls, runs and agents that use
    them. A client of the user's own is never closed.

    Args:
        endpoint: Where it is.
        client: An `httpx.AsyncClient`, or None for the one shared in the event loop.
        timeouts: How long it may take.
    """

    from_string = False

    def __init__(self, endpoint: Endpoint, client: HttpClient | None, timeouts: Timeouts | None) -> None:
        self._endpoint = endpoint
        self._client = checked_client(client)
        self._timeouts = Timeouts() if timeouts is None else timeouts
        self._holds = Holds()

    @property
    def base_url(self) -> str | None:
        """The address that it was given; None: its provider's own."""
        return self._endpoint.given_url

    async def __aenter__(self) -> Self:
        self._holds.hold()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._holds.let_go()

    async def aclose(self) -> None:
        """Let go of the connections that `async with` keeps open; again is nothing."""
        await self._holds.aclose()

    @asynccontextmanager
    async def _answered(
        self, post: Post, mapper: EventMapper, refusals: Refusals, settings: Settings
    ) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async with (
            self._connected() as client,
            exchange(client, post, refusals, self._limits(settings)) as answer,
        ):
            chunks = chunks_of(answer, mapper, refusals)
            try:
                yield chunks
            finally:
                await chunks.aclose()

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[HttpClient]:
        if self._client is not None:
            yield self._client
            return
        async with shared_client() as client:
            yield client

    def _limits(self, settings: Settings) -> Timeouts:
        own = self._timeouts
        return Timeouts(
            own.connect_s if settings.connect_timeout_s is None else settings.connect_timeout_s,
            own.read_s if settings.read_timeout_s is None else settings.read_timeout_s,
            own.total_s if settings.total_timeout_s is None else settings.total_timeout_s,
        )
