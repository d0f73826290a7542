"""The ASGI application, called by hand: on both backends, without a network."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from sluiceway import Agent
from sluiceway.errors import ConfigurationError
from sluiceway.models import Reply, ScriptedModel
from sluiceway.serve import ServeOptions, Server, _responder

STREAM = {"model": "a", "stream": True, "messages": [{"role": "user", "content": "hi"}]}


class Client:
    """What a server would hand to the application, and what it gets back."""

    def __init__(self, app: Any, body: bytes, path: str = "/v1/chat/completions") -> None:
        self.app = app
        self.scope: dict[str, Any] = {
            "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": b"", "http_version": "1.1", "scheme": "http", "client": None, "server": ("localhost", 80),
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        }  # fmt: skip
        self.sent: list[dict[str, Any]] = []
        self.body = body
        self.gone = anyio.Event()

    async def receive(self) -> dict[str, Any]:
        body, self.body = self.body, b""
        if body:
            return {"type": "http.request", "body": body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    async def call(self) -> None:
        await self.app(self.scope, self.receive, self.send)

    @property
    def status(self) -> int:
        return next(message["status"] for message in self.sent if message["type"] == "http.response.start")

    @property
    def text(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def served(*replies: Any, **options: Any) -> Server:
    return Server([Agent(id="a", model=ScriptedModel(list(replies)))], ServeOptions(**options))


def client(server: Server, **body: Any) -> Client:
    return Client(server.app(), json.dumps({**STREAM, **body}).encode())


@pytest.mark.anyio
async def test_a_stream_begins_with_its_status_and_ends_once() -> None:
    asked = client(served(["one ", "two"]))
    await asked.call()
    assert asked.status == 200
    assert [message["type"] for message in asked.sent].count("http.response.start") == 1
    assert [message.get("more_body") for message in asked.sent[1:]][-1] is False
    assert asked.text.endswith(b"data: [DONE]\n\n")


@pytest.mark.anyio
async def test_the_status_is_that_of_what_became_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = client(served(Reply(error={"status": 429, "message": "slow down"})))
    await asked.call()
    assert (asked.status, json.loads(asked.text)["error"]["message"]) == (429, "slow down")


@pytest.mark.anyio
async def test_a_long_silence_is_filled_and_an_error_after_it_is_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_responder, "PING_S", 0.02)
    asked = client(served(Reply(text="late", delay_s=0.3)))
    await asked.call()
    assert asked.text.startswith(b": still here\n\n: still here\n\n")
    assert b'"content":"late"' in asked.text
    server = served(Reply(text="x", delay_s=30), timeout_s=0.1)
    slow = client(server)
    await slow.call()
    assert slow.status == 200
    events = [line for line in slow.text.decode().splitlines() if line.startswith("data:")]
    [event] = events
    assert json.loads(event.removeprefix("data: "))["error"]["code"] == "timeout"


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_goes_ends_the_run(stream: bool) -> None:
    server = served(Reply(text=["word "] * 1000, delay_s=0.05))
    asked = client(server, stream=stream)
    async with anyio.create_task_group() as group:
        group.start_soon(asked.call)
        await anyio.sleep(0.2)
        asked.gone.set()
    [record] = server.service.log
    assert (record.state, server.service.running) == ("cancelled", 0)


@pytest.mark.anyio
async def test_what_nobody_thought_of_is_told_as_little_of_as_may_be(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = served("fine")

    @asynccontextmanager
    async def broken(incoming: object) -> AsyncIterator[Any]:
        raise LookupError("4111 1111 1111 1111")
        yield

    monkeypatch.setattr(server.service, "handled", broken)
    asked = client(server)
    with caplog.at_level(logging.ERROR, logger="sluiceway"):
        await asked.call()
    assert (asked.status, json.loads(asked.text)["error"]["message"]) == (500, "the server failed (LookupError)")
    assert "LookupError" in caplog.text


class Stuck(Client):
    """A client that takes so many pieces, and then nothing for a while."""

    def __init__(self, app: Any, body: bytes, *, takes: int = 0, stuck_s: float = 30) -> None:
        super().__init__(app, body)
        self.takes = takes
        self.stuck_s = stuck_s

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        if len(self.sent) == self.takes + 2:
            await anyio.sleep(self.stuck_s)


@pytest.mark.anyio
async def test_what_is_there_at_once_is_sent_at_once() -> None:
    asked = client(served(["word "] * 100))
    await asked.call()
    assert asked.text.count(b'"content":"word "') == 100
    assert len(asked.sent) < 6


@pytest.mark.anyio
async def test_each_piece_is_sent_when_it_comes() -> None:
    asked = client(served(Reply(text=["word "] * 5, delay_s=0.05)))
    await asked.call()
    assert sum(b'"content":"word "' in message.get("body", b"") for message in asked.sent) == 5


@pytest.mark.anyio
async def test_no_more_is_read_than_a_slow_client_takes() -> None:
    text = "word " * 200
    server = served([text] * 400, show_values=True)
    asked = Stuck(server.app(), json.dumps(STREAM).encode(), stuck_s=0.3)
    read: list[int] = []

    async def look() -> None:
        await anyio.sleep(0.15)
        [record] = server.service.log
        read.append(len(record.answered or ""))

    async with anyio.create_task_group() as group:
        group.start_soon(asked.call)
        group.start_soon(look)
    assert 0 < read[0] < 100_000
    assert asked.text.endswith(b"data: [DONE]\n\n")
    assert asked.text.count(text.encode()) == 400


@pytest.mark.anyio
async def test_a_client_that_takes_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its time is over: the last words do not wait for it without end."""
    monkeypatch.setattr(_responder, "PING_S", 0.1)
    monkeypatch.setattr(_responder, "STALL_S", 0.3)
    server = served(["word " * 2000] * 100, timeout_s=0.1)
    asked = Stuck(server.app(), json.dumps(STREAM).encode())
    with anyio.fail_after(5):
        await asked.call()
    assert asked.sent[-1]["more_body"] is True
    assert server.service.running == 0
    assert [record.state for record in server.service.log] == ["error"]


@pytest.mark.anyio
@pytest.mark.parametrize("begun", [False, True])
async def test_a_failure_of_our_own_is_told_also_in_the_middle(monkeypatch: pytest.MonkeyPatch, begun: bool) -> None:
    def fail(*_: object) -> bytes:
        raise LookupError("4111 1111 1111 1111")

    asked = client(served(Reply(text=["one ", "two"], delay_s=0.02)))
    monkeypatch.setattr(f"sluiceway.serve._chat._ChatWriter.{'end' if begun else 'text'}", fail)
    await asked.call()
    assert asked.status == (200 if begun else 500)
    assert asked.text.count(b"the server failed (LookupError)") == 1
    assert b"4111" not in asked.text
    assert b"[DONE]" not in asked.text


@pytest.mark.anyio
async def test_only_so_many_follow_the_runs() -> None:
    server = served("fine")
    clients = [Client(server.app(), b"", "/events") for _ in range(101)]
    async with anyio.create_task_group() as group:
        for one in clients:
            one.scope["method"] = "GET"
            one.body = b" "
            group.start_soon(one.call)
        with anyio.fail_after(5):
            while any(not one.sent for one in clients):  # noqa: ASYNC110 - a hundred of them
                await anyio.sleep(0.01)
        for one in clients:
            one.gone.set()
    assert sorted(one.status for one in clients) == [*[200] * 100, 503]
    assert server.service.log.watching == 0


@pytest.mark.anyio
async def test_a_client_that_goes_while_it_sends() -> None:
    asked = Client(served("fine").app(), b"")
    asked.gone.set()
    await asked.call()
    assert asked.sent == []


@pytest.mark.anyio
async def test_halves_of_characters_and_nul_do_not_break_an_answer() -> None:
    for stream in (True, False):
        asked = client(served("\ud83d \x00 </script>"), stream=stream)
        await asked.call()
        assert asked.status == 200
        assert b"\\ud83d \\u0000 </script>" in asked.text


@pytest.mark.parametrize(("name", "make"), [("starlette", "app"), ("uvicorn", "run")])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, name: str, make: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    for module in [module for module in sys.modules if module.startswith(f"{name}.")]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigurationError, match=r"pip install 'sluiceway\[serve\]'"):
        getattr(served("fine"), make)()
