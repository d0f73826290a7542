"""The ASGI application: from what a server hands over to `Service`, and back."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast
from urllib.parse import parse_qsl

import anyio

from sluiceway.errors import ConfigurationError
from sluiceway.serve._http import Incoming, refused
from sluiceway.serve._refusal import Refusal
from sluiceway.serve._responder import Message, Responder, Send
from sluiceway.serve._service import Service, wire_of

__all__ = ["ASGIApp", "asgi_app", "missing"]

log: Final = logging.getLogger("sluiceway")

Receive: TypeAlias = Callable[[], Awaitable[Message]]
ASGIApp: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

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
        responder = Responder(send)
        asked = _incoming(scope)
        try:
            body = await self._read(scope, receive)
        except Refusal as refusal:
            await responder.whole(refused(refusal, wire_of(asked.path, asked.headers)))
            return
        if body is not None:
            await self._answer(replace(asked, body=body), receive, responder)

    async def _read(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes | None:
        with anyio.move_on_after(_BODY_S):
            return await _body(scope, receive, self._service.options.max_body_bytes)
        raise Refusal(408, f"the request was not complete after {_BODY_S:g} s", code="timeout")

    async def _answer(self, incoming: Incoming, receive: Receive, responder: Responder) -> None:
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
                name = type(_first(error)).__name__
                refusal = Refusal(500, f"the server failed ({name})", code="server_error", retry=False)
                await responder.broken(refusal, wire_of(incoming.path, incoming.headers))
            group.cancel_scope.cancel()


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


def _first(error: Exception) -> Exception:
    """Return an exception out of the groups that the tasks around it have made."""
    while isinstance(error, ExceptionGroup):
        group = cast("ExceptionGroup[Exception]", error)
        error = group.exceptions[0]
    return error


def _incoming(scope: MutableMapping[str, Any]) -> Incoming:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))
    return Incoming(scope["method"], scope["path"], headers, query)
