"""Requests and responses, as the handlers see them: without any web framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sluiceway.serve._refusal import Refusal
from sluiceway.serve._wire import Wire, compact

__all__ = ["Incoming", "Live", "Outgoing", "json_reply", "refused"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request.

    Args:
        method: In capitals.
        path: Decoded.
        headers: Names in lower case.
        query: The last value of each name.
        body: All of it.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = field(default=b"", repr=False)


class Live(Protocol):
    """A body that comes in pieces."""

    async def open(self) -> None:
        """Go on until there is a piece; `Refusal` where there will be none."""
        ...

    async def pour(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send all the pieces."""
        ...


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A response.

    Args:
        status: The HTTP status.
        body: All of it, or what gives it piece by piece.
        content_type: The media type.
        headers: More headers.
        wire: The API whose shape a refusal has.
    """

    status: int = 200
    body: bytes | Live = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    wire: Wire | None = None


def json_reply(value: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Outgoing:
    """Return a response with a JSON body."""
    return Outgoing(status, compact(value), headers=headers or {})


def refused(refusal: Refusal, wire: Wire) -> Outgoing:
    """Return a refusal in the shape of an API."""
    return json_reply(wire.fault(refusal), refusal.status, refusal.headers)
