"""A model behind a client of the user's own: each call goes out as that client would have sent it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Final

import anyio.to_thread

from sluiceway.errors import ConfigurationError
from sluiceway.models import AnthropicMessages, Model, OpenAIChat, Timeouts
from sluiceway.serve._ask import Ask
from sluiceway.serve._guarding import quirks_of
from sluiceway.serve._wire import Wire

__all__ = ["Relay", "library_of", "make_stream"]

_OURS: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "idempotency-key",  # a run may call the model several times
        "transfer-encoding",
    }
)
"""Headers that belong to one request, and are not passed on with another."""
_DEFAULT: Final = Timeouts()


class Relay:
    """Sends the calls of one run to where a request was to go: same address, headers and client.

    Args:
        client: The `httpx.Client` or `httpx.AsyncClient` (or httpx2's) inside of an official client.
        request: What that client was about to send.

    Attributes:
        refused: The last response that was no answer: status, headers and body; None: there was none.
        failed: What the client raised instead of a response, or None.
    """

    def __init__(self, client: Any, request: Any) -> None:
        self._client = client
        self._request = request
        self._library = library_of(client)
        self.refused: tuple[int, list[tuple[bytes, bytes]], bytes] | None = None
        self.failed: Exception | None = None

    def model(self, ask: Ask, wire: Wire) -> Model:
        """Return the model that answers a request."""
        headers = {name: value for name, value in self._request.headers.items() if name.lower() not in _OURS}
        base_url = str(self._request.url.copy_with(query=None))
        client = self._library.AsyncClient(transport=_Sending(self), timeout=None)
        limits = self._limits()
        if wire.provider == "anthropic":
            root = base_url.removesuffix("/messages")
            return AnthropicMessages(
                ask.model, base_url=root, api_key="", headers=headers, client=client, timeouts=limits, max_retries=0
            )
        root = base_url.removesuffix("/chat/completions")
        return OpenAIChat(
            ask.model,
            base_url=root,
            api_key="",
            headers=headers,
            client=client,
            timeouts=limits,
            max_retries=0,
            quirks=quirks_of(ask),
        )

    def _limits(self) -> Timeouts:
        given: Mapping[str, float | None] = self._request.extensions.get("timeout", {})
        return Timeouts(
            connect_s=given.get("connect") or _DEFAULT.connect_s,
            read_s=given.get("read") or _DEFAULT.read_s,
            total_s=max(given.get("read") or 0, _DEFAULT.total_s),
        )

    async def send(self, request: Any) -> Any:
        """Send a request of the model's by the user's client."""
        again = self._client.build_request(
            "POST",
            self._request.url,  # with its query, which some servers need
            headers=request.headers,
            content=await request.aread(),
            timeout=None if "timeout" not in self._request.extensions else _timeout(self._library, self._request),
        )
        try:
            response = await _sent(self._client, again)
            if response.status_code != 200:
                body = await _read(response)
                headers = [pair for pair in response.headers.raw if pair[0].lower() not in _BODY_HEADERS]
                self.refused = (response.status_code, headers, body)
                return self._library.Response(response.status_code, headers=headers, content=body)
        except (self._library.HTTPError, self._library.StreamError) as error:
            self.failed = error
            raise
        if _is_sync(self._client):
            stream = make_stream(self._library, _InThread(response), response.close, sync=False)
            return self._library.Response(response.status_code, headers=response.headers, stream=stream)
        return response


_BODY_HEADERS: Final = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})


class _Sending:
    """The transport of the model's client: hands on to the user's."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    async def __aenter__(self) -> _Sending:
        return self

    async def __aexit__(self, *error: object) -> None:
        return None

    async def handle_async_request(self, request: Any) -> Any:
        """Send it."""
        return await self._relay.send(request)

    async def aclose(self) -> None:
        """Leave the user's client open."""


def library_of(thing: object) -> Any:
    """Return httpx or httpx2, whichever an object comes from.

    Raises:
        ConfigurationError: It is of neither.
    """
    for kind in type(thing).__mro__:
        module = sys.modules.get(kind.__module__.partition(".")[0])
        if hasattr(module, "AsyncByteStream") and hasattr(module, "StreamError"):
            return module
    raise ConfigurationError(f"a client that sends with httpx was expected, not {type(thing).__name__}")


def make_stream(library: Any, pieces: Any, close: Callable[[], Any], *, sync: bool) -> Any:
    """Return the body of a response of a library: pieces, and what ends them."""
    if sync:

        def iterate(_: object) -> Iterator[bytes]:
            return pieces

        def closed(_: object) -> None:
            close()

        made = type("Pieces", (library.SyncByteStream,), {"__iter__": iterate, "close": closed})
        return made()

    def aiterate(_: object) -> AsyncIterator[bytes]:
        return pieces

    async def aclosed(_: object) -> None:
        done = close()
        if done is not None:
            await done

    return type("Pieces", (library.AsyncByteStream,), {"__aiter__": aiterate, "aclose": aclosed})()


def _is_sync(client: Any) -> bool:
    return not hasattr(client, "aclose")


async def _sent(client: Any, request: Any) -> Any:
    if _is_sync(client):
        return await anyio.to_thread.run_sync(lambda: client.send(request, stream=True), abandon_on_cancel=True)
    return await client.send(request, stream=True)


async def _read(response: Any) -> bytes:
    if hasattr(response.stream, "__aiter__"):
        return await response.aread()
    return await anyio.to_thread.run_sync(response.read)


class _InThread:
    """Reads the body of a synchronous response, piece by piece in a worker thread."""

    def __init__(self, response: Any) -> None:
        self._pieces: Iterator[bytes] = response.iter_raw()

    def __aiter__(self) -> _InThread:
        return self

    async def __anext__(self) -> bytes:
        piece = await anyio.to_thread.run_sync(lambda: next(self._pieces, None), abandon_on_cancel=True)
        if piece is None:
            raise StopAsyncIteration
        return piece


def _timeout(library: Any, request: Any) -> Any:
    given = request.extensions["timeout"]
    return library.Timeout(
        connect=given.get("connect"), read=given.get("read"), write=given.get("write"), pool=given.get("pool")
    )
