"""`Refusal`: what a client is told when there is no answer, whatever API it speaks."""

from __future__ import annotations

from typing import Final

from sluiceway.errors import ConfigurationError, MessageError, ModelError, ProcessorError

__all__ = ["Refusal", "refusal_of"]

_PASSED_ON: Final = frozenset({400, 404, 408, 409, 413, 415, 422, 429})
"""What a provider says of a request that our client can mend, or should make again later."""


class Refusal(Exception):
    """A request that gets an error for an answer.

    Args:
        status: The HTTP status.
        message: What is wrong; never a key, and nothing that a guardrail took out.
        code: A word for programs, or None.
        param: What of the request is wrong, or None.
        retry: Whether the same request may succeed later; None: as the status says.
        retry_after_s: How long to wait before that, in seconds.
        allow: The methods that there are, or None.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry: bool | None = None,
        retry_after_s: float | None = None,
        allow: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.retry = retry
        self.retry_after_s = retry_after_s
        self.allow = allow

    @property
    def headers(self) -> dict[str, str]:
        """What the official clients look at before they try again, and what HTTP wants with a status."""
        headers: dict[str, str] = {}
        if self.allow is not None:
            headers["allow"] = self.allow
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        if self.retry is not None:
            headers["x-should-retry"] = "true" if self.retry else "false"
        if self.retry_after_s is not None:
            headers["retry-after"] = f"{self.retry_after_s:g}"
        return headers


def refusal_of(error: object, *, own_key: bool = False) -> Refusal:
    """Return what a client is told of an error.

    What a failing processor said may hold what it looked at, so only its name is told.

    Args:
        error: What ended the run.
        own_key: Whether the client's own key was sent to the provider, so that it is the
            client who can do something about a refused one.
    """
    if isinstance(error, ProcessorError) and isinstance(error.__cause__, Refusal):
        return error.__cause__
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ModelError):
        return _of_model(error, own_key=own_key)
    if isinstance(error, ProcessorError):
        text = f"the processor {error.processor_id!r} failed in {error.hook}; nothing it had not cleared was sent"
        return Refusal(500, text, code="processor_error", retry=False)
    if isinstance(error, MessageError):
        return Refusal(400, str(error), code="invalid_messages", param="messages")
    if isinstance(error, ConfigurationError):
        return Refusal(400, str(error), code="invalid_request")
    return Refusal(500, f"the run failed ({type(error).__name__})", code="run_failed", retry=False)


def _of_model(error: ModelError, *, own_key: bool) -> Refusal:
    status = error.status
    passed_on = status is not None and (status in _PASSED_ON or (own_key and status >= 400))
    return Refusal(
        status if status is not None and passed_on else 502,
        str(error),
        code="model_error",
        retry=error.retryable,
        retry_after_s=error.retry_after_s,
    )
