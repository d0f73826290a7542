"""No key in any text: errors, their tracebacks with all variables, logs and requests shown."""

from __future__ import annotations

import logging
import traceback
from typing import Any

import pytest

from sluiceway.errors import ModelError
from sluiceway.models import ModelRequest
from tests.integration.models._calls import BOTH, KEY, Make, answer, asking, failure, quick
from tests.integration.modelserver import Answer, Close, Hang, ModelServer, Reset, refusal, sse, transcript

pytestmark = pytest.mark.anyio

OTHER = "tok-91c07de5aa"
ECHOES = [
    refusal(401, {"error": {"message": f"Incorrect API key provided: {KEY}, {OTHER}."}}),
    refusal(500, f"<pre>authorization: Bearer {KEY} x-token: {OTHER}</pre>"),
    Answer([sse({"type": "error", "error": {"message": f"bad key {KEY} {OTHER}"}})]),
    Answer([sse(f"no json {KEY} {OTHER}")]),
    Answer([KEY.encode(), OTHER.encode()], headers={"content-type": "text/html"}),
    Answer([f"HTTP/9 {KEY} {OTHER}\r\n\r\n".encode(), Close()], framing="raw"),
]
"""Servers that send back what they were sent."""

CUT = [
    refusal(401, {"error": {"message": "x" * 490 + KEY}}),
    refusal(401, "x" * 490 + KEY),
    Answer([sse({"error": {"message": "x" * 490 + KEY}})]),
    Answer([b"<title>", b"x" * 190 + KEY.encode()], headers={"content-type": "text/html"}),
    Answer([sse('{"' + "x" * 145 + KEY + '": 1')]),
    Answer([sse({"x" * 145 + KEY: 1})]),
]
"""Servers that send it back where the text of an error ends."""

SILENT = [
    Answer([Hang()]),
    Answer([Hang()], framing="raw"),
    Answer([Close()], framing="raw"),
    Answer([Reset()], framing="raw"),
    Answer([b"data: {", Reset()]),
    refusal(500, {"error": {"message": "busy"}}),
]


def told(error: ModelError, variables: bool = True) -> str:
    lines = traceback.TracebackException.from_exception(error, capture_locals=variables).format()
    return "".join(lines) + repr(error) + repr(vars(error))


@BOTH
@pytest.mark.parametrize("fault", ECHOES, ids=range(len(ECHOES)))
async def test_an_error_that_echoes_a_key_is_shown_without_it(
    server: ModelServer, make: Make, name: str, plain: str, fault: Answer
) -> None:
    server.play(fault)
    error, _ = await failure(make(server, headers={"X-Token": OTHER}))
    assert KEY not in told(error, variables=False)
    assert OTHER not in told(error, variables=False)


@BOTH
@pytest.mark.parametrize("fault", CUT, ids=range(len(CUT)))
async def test_no_part_of_a_key_is_shown_where_a_text_is_cut(
    server: ModelServer, make: Make, name: str, plain: str, fault: Answer
) -> None:
    server.play(fault)
    error, _ = await failure(make(server))
    assert KEY[:8] not in told(error, variables=False)


@BOTH
async def test_a_key_in_a_header_of_the_users_own_is_not_shown_without_its_scheme(
    server: ModelServer, make: Make, name: str, plain: str
) -> None:
    server.play(refusal(401, {"error": {"message": f"bad key {KEY}"}}))
    error, _ = await failure(make(server, api_key=None, headers={"Authorization": f"Bearer {KEY}"}))
    assert str(error) == f"{name}: HTTP 401: bad key [secret]"


@BOTH
@pytest.mark.parametrize("fault", SILENT, ids=range(len(SILENT)))
async def test_neither_tracebacks_with_variables_nor_logs_show_a_key(
    server: ModelServer,
    make: Make,
    name: str,
    plain: str,
    fault: Answer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server.play(fault)
    model = make(server, timeouts=quick(connect_s=0.5, read_s=0.2), headers={"X-Token": OTHER})
    error, _ = await failure(model)
    assert server.requests[0].headers["x-token"] == OTHER
    for text in (told(error), caplog.text):
        assert KEY not in text
        assert OTHER not in text


@BOTH
async def test_a_good_call_logs_no_key(
    server: ModelServer, make: Make, name: str, plain: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.play(Answer([transcript(plain)]))
    await answer(make(server, headers={"X-Token": OTHER}))
    assert "127.0.0.1" in caplog.text
    assert KEY not in caplog.text
    assert OTHER not in caplog.text


@BOTH
@pytest.mark.parametrize("bad", ["\x00", "\nx-evil: 1", "ключ"])
async def test_a_key_that_no_header_can_hold_is_an_error_without_it(
    server: ModelServer, make: Make, name: str, plain: str, bad: str
) -> None:
    error, _ = await failure(make(server, api_key=f"{KEY}{bad}{KEY}"))
    header = "authorization" if name == "openai" else "x-api-key"
    assert str(error) == f"{name}: the header {header} holds characters that a header cannot"
    assert KEY not in told(error)


def test_a_request_shows_no_settings() -> None:
    request: Any = ModelRequest(asking().prompt, settings={"headers": {"x-token": OTHER}})
    assert OTHER not in repr(request)
