"""Bodies that a server, or something on the way, compressed without being asked to."""

from __future__ import annotations

import zlib
from collections.abc import Callable

__all__ = ["BadEncoding", "unpacker"]

_ANY_HEADER = 32 + zlib.MAX_WBITS
_MOST_BYTES = 32 * 1024 * 1024


class BadEncoding(Exception):
    """A body that cannot be unpacked."""


def unpacker(encoding: str) -> Callable[[bytes], bytes]:
    """Return what unpacks the pieces of one body, in order.

    Raises:
        BadEncoding: No such encoding, here; broken data or far too much of it, on use.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return _as_it_is
    if name not in ("gzip", "x-gzip", "deflate"):
        raise BadEncoding(f"encoded as {name[:40]}, which was not asked for")
    inflater = zlib.decompressobj(_ANY_HEADER)

    def unpack(piece: bytes) -> bytes:
        try:
            unpacked = inflater.decompress(piece, _MOST_BYTES)
        except zlib.error as error:
            raise BadEncoding(f"no {name}: {error}") from None
        if inflater.unconsumed_tail:
            raise BadEncoding(f"{name} that unpacks to more than 32 MiB at once")
        return unpacked

    return unpack


def _as_it_is(piece: bytes) -> bytes:
    return piece
