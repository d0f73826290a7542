"""Refusals are ModelErrors with the provider's words; what may pass later is tried again."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from sluiceway.errors import ModelError
from sluiceway.models import ModelCall, OpenAIChat
from tests.integration.models._calls import (
    BOTH,
    KEY,
    WHOLE,
    Make,
    anthropic,
    asking,
    drained,
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
    chat,
    refusal,
    transcript,
)

pytestmark = pytest.mark.anyio

ERRORS = json.loads(transcript("errors.json"))


@pytest.mark.parametrize("case", ERRORS["chat"], ids=lambda case: f"chat-{case['status']}")
async def test_refusals_of_chat_completions(server: ModelServer, case: dict[str, Any]) -> None:
    await _refused(server, openai, "openai", case)


@pytest.mark.parametrize("case", ERRORS["messages"], ids=lambda case: f"messages-{case['status']}")
async def test_refusals_of_messages(server: ModelServer, case: dict[str, Any]) -> None:
    await _refused(server, anthropic, "anthropic", case)


async def _refused(server: ModelServer, make: Make, name: str, case: dict[str, Any]) -> None:
    body = json.dumps(case["body"]).replace("KEY", KEY)
    server.play(refusal(case["status"], json.loads(body), request_id="req_9", retry_after="7"))
    error, _ = await failure(make(server))
    inner = case["body"].get("error", case["body"])
    said = inner.get("message") or inner["detail"][0]["msg"]
    assert str(error) == f"{name}: HTTP {case['status']}: {said.replace('KEY', '[secret]')}"
    assert (error.status, error.request_id, error.retry_after_s) == (case["status"], "req_9", 7.0)
    assert error.retryable == (case["status"] in (429, 500, 503, 529))
    assert error.body == body.replace(KEY, "[secret]")[:500]


@BOTH
async def test_a_refusal_that_is_no_json(server: ModelServer, make: Make, name: str, plain: str) -> None:
    server.play(refusal(502, "<html>Bad\n  gateway " + "x" * 100_000))
    error, _ = await failure(make(server))
    assert str(error) == f"{name}: HTTP 502: <html>Bad gateway {'x' * 482}"
    server.play(refusal(500, ""))
    assert str((await failure(make(server)))[0]) == f"{name}: HTTP 500: nothing"


@BOTH
@pytest.mark.parametrize("status", [401, 429])
@pytest.mark.parametrize("end", [Close(), Reset(), Hang()])
async def test_a_refusal_whose_words_are_cut_is_still_that_refusal(
    server: ModelServer, make: Make, name: str, plain: str, status: int, end: Step
) -> None:
    server.play(Answer([b"not n", Pause(0.05), end], status, {"retry-after": "3"}))
    error, _ = await failure(make(server, timeouts=quick()))
    assert str(error) == f"{name}: HTTP {status}: not n"
    assert (error.status, error.retryable, error.retry_after_s) == (status, status == 429, 3.0)


@BOTH
async def test_a_refusal_that_cannot_be_unpacked_is_still_that_refusal(
    server: ModelServer, make: Make, name: str, plain: str
) -> None:
    server.play(Answer([b"no gzip"], 503, {"content-encoding": "gzip"}))
    error, _ = await failure(make(server))
    assert (str(error), error.status, error.retryable) == (f"{name}: HTTP 503: nothing", 503, True)


@BOTH
async def test_a_redirect_is_not_followed(server: ModelServer, make: Make, name: str, plain: str) -> None:
    """It would take the key somewhere else."""
    server.play(refusal(307, "elsewhere", location="http://127.0.0.1:9/v1"))
    error, _ = await failure(make(server))
    assert (str(error), error.status, len(server.requests)) == (f"{name}: HTTP 307: elsewhere", 307, 1)


@BOTH
async def test_what_may_pass_is_tried_again_after_the_wait_that_is_asked_for(
    server: ModelServer, make: Make, name: str, plain: str
) -> None:
    server.play(
        refusal(429, {"error": {"message": "slow down"}}, retry_after="0.1"),
        refusal(503, {"error": {"message": "busy"}}, retry_after_ms="50"),
        Answer([transcript(plain)]),
    )
    call = ModelCall([make(server)], asking())
    started = anyio.current_time()
    assert (await drained(call), len(server.requests), [error.status for error in call.failures]) == (
        WHOLE,
        3,
        [429, 503],
    )
    assert anyio.current_time() - started >= 0.149


@BOTH
async def test_after_the_first_chunk_nothing_is_tried_again(
    server: ModelServer, make: Make, name: str, plain: str
) -> None:
    server.play(Answer([half(transcript(plain)), Close()]))
    call = ModelCall([make(server)], asking())
    with pytest.raises(ModelError):
        await drained(call)
    assert len(server.requests) == 1


@BOTH
@pytest.mark.parametrize("fault", [Answer([Close()], framing="raw"), Answer([b": ping\n\n", Close()])])
async def test_a_fault_before_the_first_chunk_is_tried_again(
    server: ModelServer, make: Make, name: str, plain: str, fault: Answer
) -> None:
    server.play(fault, Answer([transcript(plain)]))
    assert await drained(ModelCall([make(server)], asking())) == WHOLE
    assert len(server.requests) == 2


async def test_a_fallback_takes_over_from_a_provider_without_a_key(server: ModelServer) -> None:
    server.play(chat("here"))
    call = ModelCall([OpenAIChat("m-1"), openai(server)], asking())
    assert await drained(call) == "here"
    assert [str(error) for error in call.failures] == [
        "openai: no key; set OPENAI_API_KEY in the environment, or pass api_key"
    ]
