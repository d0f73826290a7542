"""One HTTP request and its answer, read piece by piece within time limits."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

import anyio

from sluiceway.errors import ModelError
from sluiceway.models._client import HttpClient
from sluiceway.models._encoding import BadEncoding, unpacker
from sluiceway.models._errors import Refusals

__all__ = ["Exchange", "Post", "Timeouts", "exchange"]

_REFUSAL_BYTES = 64 * 1024
_REFUSAL_S = 5.0
_CLOSING_S = 5.0
_ENDING_S = 0.1


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a model may take.

    Args:
        connect_s: To make a connection, in seconds.
        read_s: The longest silence, in seconds; a keep-alive comment ends it.
        total_s: The whole answer, in seconds.
    """

    connect_s: float = 10.0
    read_s: float = 300.0
    total_s: float = 900.0


@dataclass(frozen=True, slots=True, repr=False)
class Post:
    """A request.

    Args:
        url: Where to.
        headers: With the key: never shown.
        body: JSON.
        method: The HTTP method.
    """

    url: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"


class Exchange:
    """An answer with status 200, whose body is read piece by piece.

    No cancel scope is open between two reads.

    Attributes:
        headers: Of the response, names in lower case.
        received_bytes: How much of the body has been read.
    """

    def __init__(self, response: Any, refusals: Refusals, timeouts: Timeouts, deadline: float) -> None:
        self.headers: dict[str, str] = dict(response.headers)
        self.received_bytes = 0
        self._response = response
        # Raw, since a packed body that is broken would leave generators half-read inside of httpx.
        # A transport for tests may have the body, unpacked, already.
        read: bool = response.is_stream_consumed
        self._pieces: AsyncIterator[bytes] = response.aiter_bytes() if read else response.aiter_raw()
        self._unpack: Callable[[bytes], bytes] | None = unpacker("") if read else None
        self._refusals = refusals
        self._timeouts = timeouts
        self._deadline = deadline

    @property
    def content_type(self) -> str:
        """The media type, without its parameters; `""` where none was sent."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def read(self) -> bytes | None:
        """Return the next piece of the body, or None at its end.

        Raises:
            ModelError: Nothing came in time, or the connection broke.
        """
        timeouts = self._timeouts
        idle_deadline = anyio.current_time() + timeouts.read_s
        with anyio.CancelScope(deadline=min(idle_deadline, self._deadline)) as scope:
            try:
                piece = await anext(self._pieces, None)
            except _errors_of(self._response) as error:
                raise self._broken(error) from None
            if piece is None:
                return None
            self.received_bytes += len(piece)
            return self._unpacked(piece)
        assert scope.cancelled_caught
        if idle_deadline < self._deadline:
            raise self._late(f"nothing came for {timeouts.read_s:g} s")
        raise self._late(f"the answer was not complete after {timeouts.total_s:g} s")

    def _unpacked(self, piece: bytes) -> bytes:
        try:
            if self._unpack is None:
                self._unpack = unpacker(self.headers.get("content-encoding", ""))
            return self._unpack(piece)
        except BadEncoding as error:
            raise self._refusals.error(f"the answer is {error}", headers=self.headers) from None

    async def finish(self) -> None:
        """Read the end of a body whose last event is here, so that the connection can be used again."""
        with anyio.move_on_after(_ENDING_S):
            try:
                while await self.read() is not None:
                    pass
            except ModelError:
                pass

    async def read_all(self, limit_bytes: int) -> bytes:
        """Return the rest of the body, cut at the limit."""
        body = bytearray()
        await self._read_into(body, limit_bytes)
        return bytes(body[:limit_bytes])

    async def read_most(self, limit_bytes: int) -> bytes:
        """Return what can be had of the rest of the body, also where it stalls, breaks or is broken."""
        body = bytearray()
        with anyio.move_on_after(_REFUSAL_S):
            with suppress(ModelError):
                await self._read_into(body, limit_bytes)
        return bytes(body[:limit_bytes])

    async def _read_into(self, body: bytearray, limit_bytes: int) -> None:
        while len(body) < limit_bytes and (piece := await self.read()) is not None:
            body += piece

    async def close(self) -> None:
        """Close the response, and the connection where the body is not at its end."""
        with anyio.move_on_after(_CLOSING_S, shield=True):
            try:
                await self._response.aclose()
                await self._unwind()
            except _errors_of(self._response):
                pass

    async def _unwind(self) -> None:
        """End the generators inside of the response, which are not closed along with it.

        Left to the garbage collector they would end in another task, or with a warning. The
        connection is closed, so the next read of it raises, through all of them.
        """
        while await anext(self._pieces, None) is not None:
            pass

    def _late(self, what: str) -> ModelError:
        return self._refusals.error(
            f"{what}, {self.received_bytes} bytes received before", retryable=True, headers=self.headers
        )

    def _broken(self, error: Exception) -> ModelError:
        return self._refusals.error(
            f"the connection broke after {self.received_bytes} bytes of the answer ({type(error).__name__}: {error})",
            retryable=True,
            headers=self.headers,
        )


@asynccontextmanager
async def exchange(client: HttpClient, post: Post, refusals: Refusals, timeouts: Timeouts) -> AsyncGenerator[Exchange]:
    """Send a request and give the answer; leaving closes it.

    Raises:
        ModelError: No connection, no answer in time, or a status other than 200.
    """
    deadline = anyio.current_time() + timeouts.total_s
    response = await _send(client, post, refusals, timeouts, deadline)
    answer = Exchange(response, refusals, timeouts, deadline)
    try:
        if response.status_code != 200:
            body = await answer.read_most(_REFUSAL_BYTES)
            raise refusals.refused(response.status_code, answer.headers, body)
        yield answer
    finally:
        await answer.close()


async def _send(client: HttpClient, post: Post, refusals: Refusals, timeouts: Timeouts, deadline: float) -> Any:
    # Connect, read, write, pool. Reading has a limit of ours, which also ends an answer that trickles.
    limits = (timeouts.connect_s, None, timeouts.read_s, timeouts.connect_s)
    errors = _errors_of(client)
    idle_deadline = anyio.current_time() + timeouts.connect_s + timeouts.read_s
    with anyio.CancelScope(deadline=min(idle_deadline, deadline)):
        try:
            request = client.build_request(
                post.method, post.url, content=post.body, headers=post.headers, timeout=limits
            )
            request = _without_generator(request, post.body)
            return await client.send(request, stream=True, follow_redirects=False)
        except errors as error:
            raise _unanswered(error, refusals, timeouts) from None
    waited = min(timeouts.total_s, timeouts.connect_s + timeouts.read_s)
    raise refusals.error(f"no answer within {waited:g} s", retryable=True)


_SENDING = {
    "ConnectTimeout": ("no connection within {connect_s:g} s", True),
    "PoolTimeout": ("no free connection within {connect_s:g} s", True),
    "WriteTimeout": ("the request could not be sent within {read_s:g} s", True),
    "ReadTimeout": ("no answer within {read_s:g} s", True),
    "ConnectError": ("no connection", True),
    "ProxyError": ("the proxy refused", True),
    "ReadError": ("the connection was closed before an answer came", True),
    "WriteError": ("the connection was closed while the request was sent", True),
    "RemoteProtocolError": ("the server answered with something that is not HTTP, or not at all", True),
    "LocalProtocolError": ("the request is not valid HTTP", False),
    "UnsupportedProtocol": ("the URL is not one of http or https", False),
    "InvalidURL": ("the URL cannot be read", False),
}
"""What the exceptions of httpx mean before the answer: in words, and whether another try may help."""


def _unanswered(error: Exception, refusals: Refusals, timeouts: Timeouts) -> ModelError:
    name = type(error).__name__
    words, retryable = _SENDING.get(name, ("the request failed", False))
    words = words.format(connect_s=timeouts.connect_s, read_s=timeouts.read_s)
    # What is not valid HTTP may be the header with the key.
    said = f": {error}" if str(error) and name != "LocalProtocolError" else ""
    return refusals.error(f"{words} ({name}{said})", retryable=retryable)


def _errors_of(thing: object) -> tuple[type[Exception], ...]:
    """Return the exceptions of the library that an object comes from."""
    library = _library_of(thing)
    return () if library is None else (library.HTTPError, library.StreamError, library.InvalidURL)


def _library_of(thing: object) -> Any:
    """Return httpx or httpx2, whichever an object comes from; None where it is of neither."""
    for kind in type(thing).__mro__:
        module = sys.modules.get(kind.__module__.partition(".")[0])
        if hasattr(module, "AsyncByteStream") and hasattr(module, "StreamError"):
            return module
    return None


class _Once:
    """Gives a request's body once.

    Both libraries use an async generator, which a cancelled request would leave to the
    garbage collector.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if not self._body:
            raise StopAsyncIteration
        body, self._body = self._body, b""
        return body


def _without_generator(request: Any, body: bytes) -> Any:
    """Return the request with a body that is no async generator."""
    library = _library_of(request)
    if library is not None:

        def pieces(_: object) -> _Once:
            return _Once(body)

        request.stream = type("WholeBody", (library.AsyncByteStream,), {"__aiter__": pieces})()
    return request
