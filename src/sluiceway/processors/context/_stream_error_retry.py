"""`StreamErrorRetryProcessor`: runs a step again when the provider failed in a way that may pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast

from sluiceway.engine import clock
from sluiceway.errors import ConfigurationError, ModelError
from sluiceway.models import Backoff
from sluiceway.processors._base import Processor
from sluiceway.processors._contexts import ApiErrorContext
from sluiceway.processors._effects import Effects
from sluiceway.processors._results import Retry
from sluiceway.processors.context._options import checked_count, checked_flag, checked_seconds, refusal

__all__ = ["Delay", "ErrorMatcher", "StreamErrorRetryProcessor"]

ErrorMatcher: TypeAlias = "str | re.Pattern[str] | Callable[[ModelError], bool]"
"""Finds errors that may pass: a part of their text in any case, a pattern, or a function."""

Delay: TypeAlias = "float | Callable[[int, ModelError], float]"
"""Seconds to wait, or a function of the retry's number (from 0) and the error that returns them."""

_NEVER: Final = frozenset({401, 403})
_PASSING: Final = frozenset({408, 409, 425, 429})
_SIGNS: Final = re.compile(
    r"rate.?limit|too many requests|overload|over capacity|at capacity|timed? ?out|timeout|temporar|try again"
    r"|unavailable|connection (?:reset|closed|aborted|lost|error)|econnreset|broken pipe|stream (?:broke|closed|ended)"
    r"|closed (?:its stream|the connection)|premature|incomplete (?:read|chunk)|internal server error",
    re.IGNORECASE,
)


class StreamErrorRetryProcessor(Processor):
    """Runs a step again after an error that may pass, also one in the middle of a stream.

    That is: the provider says so, a rate limit, overload, a timeout, a server's error or a
    broken stream. 401 and 403 never. The retries count against `max_processor_retries`.

    Args:
        max_retries: How often per step, from 0.
        matchers: What else is such an error.
        retry_unknown_errors: Whether errors without a status and without a known text are.
        delay: Seconds before a retry; None: half a second, twice as long each further time,
            at most 8, of which up to a half is left to chance. `Retry-After` goes before it.
        max_retry_after: The longest `Retry-After` in seconds that is waited for; where the
            provider asks for more there is no retry.
        id: The id.

    Raises:
        ConfigurationError: An option that is not allowed.
    """

    def __init__(
        self,
        *,
        max_retries: int = 1,
        matchers: Sequence[ErrorMatcher] = (),
        retry_unknown_errors: bool = False,
        delay: Delay | None = None,
        max_retry_after: float = 30,
        id: str = "stream-error-retry",  # noqa: A002 - the field's own name
    ) -> None:
        super().__init__(id)
        self.max_retries = checked_count(id, "max_retries", max_retries, 0)
        self.retry_unknown_errors = checked_flag(id, "retry_unknown_errors", retry_unknown_errors)
        self.max_retry_after = checked_seconds(id, "max_retry_after", max_retry_after)
        if delay is not None and not callable(delay):
            checked_seconds(id, "delay", delay)
        self.delay = delay
        self.matchers = tuple(_matcher(id, matcher) for matcher in _listed(id, matchers))
        self._backoff = Backoff(most_asked_s=self.max_retry_after)
        self.effects = Effects(reads=("state",), writes=("state",), aborts=False)

    async def process_api_error(self, ctx: ApiErrorContext) -> Retry | None:
        """Wait and ask for a retry, if the error may pass."""
        error = ctx.error
        counts: dict[int | None, int] = ctx.state.setdefault("retries", {})
        done = counts.get(ctx.step_number, 0)
        if done >= self.max_retries or not self._may_pass(error):
            return None
        wait_s = self._wait_s(done, error)
        if wait_s is None:
            return None
        counts[ctx.step_number] = done + 1
        if wait_s:
            await clock().sleep(wait_s)
        return Retry()

    def _may_pass(self, error: ModelError) -> bool:
        status = error.status
        if status in _NEVER:
            return False
        text = f"{error} {error.body or ''}"
        if error.retryable or status in _PASSING or (status is not None and status >= 500):
            return True
        if _SIGNS.search(text) and status is None:
            return True
        if any(matches(error) for matches in self.matchers):
            return True
        return status is None and self.retry_unknown_errors

    def _wait_s(self, retry: int, error: ModelError) -> float | None:
        asked = error.retry_after_s
        if asked is not None or self.delay is None:
            return self._backoff.wait_s(retry, asked)
        return max(0.0, self.delay(retry, error) if callable(self.delay) else float(self.delay))


def _listed(owner: str, matchers: Any) -> Sequence[ErrorMatcher]:
    if isinstance(matchers, str) or not isinstance(matchers, Sequence):
        raise refusal(owner, "matchers", matchers, "a list of texts, patterns and functions of the error")
    return cast("Sequence[ErrorMatcher]", matchers)


def _matcher(owner: str, matcher: Any) -> Callable[[ModelError], bool]:
    if isinstance(matcher, str) and matcher:
        sign = matcher.lower()
        return lambda error: sign in f"{error} {error.body or ''}".lower()
    if isinstance(matcher, re.Pattern):
        pattern = cast("re.Pattern[str]", matcher)
        return lambda error: pattern.search(f"{error} {error.body or ''}") is not None
    if callable(matcher):
        return cast("Callable[[ModelError], bool]", matcher)
    raise ConfigurationError(
        f"{owner}: matchers has {matcher!r}; give texts that are not empty, patterns and functions of the error"
    )
