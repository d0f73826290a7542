"""A Redis server for tests: one that is given, or a private one on a free port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis, RedisError

__all__ = ["GIVEN", "RedisServer", "free_port", "has_redis", "redis_server"]

GIVEN = "SLUICEWAY_TEST_REDIS_URL"


class RedisServer:
    """A server of one's own, which can be stopped and started again.

    Args:
        options: Such as `maxmemory 2mb`.
    """

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        self._options = [word for option in options for word in f"--{option}".split()]
        self._folder = Path(tempfile.mkdtemp(prefix="sluiceway-redis-"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it and wait until it answers."""
        program = shutil.which("redis-server")
        assert program is not None
        words = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        words += ["--dir", str(self._folder), *self._options]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with Redis(port=self.port) as client:
            for _ in range(500):
                try:
                    client.ping()
                except RedisError:
                    time.sleep(0.01)
                else:
                    return
        raise RuntimeError("the Redis server does not answer")

    def stop(self) -> None:
        """Stop it; what it held is gone."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Stop it for good."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def redis_server(*options: str) -> Generator[RedisServer]:
    """Give a server of one's own that runs meanwhile; skipped where the program is missing, never in CI."""
    if shutil.which("redis-server") is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing(f"there is no redis-server on this machine; install one, or set {GIVEN}")
    server = RedisServer(*options)
    try:
        server.start()
        yield server
    finally:
        server.close()


def has_redis() -> bool:
    """Whether there is a server here."""
    return bool(os.environ.get(GIVEN)) or shutil.which("redis-server") is not None


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
