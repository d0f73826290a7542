"""Where answers are kept: the port, and a cache in memory."""

from __future__ import annotations

import threading
from collections.abc import Awaitable
from typing import Any, NamedTuple, Protocol

from cachetools import TLRUCache

from sluiceway.engine import clock
from sluiceway.processors.context._options import checked_count

__all__ = ["Cache", "InMemoryCache"]

_OVERHEAD_BYTES = 200


class Cache(Protocol):
    """Keeps bytes under keys for a while. Both methods may be plain functions or coroutines."""

    def get(self, key: str, /) -> bytes | str | Awaitable[bytes | str | None] | None:
        """Return what is kept under a key, or None."""
        ...

    def set(self, key: str, value: bytes, ttl_s: float | None, /) -> Any:
        """Keep a value for so many seconds; None: until it has to make room."""
        ...


class _Entry(NamedTuple):
    value: bytes
    ttl_s: float | None


class InMemoryCache:
    """A cache in this process's memory: bounded, the longest unused goes first.

    May be used from several threads.

    Args:
        max_entries: How many answers at most.
        max_bytes: How much they may take together, about; a larger one is not kept.

    Raises:
        ConfigurationError: A bound that is no whole number above 0.
    """

    def __init__(self, *, max_entries: int = 1000, max_bytes: int = 64_000_000) -> None:
        self.max_entries = checked_count("InMemoryCache", "max_entries", max_entries, 1)
        self.max_bytes = checked_count("InMemoryCache", "max_bytes", max_bytes, 1)
        self._lock = threading.Lock()
        self._entries: TLRUCache[str, _Entry] = TLRUCache(self.max_bytes, ttu=_end, timer=_now_s, getsizeof=_size)

    async def get(self, key: str) -> bytes | None:
        """Return what is kept under a key, or None."""
        with self._lock:
            entry = self._entries.get(key)
        return None if entry is None else entry.value

    async def set(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Keep a value for so many seconds; None: until it has to make room.

        Args:
            key: The key.
            value: The value.
            ttl_s: For how many seconds.
        """
        entry = _Entry(value, ttl_s)
        if _size(entry) > self.max_bytes:
            return
        with self._lock:
            self._entries[key] = entry
            while len(self._entries) > self.max_entries:
                self._entries.popitem()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        with self._lock:
            self._entries.expire()
            return len(self._entries)


def _now_s() -> float:
    return clock().monotonic_s()


def _end(key: str, entry: _Entry, now_s: float) -> float:
    del key
    return float("inf") if entry.ttl_s is None else now_s + entry.ttl_s


def _size(entry: _Entry) -> int:
    return len(entry.value) + _OVERHEAD_BYTES
