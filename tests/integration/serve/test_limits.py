"""What a server does not do: let in, read, or go on without end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest

from sluiceway import Agent
from sluiceway.errors import ConfigurationError
from sluiceway.messages import Chunk
from sluiceway.models import Reply, ScriptedModel
from sluiceway.serve import ServeOptions, Server, _responder
from tests.support.serving import Serving

ROOT = Path(__file__).parents[3]
SLOW = Reply(text=["word "] * 200, delay_s=0.02)
HELLO: Any = [{"role": "user", "content": "hi"}]


def slow(*replies: Any) -> Agent:
    return Agent(id="slow", model=ScriptedModel(list(replies) or [SLOW]))


def request(
    serving: Serving, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, Any, dict[str, str]]:
    """Return status, JSON or text, and headers; `_` in names of headers stands for `-`."""
    connection = http.client.HTTPConnection(serving.address.removeprefix("http://"), timeout=20)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    told = {name.lower(): value for name, value in answer.getheaders()}
    return answer.status, json.loads(text) if text and "json" in told["content-type"] else text.decode(), told


def body(**more: Any) -> bytes:
    return json.dumps({"model": "echo", "messages": HELLO, **more}).encode()


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    options = ServeOptions(port=0, max_body_bytes=1000, max_requests=2, timeout_s=1.0, shutdown_s=1)
    with Serving([Agent(id="echo", model="echo/echo"), slow()], options) as running:
        yield running


def test_health(serving: Serving) -> None:
    assert request(serving, "GET", "/health")[:2] == (200, {"status": "ok", "running": 0})


@pytest.mark.parametrize(
    ("method", "path", "sent", "headers", "status", "code"),
    [
        ("POST", "/v1/chat/completions", body(x="y" * 1000), {}, 413, "body_too_large"),
        ("POST", "/v1/chat/completions", b"{", {}, 400, "invalid_body"),
        ("POST", "/v1/chat/completions", b"[]", {}, 400, "invalid_body"),
        (
            "POST",
            "/v1/chat/completions",
            b'{"messages": [{"role": "user", "content": "\xff"}]}',
            {},
            400,
            "invalid_body",
        ),
        ("POST", "/v1/chat/completions", body(), {"content_type": "text/plain"}, 415, "unsupported_media_type"),
        ("GET", "/v1/chat/completions", b"", {}, 405, "method_not_allowed"),
        ("POST", "/v1/nothing", body(), {}, 404, "not_found"),
        ("GET", "/v1/models", b"", {"host": "evil.example"}, 403, "wrong_host"),
        ("POST", "/v1/chat/completions", body(), {"origin": "http://evil.example"}, 403, "cross_site"),
        ("POST", "/v1/chat/completions", body(), {"sec_fetch_site": "cross-site"}, 403, "cross_site"),
        ("POST", "/workflows/1/try", b"text=x", {"origin": "null"}, 403, "cross_site"),
    ],
)
def test_what_is_refused(
    serving: Serving, method: str, path: str, sent: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    told = request(serving, method, path, sent, **{"content_type": "application/json", **headers})
    assert (told[0], told[1]["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/v1/chat/completions", "POST"),
        ("OPTIONS", "/v1/messages", "POST"),
        ("POST", "/v1/models", "GET, HEAD"),
        ("DELETE", "/v1/models/echo", "GET, HEAD"),
        ("PUT", "/health", "GET, HEAD"),
        ("PATCH", "/", "GET, HEAD"),
        ("DELETE", "/workflows/1/try", "GET, HEAD"),
    ],
)
def test_methods_that_there_are_not(serving: Serving, method: str, path: str, allow: str) -> None:
    status, _, headers = request(serving, method, path)
    assert (status, headers["allow"]) == (405, allow)


@pytest.mark.parametrize(
    "path", ["/chat/completions", "/v1/v1/messages", "/v1/responses", "/messages", "/v1", "/models"]
)
def test_a_wrong_base_url_is_told_in_the_apis_own_way(serving: Serving, path: str) -> None:
    status, told, _ = request(serving, "POST", path, body(), content_type="application/json")
    assert (status, told["error"]["code"]) == (404, "not_found")
    assert "the paths of the API are /v1/chat/completions and /v1/messages" in told["error"]["message"]


@pytest.mark.parametrize("path", ["/health", "/v1/models", "/", "/events", "/assets/page.css"])
def test_heads_have_no_body_and_end(serving: Serving, path: str) -> None:
    assert request(serving, "HEAD", path)[0] == 200


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_client_of_an_old_kind(serving: Serving, version: str, stream: bool) -> None:
    """HTTP/1.0 knows no chunks: the answer ends with the connection. A body may come in chunks in 1.1."""
    host, port = serving.address.removeprefix("http://").split(":")
    sent = body(stream=stream)
    framing = f"Content-Length: {len(sent)}"
    if version == "1.1":
        framing = "Connection: close\r\nTransfer-Encoding: chunked"
        sent = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (sent[:7], sent[7:])) + b"0\r\n\r\n"
    head = f"POST /v1/chat/completions HTTP/{version}\r\nHost: localhost\r\nContent-Type: application/json\r\n{framing}"
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(head.encode() + b"\r\n\r\n" + sent)
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert (b"transfer-encoding: chunked" in answer.lower()) == (stream and version == "1.1")
    assert b'"content":"hi"' in answer
    assert (b"data: [DONE]" in answer) == stream


def test_a_large_body_without_a_length_is_not_read_to_its_end(serving: Serving) -> None:
    host, port = serving.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        raw.sendall(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")
        assert raw.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_an_answer_takes_only_so_long(serving: Serving) -> None:
    with openai.OpenAI(api_key="x", base_url=f"{serving.address}/v1", max_retries=0) as client:
        with pytest.raises(openai.APIStatusError, match="not complete after 1 s") as caught:
            client.chat.completions.create(model="slow", messages=HELLO)
        assert caught.value.status_code == 504
        stream = client.chat.completions.create(model="slow", messages=HELLO, stream=True)
        read: list[Any] = []
        with pytest.raises(openai.APIError, match="not complete after 1 s"):
            read.extend(stream)
        assert len(read) > 5
    assert [record.state for record in serving.server.service.log][:2] == ["error", "error"]


def test_only_so_many_are_answered_at_once(serving: Serving) -> None:
    with openai.OpenAI(api_key="x", base_url=f"{serving.address}/v1", max_retries=0) as client:
        streams = [client.chat.completions.create(model="slow", messages=HELLO, stream=True) for _ in range(2)]
        for stream in streams:
            next(iter(stream))
        with pytest.raises(openai.InternalServerError) as caught:
            client.chat.completions.create(model="echo", messages=HELLO)
        assert (caught.value.status_code, caught.value.code) == (503, "overloaded")
        assert caught.value.response.headers["retry-after"] == "1"
        for stream in streams:
            stream.close()
        patient = client.with_options(max_retries=3)
        assert patient.chat.completions.create(model="echo", messages=HELLO).choices[0].message.content == "hi"


class Counting(ScriptedModel):
    """Says much, and counts how much of it was asked for."""

    asked = 0

    async def _chunks(self, reply: Reply, number: int, run_id: str) -> AsyncGenerator[Chunk]:
        async for chunk in super()._chunks(reply, number, run_id):
            self.asked += 1
            yield chunk


def test_a_client_that_does_not_read_holds_neither_memory_nor_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_responder, "PING_S", 0.1)
    monkeypatch.setattr(_responder, "STALL_S", 0.5)
    model = Counting([Reply(text=["x" * 10_000] * 5000)])
    with Serving([Agent(id="much", model=model)], ServeOptions(port=0, shutdown_s=1)) as serving:
        host, port = serving.address.removeprefix("http://").split(":")
        sent = body(model="much", stream=True)
        with socket.create_connection((host, int(port)), timeout=10) as raw:
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(sent)}\r\n"
            raw.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + sent)
            until = time.monotonic() + 10
            while not serving.server.service.log.get(_newest(serving)) or serving.server.service.running:
                assert time.monotonic() < until, "its place is still taken"
                time.sleep(0.02)
        assert model.asked < 2000, "no more than the buffers of the system hold, of 50 MB"
        assert [record.state for record in serving.server.service.log] == ["cancelled"]


def _newest(serving: Serving) -> str:
    return next((record.id for record in serving.server.service.log), "")


def test_keys() -> None:
    options = ServeOptions(port=0, keys=("sk-one", "sk-two"), shutdown_s=1)
    with Serving([Agent(id="echo", model="echo/echo")], options) as serving:
        for key, kind in (
            ("sk-two", None),
            ("sk-", openai.AuthenticationError),
            ("sk-onesk-two", openai.AuthenticationError),
        ):
            with openai.OpenAI(api_key=key, base_url=f"{serving.address}/v1", max_retries=0) as client:
                if kind is None:
                    assert (
                        client.chat.completions.create(model="echo", messages=HELLO).choices[0].message.content == "hi"
                    )
                    assert [model.id for model in client.models.list()] == ["echo"]
                    continue
                with pytest.raises(kind):
                    client.chat.completions.create(model="echo", messages=HELLO)
                with pytest.raises(kind):
                    client.models.list()
        assert request(serving, "GET", "/health")[0] == 200
        status, _, headers = request(serving, "GET", "/v1/models")
        assert (status, headers["www-authenticate"]) == (401, "Bearer")
        status, _, headers = request(serving, "GET", "/")
        assert (status, headers["www-authenticate"].split()[0]) == (401, "Basic")
        assert request(serving, "GET", "/", authorization="Basic eDpzay1vbmU=")[0] == 200
        assert "sk-" not in repr(options)


def test_the_page_is_for_loopback_unless_told_otherwise() -> None:
    with Serving([Agent(id="echo", model="echo/echo")], ServeOptions(host="0.0.0.0", port=0, shutdown_s=1)) as serving:
        serving.address = serving.address.replace("0.0.0.0", "127.0.0.1")
        assert [request(serving, "GET", path)[0] for path in ("/", "/events", "/health")] == [404, 404, 200]
        assert request(serving, "GET", "/health", host="any.example")[0] == 200


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = Server([Agent(id="echo", model="echo/echo")], ServeOptions(port=taken.getsockname()[1]))
        with pytest.raises(ConfigurationError, match="is the port taken"):
            server.run()


def test_at_the_end_what_has_begun_is_finished_and_endless_streams_end() -> None:
    """A page that follows the runs does not hold up the end; an answer that has begun is told whole."""
    with Serving([slow(Reply(text=["word "] * 20, delay_s=0.03))], ServeOptions(port=0, shutdown_s=20)) as serving:
        events = urllib.request.urlopen(f"{serving.address}/events")
        assert events.readline() == b"retry: 2000\n"
        with openai.OpenAI(api_key="x", base_url=f"{serving.address}/v1", max_retries=0) as client:
            stream = client.chat.completions.create(model="slow", messages=HELLO, stream=True)
            chunks = [next(iter(stream))]
            started = time.monotonic()
            serving.server.stop()
            chunks += list(stream)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        assert text == "word " * 20
        events.read()
        events.close()
    assert time.monotonic() - started < 10


def test_what_takes_too_long_at_the_end_is_cut_and_told_so(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        Serving([slow(Reply(text=["word "] * 2000, delay_s=0.05))], ServeOptions(port=0, shutdown_s=1)) as serving,
        openai.OpenAI(api_key="x", base_url=f"{serving.address}/v1", max_retries=0) as client,
    ):
        stream = client.chat.completions.create(model="slow", messages=HELLO, stream=True)
        next(iter(stream))
        with ThreadPoolExecutor(1) as pool:
            whole = pool.submit(client.chat.completions.create, model="slow", messages=HELLO)
            while serving.server.service.running < 2:
                time.sleep(0.01)
            serving.server.stop()
            with pytest.raises(openai.APIError, match="the server is ending"):
                list(stream)
            with pytest.raises(openai.InternalServerError, match="the server is ending") as caught:
                whole.result(10)
        assert (caught.value.status_code, caught.value.code) == (503, "server_ending")
        assert caught.value.response.headers["x-should-retry"] == "true"
    assert [record.state for record in serving.server.service.log] == ["error", "error"]
    assert "Traceback" not in capfd.readouterr().err


def test_the_command_serves_a_file_until_a_signal() -> None:
    command = [
        sys.executable,
        "-c",
        "from sluiceway.cli import main; main()",
        "serve",
        "examples/guarded_agent.py",
        "--port",
        "0",
    ]
    environment = {**os.environ, "SLUICEWAY_API_KEY": "sk-1 sk-2"}
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        late = threading.Timer(30, process.kill)
        late.start()
        line = process.stderr.readline()
        assert line.startswith("guarded at http://127.0.0.1:")
        address = line.split()[2].rstrip(",")
        with openai.OpenAI(api_key="sk-2", base_url=address, max_retries=0) as client:
            answer = client.chat.completions.create(
                model="guarded", messages=[{"role": "user", "content": "4111 1111 1111 1111"}]
            )
        assert answer.choices[0].message.content == "**** **** **** 1111"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == -signal.SIGTERM
        late.cancel()
        assert process.stderr.read() == ""
