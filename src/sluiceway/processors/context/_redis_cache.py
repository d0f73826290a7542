"""`RedisCache`: answers in a Redis server, shared by processes."""

from __future__ import annotations

import threading
from typing import Any, cast

import anyio.to_thread

from sluiceway.errors import ConfigurationError
from sluiceway.processors.context._options import checked_name, checked_seconds, refusal

__all__ = ["RedisCache"]


class RedisCache:
    """A cache in a Redis server. Works on asyncio and trio: the client runs in worker threads.

    Args:
        url: Such as `redis://localhost:6379/0`; or a `redis.Redis` of one's own, which stays
            its owner's to close.
        prefix: What its keys begin with.
        timeout_s: Seconds until a connection, an answer or a free connection is given up.

    Raises:
        ConfigurationError: An option that is not allowed, or redis-py is not installed.
    """

    def __init__(
        self, url: Any = "redis://localhost:6379/0", *, prefix: str = "sluiceway:", timeout_s: float = 1.0
    ) -> None:
        self.timeout_s = checked_seconds("RedisCache", "timeout_s", timeout_s)
        self.prefix = checked_name("RedisCache", "prefix", prefix)
        self._owned = isinstance(url, str)
        if not self._owned and not (hasattr(url, "get") and hasattr(url, "set")):
            raise refusal("RedisCache", "url", url, "a URL such as 'redis://localhost:6379/0', or a redis.Redis")
        self._url: str | None = url if isinstance(url, str) else None
        self._client: Any = None if self._owned else url
        self._lock = threading.Lock()
        if self._url is not None:
            self._made()  # a wrong URL shows here; no connection is made

    async def get(self, key: str) -> bytes | None:
        """Return what is kept under a key, or None."""
        client = self._made()
        found = await anyio.to_thread.run_sync(client.get, self.prefix + key, abandon_on_cancel=True)
        return cast("bytes | None", found)

    async def set(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Keep a value for so many seconds; None: until Redis makes room.

        Args:
            key: The key.
            value: The value.
            ttl_s: For how many seconds; None: until the server drops it.
        """
        client = self._made()
        life_ms = None if ttl_s is None else max(1, round(ttl_s * 1000))
        await anyio.to_thread.run_sync(lambda: client.set(self.prefix + key, value, px=life_ms), abandon_on_cancel=True)

    async def aclose(self) -> None:
        """Close the connections; a client that was passed in stays open."""
        with self._lock:
            client, self._client = self._client, None if self._owned else self._client
        if self._owned and client is not None:
            await anyio.to_thread.run_sync(client.close)

    def _made(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = _client(cast("str", self._url), self.timeout_s)
            return self._client

    def __repr__(self) -> str:
        return f"RedisCache(prefix={self.prefix!r})"


def _client(url: str, timeout_s: float) -> Any:
    try:
        import redis
    except ImportError as error:
        raise ConfigurationError("RedisCache needs redis-py: pip install 'sluiceway[redis]'") from error
    make = cast("Any", redis.Redis.from_url)
    try:
        return make(url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s, max_connections=64)
    except ValueError as error:
        scheme = url.split("://", 1)[0] if "://" in url else ""
        raise ConfigurationError(
            f"RedisCache: the url with the scheme {scheme!r} is none of Redis; "
            "give one such as 'redis://localhost:6379/0'"
        ) from error
