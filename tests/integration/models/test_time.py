"""Nothing waits longer than its limits, whatever a server does."""

from __future__ import annotations

import socket

import anyio
import pytest

from sluiceway.models import OpenAIChat
from tests.integration.models._calls import (
    BOTH,
    KEY,
    Make,
    asking,
    failure,
    half,
    openai,
    quick,
)
from tests.integration.modelserver import (
    Answer,
    Close,
    Hang,
    ModelServer,
    Pause,
    Reset,
    Step,
    transcript,
)

pytestmark = pytest.mark.anyio


@BOTH
@pytest.mark.parametrize("headers_first", [True, False])
async def test_a_silent_server(server: ModelServer, make: Make, name: str, plain: str, headers_first: bool) -> None:
    silent = Answer([Hang()]) if headers_first else Answer([Hang()], framing="raw")
    server.play(silent)
    limits = quick(connect_s=0.8, read_s=0.2)
    with anyio.fail_after(5):
        error, _ = await failure(make(server, timeouts=limits))
    said = "nothing came for 0.2 s, 0 bytes received before" if headers_first else "no answer within 1 s"
    assert (str(error), error.retryable) == (f"{name}: {said}", True)
    assert server.requests[0].left.wait(2)


@BOTH
async def test_a_server_that_falls_silent_in_the_middle(server: ModelServer, make: Make, name: str, plain: str) -> None:
    data = half(transcript(plain))
    server.play(Answer([data, Hang()]))
    error, got = await failure(make(server, timeouts=quick(read_s=0.2)))
    assert got
    assert str(error) == f"{name}: nothing came for 0.2 s, {len(data)} bytes received before"
    assert server.requests[0].left.wait(2)


@BOTH
@pytest.mark.parametrize("drop", [b": ping\n\n", b"x"])
async def test_a_server_that_trickles_on_and_on(
    server: ModelServer, make: Make, name: str, plain: str, drop: bytes
) -> None:
    """Keep-alive comments, or a line that grows byte by byte, hold nobody longer than the total."""
    server.play(Answer([drop, Pause(0.05)] * 100))
    with anyio.fail_after(4):
        error, _ = await failure(make(server, timeouts=quick(total_s=0.4)))
    assert f"{name}: the answer was not complete after 0.4 s, " in str(error)
    assert server.requests[0].left.wait(2)


async def test_the_settings_of_a_call_go_before_the_timeouts_of_the_model(server: ModelServer) -> None:
    server.play(Answer([Hang()]))
    error, _ = await failure(openai(server), asking(settings={"read_timeout_s": 0.1}))
    assert str(error) == "openai: nothing came for 0.1 s, 0 bytes received before"
    error, _ = await failure(openai(server), asking(settings={"total_timeout_s": 0.1}))
    assert str(error) == "openai: the answer was not complete after 0.1 s, 0 bytes received before"


async def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        error, _ = await failure(OpenAIChat("m-1", base_url=url))
    assert str(error).startswith("openai: no connection (ConnectError")
    assert error.retryable


@BOTH
@pytest.mark.parametrize("steps", [[Close()], [Reset()], [b"SSH-2.0-OpenSSH_9.6\r\n", Close()]])
async def test_an_answer_that_is_no_http(
    server: ModelServer, make: Make, name: str, plain: str, steps: list[Step]
) -> None:
    server.play(Answer(steps, framing="raw"))
    error, _ = await failure(make(server))
    assert str(error).startswith(f"{name}: the ")
    assert error.retryable
    assert KEY not in str(error)
