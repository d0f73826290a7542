"""`RedisCache` with a real server: shared, slow, full, gone, and holding rubbish."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis

from sluiceway import Agent
from sluiceway.models import ScriptedModel
from sluiceway.processors import RedisCache, ResponseCache
from tests.support.redis import free_port, redis_server

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[3]


def asking(cache: Any, *replies: str, **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(list(replies or ("a0", "a1", "a2")))
    return Agent(id="a", model=model, input_processors=[ResponseCache(cache, **options)]), model


@pytest.fixture
def prefix() -> str:
    """Keys of this test's own."""
    return f"test-{uuid4().hex}:"


async def test_what_is_set_is_there_for_its_time(redis_url: str, prefix: str) -> None:
    cache = RedisCache(redis_url, prefix=prefix)
    await cache.set("a", b"\x00value", 60)
    await cache.set("b", b"for ever")
    assert [await cache.get(key) for key in ("a", "b", "c")] == [b"\x00value", b"for ever", None]
    await cache.aclose()

    with redis.Redis.from_url(redis_url) as client:
        assert 0 < client.pttl(f"{prefix}a") <= 60_000
        assert client.pttl(f"{prefix}b") == -1
        client.delete(f"{prefix}a", f"{prefix}b")


async def test_agents_share_a_server(redis_url: str, prefix: str) -> None:
    first, one = asking(RedisCache(redis_url, prefix=prefix), "a0")
    second, other = asking(RedisCache(redis_url, prefix=prefix), "b0")
    assert [(await agent.generate("q")).text for agent in (first, second)] == ["a0", "a0"]
    assert (len(one.calls), len(other.calls)) == (1, 0)


async def test_a_client_of_ones_own_is_not_closed(redis_url: str, prefix: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        cache = RedisCache(client, prefix=prefix)
        await cache.set("a", b"x", 60)
        await cache.aclose()
        assert await cache.get("a") == b"x"


def test_two_processes_make_one_model_call(redis_url: str) -> None:
    """The example, as a reader runs it."""
    question = f"What is a sluice? {uuid4().hex}"
    command = [sys.executable, str(ROOT / "examples" / "response_cache.py"), question]
    environment = {**os.environ, "REDIS_URL": redis_url}
    outputs = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2)
    ]
    answer = "A gate that lets through as much water as you want."
    assert outputs == [f"{answer}\nmodel calls: 1\n", f"{answer}\nmodel calls: 0\n"]


@pytest.mark.parametrize("rubbish", [b"rubbish", b"", b'{"version": 99, "chunks": []}', "list"])
async def test_rubbish_is_a_miss_and_is_written_over(redis_url: str, prefix: str, rubbish: Any) -> None:
    """Also a key of another type than a text."""
    agent, model = asking(RedisCache(redis_url, prefix=prefix), key="k")
    with redis.Redis.from_url(redis_url) as client:
        if rubbish == "list":
            client.rpush(f"{prefix}k:0", "x")
        else:
            client.set(f"{prefix}k:0", rubbish)

    assert [(await agent.generate("q")).text for _ in range(2)] == ["a0", "a0"]
    assert len(model.calls) == 1


async def test_a_server_that_goes_and_comes_back(caplog: pytest.LogCaptureFixture) -> None:
    with redis_server() as server:
        agent, model = asking(RedisCache(server.url, timeout_s=0.5))
        assert [(await agent.generate("q")).text for _ in range(2)] == ["a0", "a0"]

        server.stop()
        with caplog.at_level(logging.WARNING, "sluiceway"):
            assert (await agent.generate("q")).text == "a1"
        assert "the cache could not be read" in caplog.text
        assert "the cache could not be written" in caplog.text

        server.start()
        assert [(await agent.generate("q")).text for _ in range(2)] == ["a2", "a2"]
        assert len(model.calls) == 3


async def test_a_server_that_was_never_there() -> None:
    agent, _ = asking(RedisCache(f"redis://127.0.0.1:{free_port()}/0", timeout_s=0.5))
    assert [(await agent.generate("q")).text for _ in range(2)] == ["a0", "a1"]


@contextmanager
def silent_server() -> Generator[int]:
    """Accept connections and never answer."""
    stop = threading.Event()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.05)
        taken: list[socket.socket] = []

        def accept() -> None:
            while not stop.is_set():
                try:
                    taken.append(server.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            stop.set()
            thread.join()
            for one in taken:
                one.close()


async def test_a_server_that_does_not_answer_holds_nobody_up() -> None:
    with silent_server() as port:
        agent, _ = asking(RedisCache(f"redis://127.0.0.1:{port}/0", timeout_s=0.2), timeout_s=0.1)
        started = time.monotonic()
        assert (await agent.generate("q")).text == "a0"
        assert time.monotonic() - started < 5


async def test_a_full_server_keeps_nothing_and_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with redis_server("maxmemory 1", "maxmemory-policy noeviction") as server:
        agent, model = asking(RedisCache(server.url))
        with caplog.at_level(logging.WARNING, "sluiceway"):
            assert [(await agent.generate("q")).text for _ in range(2)] == ["a0", "a1"]
        assert "the cache could not be written" in caplog.text
        assert len(model.calls) == 2
