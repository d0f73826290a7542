"""The ASGI application: from what a server hands over to `Service`, and back."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

import anyio

from sluiceway.errors import ConfigurationError
from sluiceway.serve._chat import Chat
from sluiceway.serve._http import Incoming, Live, Outgoing, refused
from sluiceway.serve._refusal import Refusal
from sluiceway.serve._service import WIRES, Service
from sluiceway.serve._wire import Wire

__all__ = ["ASGIApp", "asgi_app", "missing"]

log: Final = logging.getLogger("sluiceway")

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

PING_S: Final = 15.0
"""After so long a silence a comment is sent, so that nothing on the way takes the connection for dead."""
_BODY_S: Final = 60.0


def missing(error: ImportError) -> ConfigurationError:
    """Return the error for a server's packages that are not installed."""
    return ConfigurationError(f"`sluiceway serve` needs {error.name}: pip install 'sluiceway[serve]'")


def asgi_app(service: Service) -> ASGIApp:
    """Return the application, to be run by any ASGI server on asyncio or trio.

    Raises:
        ConfigurationError: Starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ImportError as error:
        raise missing(error) from error

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with service.open():
            yield

    return Starlette(routes=[Route("/{path:path}", _Endpoint(service), methods=None)], lifespan=lifespan)


class _Endpoint:
    """Answers every path."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        responder = _Responder(send)
        wire = WIRES.get(scope["path"], Chat())
        try:
            body = await self._read(scope, receive)
        except Refusal as refusal:
            await responder.whole(refused(refusal, wire))
            return
        if body is not None:
            await self._answer(_incoming(scope, body), receive, responder)

    async def _read(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes | None:
        with anyio.move_on_after(_BODY_S):
            return await _body(scope, receive, self._service.options.max_body_bytes)
        raise Refusal(408, f"the request was not complete after {_BODY_S:g} s", code="timeout")

    async def _answer(self, incoming: Incoming, receive: Receive, responder: _Responder) -> None:
        """Answer for as long as the client stays."""
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(watch)
            try:
                async with self._service.handled(incoming) as outgoing:
                    await responder.respond(outgoing)
            except Exception as error:
                log.exception("%s %s failed", incoming.method, incoming.path)
                refusal = Refusal(500, f"the server failed ({type(error).__name__})", code="server_error", retry=False)
                await responder.broken(refusal, WIRES.get(incoming.path, Chat()))
            group.cancel_scope.cancel()


class _Responder:
    """Sends one response."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False
        self._quiet_since = 0.0
        self._lock = anyio.Lock(fast_acquire=True)  # a piece of a stream should not cost a turn of the event loop

    async def respond(self, outgoing: Outgoing) -> None:
        """Send a response, piece by piece where it comes so."""
        if isinstance(outgoing.body, bytes):
            await self.whole(outgoing)
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._ping, outgoing)
            await self._pieces(outgoing, outgoing.body)
            group.cancel_scope.cancel()

    async def whole(self, outgoing: Outgoing) -> None:
        """Send a response in one piece."""
        assert isinstance(outgoing.body, bytes)
        await self._begin(outgoing, len(outgoing.body))
        await self._send({"type": "http.response.body", "body": outgoing.body})

    async def broken(self, refusal: Refusal, wire: Wire) -> None:
        """Say that there is no answer, if nothing was sent yet; else end what was begun."""
        if self._begun:
            await self._send({"type": "http.response.body", "body": b""})
        else:
            await self.whole(refused(refusal, wire))

    async def _pieces(self, outgoing: Outgoing, body: Live) -> None:
        try:
            await body.open()
        except Refusal as refusal:
            assert outgoing.wire is not None
            async with self._lock:
                # The status is told when it is known, unless that took so long that a comment went out.
                if not self._begun:
                    await self.whole(refused(refusal, outgoing.wire))
                    return
            await self._piece(outgoing, outgoing.wire.event(refusal))
        else:
            await body.pour(partial(self._piece, outgoing))
        await self._piece(outgoing, b"", more=False)

    async def _begin(self, outgoing: Outgoing, length: int | None = None) -> None:
        self._begun = True
        headers = {"content-type": outgoing.content_type, "x-content-type-options": "nosniff", **outgoing.headers}
        headers |= {"x-accel-buffering": "no"} if length is None else {"content-length": str(length)}
        headers.setdefault("cache-control", "no-store")
        pairs = [(name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": outgoing.status, "headers": pairs})

    async def _piece(self, outgoing: Outgoing, piece: bytes, *, more: bool = True) -> None:
        async with self._lock:
            self._quiet_since = anyio.current_time()
            if not self._begun:
                await self._begin(outgoing)
            await self._send({"type": "http.response.body", "body": piece, "more_body": more})

    async def _ping(self, outgoing: Outgoing) -> None:
        self._quiet_since = anyio.current_time()
        while True:
            await anyio.sleep_until(self._quiet_since + PING_S)
            if anyio.current_time() - self._quiet_since >= PING_S:
                await self._piece(outgoing, b": still here\n\n")


async def _body(scope: MutableMapping[str, Any], receive: Receive, most_bytes: int) -> bytes | None:
    """Return a request's body, or None where the client has gone.

    Raises:
        Refusal: It is too large.
    """
    told = dict(scope["headers"]).get(b"content-length", b"0")
    pieces: list[bytes] = []
    size = int(told) if told.isdigit() else 0
    more = size <= most_bytes
    read = 0
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        read += len(pieces[-1])
        more = message.get("more_body", False) and read <= most_bytes
    if max(size, read) > most_bytes:
        raise Refusal(413, f"the body is larger than {most_bytes} bytes", code="body_too_large", retry=False)
    return b"".join(pieces)


def _incoming(scope: MutableMapping[str, Any], body: bytes) -> Incoming:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))
    return Incoming(scope["method"], scope["path"], headers, query, body)
