"""The server: HTTP/1.1 by hand on a thread of its own, so that any client can talk to it."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import anyio
import anyio.abc
import anyio.from_thread

from tests.integration.modelserver._answers import Answer, Close, Hang, Pause, Reset

Respond = Callable[["Received"], Answer]


@dataclass
class Received:
    """One request, and what became of it.

    Attributes:
        connection: Which connection it came by, from 1 up.
        more: What came before the answer was whole.
        left: Set when the client closed the connection before the answer was whole.
        answered: Set when the answer was sent.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    more: bytes = b""
    left: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


class ModelServer:
    """A provider on a free port of 127.0.0.1 while it is entered.

    Attributes:
        requests: What was received, in order.
    """

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.connections = 0
        self.port = 0
        self._respond: Respond = lambda _: Answer([], 404, framing="length")
        self._ready = threading.Event()
        self._stop: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=anyio.run, args=(self._serve,), daemon=True)

    @property
    def url(self) -> str:
        """The address, `/v1` included."""
        return f"http://127.0.0.1:{self.port}/v1"

    def play(self, *answers: Answer) -> None:
        """Give these answers, one per request; the last repeats. Forgets earlier requests."""
        self.requests.clear()
        waiting = list(answers)
        self.respond(lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0])

    def respond(self, respond: Respond) -> None:
        """Let a function choose the answers."""
        self._respond = respond

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._thread.join(10)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
        self.port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.from_thread.BlockingPortal() as portal, listener, anyio.create_task_group() as group:
            self._stop = lambda: portal.call(group.cancel_scope.cancel)
            self._ready.set()
            await listener.serve(self._connection, group)

    async def _connection(self, stream: anyio.abc.SocketStream) -> None:
        self.connections += 1
        number, buffer = self.connections, b""
        async with stream:
            while True:
                try:
                    request, buffer = await _read_request(stream, buffer, number)
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return
                self.requests.append(request)
                answer = self._respond(request)
                if not await _answer_while_watched(stream, request, answer):
                    return
                buffer += request.more


async def _read_request(stream: anyio.abc.SocketStream, buffer: bytes, connection: int) -> tuple[Received, bytes]:
    while b"\r\n\r\n" not in buffer:
        buffer += await stream.receive()
    head, _, rest = buffer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", "0"))
    while len(rest) < length:
        rest += await stream.receive()
    return Received(method, path, headers, rest[:length], connection), rest[length:]


async def _answer_while_watched(stream: anyio.abc.SocketStream, request: Received, answer: Answer) -> bool:
    """Send the answer; return whether the connection can take another request."""
    whole = False
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            try:
                while True:
                    request.more += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                request.left.set()
                group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            whole = await _send(stream, answer)
        except anyio.BrokenResourceError:
            request.left.set()
        else:
            request.answered.set()
        group.cancel_scope.cancel()
    return whole


async def _send(stream: anyio.abc.SocketStream, answer: Answer) -> bool:
    if answer.framing != "raw":
        await stream.send(_head(answer))
    for step in answer.steps:
        if isinstance(step, bytes):
            framed = answer.framing == "chunked"
            if step:
                await stream.send(b"%x\r\n%b\r\n" % (len(step), step) if framed else step)
        elif isinstance(step, Pause):
            await anyio.sleep(step.seconds)
        elif isinstance(step, Hang):
            await anyio.sleep_forever()
        elif isinstance(step, Close):
            return False
        elif isinstance(step, Reset):
            raw: socket.socket = stream.extra(anyio.abc.SocketAttribute.raw_socket)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
    if answer.framing == "chunked":
        await stream.send(b"0\r\n\r\n")
    return answer.framing in ("chunked", "length")


def _head(answer: Answer) -> bytes:
    headers = dict(answer.headers)
    if answer.framing == "chunked":
        headers["transfer-encoding"] = "chunked"
    elif answer.framing == "length":
        headers["content-length"] = str(sum(len(step) for step in answer.steps if isinstance(step, bytes)))
    else:
        headers["connection"] = "close"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {answer.status} Status\r\n{lines}\r\n".encode("latin-1")
