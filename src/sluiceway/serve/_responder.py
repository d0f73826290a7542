"""`Responder`: sends one response, as fast as the client takes it and no faster."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

import anyio

from sluiceway.serve._http import Live, Outgoing, refused
from sluiceway.serve._refusal import Refusal
from sluiceway.serve._wire import Wire

__all__ = ["Message", "Responder", "Send"]

Message: TypeAlias = MutableMapping[str, Any]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

log: Final = logging.getLogger("sluiceway")

PING_S: Final = 10.0
"""After one to two times so long a silence a comment is sent, so that nothing on the way takes the
connection for dead."""
STALL_S: Final = 60.0
"""After so long a client that takes nothing is given up, and its place is another's."""
_AHEAD_BYTES: Final = 64 * 1024
"""How much of a body waits for the client before no more of it is read."""


class Responder:
    """Sends one response.

    What of a body is there at once is sent at once, in one piece: a server that is busy sends
    fewer and larger pieces, and a slow client holds up its own answer only.

    Args:
        send: Hands a message to the server.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False
        self._pieces: list[bytes] = []
        self._size = 0
        self._ended = False
        self._there = anyio.Event()
        self._taken: anyio.Event | None = None
        self._finished = anyio.Event()
        self._sending = False
        self._sent = 0

    async def respond(self, outgoing: Outgoing) -> None:
        """Send a response, piece by piece where it comes so."""
        if isinstance(outgoing.body, bytes):
            await self.whole(outgoing)
            return
        refusal: Refusal | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._write, outgoing)
            group.start_soon(self._watch, group.cancel_scope)
            refusal = await self._read(outgoing, outgoing.body)
            if refusal is None:
                self._ended = True
                self._there.set()
                await self._finished.wait()
            group.cancel_scope.cancel()
        if refusal is not None and outgoing.wire is not None:
            await self.whole(refused(refusal, outgoing.wire))

    async def whole(self, outgoing: Outgoing) -> None:
        """Send a response in one piece."""
        assert isinstance(outgoing.body, bytes)
        await self._begin(outgoing, len(outgoing.body))
        await self._send({"type": "http.response.body", "body": outgoing.body})

    async def broken(self, refusal: Refusal, wire: Wire) -> None:
        """Say that there is no answer; where a part of it was sent, that there is no more."""
        if self._begun:
            await self._send({"type": "http.response.body", "body": wire.event(refusal)})
        else:
            await self.whole(refused(refusal, wire))

    async def _read(self, outgoing: Outgoing, body: Live) -> Refusal | None:
        """Read the whole body; return what the status is to tell, where nothing was sent."""
        try:
            await body.open()
        except Refusal as refusal:
            # The status is told when it is known, unless that took so long that a comment went out.
            if outgoing.wire is None or not self._begun:
                return refusal
            await self._put(outgoing.wire.event(refusal))
        else:
            await body.pour(self._put)
        return None

    async def _put(self, piece: bytes) -> None:
        if not self._pieces:
            self._there.set()
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size >= _AHEAD_BYTES:
            self._taken = self._taken or anyio.Event()
            await self._taken.wait()

    async def _write(self, outgoing: Outgoing) -> None:
        """Send what is there, until the end."""
        ended = False
        while not ended:
            await self._there.wait()
            ended = self._ended
            piece = b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._there = anyio.Event()
            self._sending = True
            if not self._begun:
                await self._begin(outgoing)
            await self._send({"type": "http.response.body", "body": piece, "more_body": not ended})
            self._sending = False
            self._sent += 1
            if self._taken is not None:
                self._taken.set()
                self._taken = None
        self._finished.set()

    async def _watch(self, scope: anyio.CancelScope) -> None:
        """Fill a long silence; give up a client that takes nothing."""
        sent, quiet_s = -1, 0.0
        while quiet_s < STALL_S:
            await anyio.sleep(PING_S)
            if sent != self._sent:
                sent, quiet_s = self._sent, 0.0
            elif self._sending:
                quiet_s += PING_S
            else:
                await self._put(b": still here\n\n")
        log.warning("a client took nothing of its answer for %g s and was given up", STALL_S)
        scope.cancel()

    async def _begin(self, outgoing: Outgoing, length: int | None = None) -> None:
        self._begun = True
        headers = {"content-type": outgoing.content_type, "x-content-type-options": "nosniff", **outgoing.headers}
        headers |= {"x-accel-buffering": "no"} if length is None else {"content-length": str(length)}
        headers.setdefault("cache-control", "no-store")
        pairs = [(name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": outgoing.status, "headers": pairs})
