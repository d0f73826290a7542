"""What a client is told of an error."""

from __future__ import annotations

import pytest

from sluiceway.errors import ConfigurationError, MessageError, ModelError, ProcessorError, StorageError
from sluiceway.serve._chat import Chat
from sluiceway.serve._messages import Messages
from sluiceway.serve._refusal import Refusal, refusal_of


def failed(cause: BaseException) -> ProcessorError:
    error = ProcessorError(f"guard failed: {cause}", processor_id="guard", hook="process_input")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "own_key", "expected"),
    [
        (MessageError("input[0]: no"), False, (400, "input[0]: no", "invalid_messages", None)),
        (ConfigurationError("odd"), False, (400, "odd", "invalid_request", None)),
        (ModelError("busy", status=429, retryable=True), False, (429, "busy", "model_error", True)),
        (ModelError("bad", status=422), False, (422, "bad", "model_error", False)),
        (ModelError("key", status=401), False, (502, "key", "model_error", False)),
        (ModelError("key", status=401), True, (401, "key", "model_error", False)),
        (ModelError("down", status=500, retryable=True), False, (502, "down", "model_error", True)),
        (ModelError("down", status=500, retryable=True), True, (500, "down", "model_error", True)),
        (ModelError("cut", retryable=True), True, (502, "cut", "model_error", True)),
        (
            failed(ValueError("4111 1111 1111 1111")),
            False,
            (
                500,
                "the processor 'guard' failed in process_input; nothing it had not cleared was sent",
                "processor_error",
                False,
            ),
        ),
        (failed(Refusal(400, "no", code="x", retry=True)), False, (400, "no", "x", True)),
        (
            StorageError("notes.db is locked"),
            False,
            (500, "the run failed (StorageError)", "run_failed", False),
        ),
        (ValueError("secret"), False, (500, "the run failed (ValueError)", "run_failed", False)),
        (None, False, (500, "the run failed (NoneType)", "run_failed", False)),
    ],
)
def test_what_is_told(error: object, own_key: bool, expected: tuple[object, ...]) -> None:
    told = refusal_of(error, own_key=own_key)
    assert (told.status, told.message, told.code, told.retry) == expected


def test_what_the_official_clients_look_at_before_they_try_again() -> None:
    assert Refusal(503, "later", retry=True, retry_after_s=1.5).headers == {
        "x-should-retry": "true",
        "retry-after": "1.5",
    }
    assert Refusal(500, "never", retry=False).headers == {"x-should-retry": "false"}
    assert Refusal(400, "no").headers == {}


def test_what_http_wants_with_a_status() -> None:
    assert Refusal(405, "no", allow="GET, HEAD").headers == {"allow": "GET, HEAD"}
    assert Refusal(401, "no").headers == {"www-authenticate": "Bearer"}


def test_the_two_shapes() -> None:
    refusal = Refusal(401, "a key is needed", code="invalid_api_key", param="key")
    assert Chat().fault(refusal) == {
        "error": {
            "message": "a key is needed",
            "type": "authentication_error",
            "param": "key",
            "code": "invalid_api_key",
        }
    }
    assert Messages().fault(refusal) == {
        "type": "error",
        "error": {"type": "authentication_error", "message": "a key is needed"},
    }
    statuses = (400, 404, 413, 429, 500, 502, 503, 504)
    assert [Chat().fault(Refusal(status, ""))["error"]["type"] for status in statuses] == [
        "invalid_request_error", "not_found_error", "invalid_request_error", "rate_limit_error",
        "server_error", "server_error", "server_error", "server_error",
    ]  # fmt: skip
    assert [Messages().fault(Refusal(status, ""))["error"]["type"] for status in statuses] == [
        "invalid_request_error", "not_found_error", "request_too_large", "rate_limit_error",
        "api_error", "api_error", "overloaded_error", "timeout_error",
    ]  # fmt: skip
