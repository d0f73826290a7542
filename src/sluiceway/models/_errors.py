"""What can be said about a failed call of a model, without what must not be said."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast
from urllib.parse import quote

from pydantic_core import from_json

from sluiceway.errors import ModelError

__all__ = ["Refusals", "is_retryable_status", "outline", "retry_after_s"]

_RETRYABLE = frozenset({408, 409, 425, 429})
_EXCERPT_CHARS = 500
_STRING_OR_WORD = re.compile(r'"(?:[^"\\]|\\.)*(?:"(\s*:)?|\\?\Z)|[^\s{}\[\],:"]+', re.DOTALL)
_PLAIN = re.compile(r"true|false|null|-?[0-9.]+([eE][+-]?[0-9]+)?")
_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "cf-ray")


def is_retryable_status(status: int | None) -> bool:
    """Say whether a call refused with this HTTP status may succeed later."""
    return status is not None and (status in _RETRYABLE or 500 <= status < 600)


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return how long a provider asks to wait, in seconds (RFC 9110, section 10.2.3)."""
    for name, per_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d{1,6})?", value):
            return float(value) / per_second
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (aware - (now or datetime.now(UTC))).total_seconds())


def outline(data: bytes, limit_chars: int = 160, clean: Callable[[str], str] = str) -> str:
    """Return the shape of what a stream held, names and brackets, without its texts.

    What a model said is not for an error: no guardrail has seen it yet.

    Args:
        data: What came.
        limit_chars: The longest shape.
        clean: Takes secrets out, before anything is cut.
    """
    text = data[: limit_chars * 4].decode("utf-8", "replace").strip()
    if not text.startswith(("{", "[")):
        return "no JSON"
    shape = clean(re.sub(r"\s+", " ", _STRING_OR_WORD.sub(_without_text, text)))
    return shape if len(shape) <= limit_chars else f"{shape[:limit_chars]}…"


def _without_text(found: re.Match[str]) -> str:
    """Return a name, a number or a constant as it is, and dots for everything else."""
    if found.group().startswith('"'):
        return found.group() if found.group(1) else '"…"'
    return found.group() if _PLAIN.fullmatch(found.group()) else "…"


@dataclass(frozen=True, slots=True)
class Refusals:
    """Makes `ModelError`s for one model, none of which holds a key.

    Args:
        provider: Who runs the model.
        model_id: Which it is.
        secrets: Texts that are taken out of whatever is said.
    """

    provider: str
    model_id: str
    secrets: Iterable[str] = field(default=(), repr=False)

    def error(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool | None = None,
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> ModelError:
        """Return an error that begins with the provider's name.

        Args:
            message: What is wrong.
            status: The HTTP status.
            retryable: None: as the status says.
            headers: Of the response, for the wait it asks for and the id of the request.
            body: What was received.
        """
        known: Mapping[str, str] = {} if headers is None else headers
        request_id = next((known[name] for name in _REQUEST_IDS if name in known), None)
        return ModelError(
            self.clean(f"{self.provider}: {message}"),
            provider=self.provider,
            model_id=self.model_id,
            status=status,
            retryable=is_retryable_status(status) if retryable is None else retryable,
            retry_after_s=retry_after_s(known),
            body=None if body is None else self.clean(body)[:_EXCERPT_CHARS],
            request_id=None if request_id is None else self.clean(request_id),
        )

    def refused(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        """Return the error for a response with a status that is not 200."""
        text = body.decode("utf-8", "replace")
        said = self.clean(said_by(parsed(body)) or " ".join(text.split()))[:_EXCERPT_CHARS] or "nothing"
        return self.error(f"HTTP {status}: {said}", status=status, headers=headers, body=text)

    def reported(self, error: object, headers: Mapping[str, str]) -> ModelError:
        """Return the error for one that came as an event of a stream."""
        status = _status_of(error)
        message = said_by({"error": error}) or "an error without a text"
        return self.error(self.clean(message)[:_EXCERPT_CHARS], status=status, headers=headers)

    def outline(self, data: bytes) -> str:
        """Return the shape of what a stream held; see `outline`."""
        return outline(data, clean=self.clean)

    def clean(self, text: str) -> str:
        """Return the text without the secrets, as they are or escaped.

        Comes before every cut: of a secret that is cut, the rest would stay.
        """
        forms = {form for secret in self.secrets if secret for form in _forms(secret)}
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, "[secret]")
        return text


def _forms(secret: str) -> tuple[str, ...]:
    quoted = json.dumps(secret)[1:-1]
    return secret, quoted, quoted.replace("/", "\\/"), quote(secret, safe="")


_STATUS_BY_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 402,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP statuses that stand for an error's type where an event carries it."""


def _status_of(error: object) -> int | None:
    if not isinstance(error, Mapping):
        return None
    fields = cast("Mapping[str, Any]", error)
    code = fields.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return code
    kinds = [kind for kind in (fields.get("type"), fields.get("code")) if isinstance(kind, str)]
    return next((_STATUS_BY_TYPE[kind] for kind in kinds if kind in _STATUS_BY_TYPE), None)


def parsed(body: bytes) -> object:
    """Return the JSON of a body, or None where it is none."""
    try:
        return from_json(body)
    except ValueError:
        return None


def said_by(body: object) -> str | None:
    """Return the text of an error, however long, in the shapes that providers use."""
    if isinstance(body, list) and body:
        return said_by(cast("list[object]", body)[0])
    if not isinstance(body, Mapping):
        return None
    fields = cast("Mapping[str, object]", body)
    for name in ("error", "message", "detail", "msg"):
        value = fields.get(name)
        if isinstance(value, str) and value:
            return value
        if (inner := said_by(value)) is not None:
            return inner
    return None
