"""The HTTP client that all models of an event loop share, and who keeps it open."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio
from anyio.lowlevel import RunVar

from sluiceway.errors import ConfigurationError

__all__ = ["Connections", "Holds", "HttpClient", "checked_client", "hold_connections", "shared_client"]

_CLOSING_S = 5.0
_KEPT_IDLE = 100


class HttpClient(Protocol):
    """What is used of `httpx.AsyncClient`; that of httpx2 does as well."""

    def build_request(self, method: str, url: str, *, content: bytes, headers: Any, timeout: Any) -> Any:
        """Make a request.

        Args:
            method: Such as `POST`.
            url: The whole address.
            content: The body, or None.
            headers: Its headers.
            timeout: Seconds by phase, as httpx has it.
        """
        ...

    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any:
        """Send it and return the response, its body unread.

        Args:
            request: What `build_request` made.
            stream: Whether the body is left unread.
            follow_redirects: Whether a redirect is followed.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


class Connections:
    """A hold on the shared client of one event loop, which lives while anyone holds it.

    `async with agent`, a run and a call each have one. The client is made at the first
    request, and closed when the last hold is let go.

    Args:
        shared: The client of the loop, and who holds it.
    """

    __slots__ = ("_shared",)

    def __init__(self, shared: _Shared) -> None:
        self._shared: _Shared | None = shared

    def client(self) -> HttpClient:
        """Return the client; httpx is imported here, at first use."""
        if self._shared is None:
            raise ConfigurationError("these connections are closed")
        return self._shared.client()

    async def aclose(self) -> None:
        """Let go; again is nothing."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await shared.let_go()


class _Shared:
    """The client of one event loop and the number of its holders."""

    def __init__(self) -> None:
        self.holders = 0
        self._client: HttpClient | None = None
        self._tls: ssl.SSLContext | None = None

    def client(self) -> HttpClient:
        if self._client is None:
            import httpx

            # Reading the certificates takes longer than most requests: once per event loop.
            if self._tls is None:
                self._tls = httpx.create_ssl_context()
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=_KEPT_IDLE)
            self._client = httpx.AsyncClient(verify=self._tls, timeout=None, limits=limits)  # noqa: S113 - each request has its own
        return self._client

    async def let_go(self) -> None:
        self.holders -= 1
        if self.holders > 0 or self._client is None:
            return
        client, self._client = self._client, None
        with anyio.move_on_after(_CLOSING_S, shield=True):
            await client.aclose()


_SHARED: RunVar[_Shared] = RunVar("sluiceway.models.shared_client")


def hold_connections() -> Connections:
    """Keep the shared client of this event loop open until the result's `aclose()`.

    Costs nothing until a model makes a request.
    """
    shared = _shared_here()
    shared.holders += 1
    return Connections(shared)


def _shared_here() -> _Shared:
    try:
        return _SHARED.get()
    except LookupError:
        shared = _Shared()
        _SHARED.set(shared)
        return shared


class Holds:
    """The holds of something that is entered, perhaps in several event loops at a time.

    Each is let go in the event loop that it was made in: a client can be closed in no other.
    """

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[_Shared, list[Connections]] = {}

    def hold(self) -> None:
        """Keep the shared client of this event loop open."""
        self._held.setdefault(_shared_here(), []).append(hold_connections())

    async def let_go(self) -> None:
        """Undo one `hold` of this event loop; nothing where there is none left."""
        shared = _shared_here()
        if held := self._held.get(shared):
            connections = held.pop()
            if not held:
                del self._held[shared]
            await connections.aclose()

    async def aclose(self) -> None:
        """Undo every `hold` of this event loop; again is nothing."""
        while _shared_here() in self._held:
            await self.let_go()


@asynccontextmanager
async def shared_client() -> AsyncGenerator[HttpClient]:
    """Give the shared client for the length of one call."""
    connections = hold_connections()
    try:
        yield connections.client()
    finally:
        await connections.aclose()


def checked_client(client: HttpClient | None) -> HttpClient | None:
    """Return a client of the user's own, if it can be used.

    Raises:
        ConfigurationError: It is not asynchronous, or no client.
    """
    if client is None or (hasattr(client, "build_request") and hasattr(client, "aclose")):
        return client
    raise ConfigurationError(f"client is an httpx.AsyncClient or None, not {type(client).__name__}")
