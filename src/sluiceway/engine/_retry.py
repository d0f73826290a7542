"""Timeouts, further tries and what becomes of an error: the options of a step."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from sluiceway.engine._clock import clock
from sluiceway.engine._step import Data, StepOptions
from sluiceway.errors import (
    ConfigurationError,
    StepError,
    StepTimeoutError,
    TripWire,
)

__all__ = ["backoff_s", "guarded", "located", "may_retry", "with_timeout"]

log = logging.getLogger("sluiceway.engine")

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 30.0


def may_retry(error: Exception) -> bool:
    """Whether another try could end otherwise.

    Args:
        error: What a step raised.
    """
    if isinstance(error, ConfigurationError):
        return False
    return getattr(error, "retryable", True) is not False


def located(error: Exception, *, path: str, step_id: str, run_id: str | None) -> StepError:
    """Return an error that says where another was raised; to be raised from that.

    Args:
        error: What was raised.
        path: Where.
        step_id: The step, map or branch.
        run_id: The run.
    """
    return StepError(
        f"{path}: {type(error).__name__}: {error}",
        step_id=step_id,
        run_id=run_id,
        path=path,
        retryable=may_retry(error),
    )


def backoff_s(attempt: int, error: Exception | None = None) -> float:
    """Return how long to wait before the next try, in seconds.

    Doubles with each try up to half a minute, with full jitter over the upper half; a wait
    that the error itself asks for (`retry_after_s`) is kept to, within the same bound.

    Args:
        attempt: The number of the try that failed, from 1.
        error: What it failed with.
    """
    asked = getattr(error, "retry_after_s", None)
    if isinstance(asked, int | float):
        return max(0.0, min(float(asked), LONGEST_WAIT_S))
    ceiling = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(attempt - 1, 30))
    return ceiling * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret


async def with_timeout(
    run: Callable[[], Awaitable[Data]], timeout_s: float | None, *, path: str, run_id: str | None
) -> Data:
    """Run something, for so many seconds at most.

    Args:
        run: What is run.
        timeout_s: In seconds; None: any time.
        path: Where it stands, for the error.
        run_id: The run, for the error.

    Raises:
        StepTimeoutError: It took longer; it has been cancelled and has ended.
    """
    if timeout_s is None:
        return await run()
    with anyio.move_on_after(timeout_s) as scope:
        return await run()
    if scope.cancelled_caught:
        message = f"{path}: took longer than its timeout of {timeout_s:g} s"
        raise StepTimeoutError(message, run_id=run_id, path=path)
    return None  # pragma: no cover - the body has returned or raised


async def guarded(
    attempt: Callable[[int], Awaitable[Data]],
    options: StepOptions,
    *,
    path: str,
    run_id: str | None,
    unchanged: Data,
) -> Data:
    """Run a step as its options say: within its timeout, again if it failed, then `on_error`.

    Args:
        attempt: Runs it once; gets the number of the try, from 1.
        options: The options.
        path: Where it stands.
        run_id: The run.
        unchanged: What goes on with `on_error="continue"`.

    Raises:
        TripWire: It aborted, or it failed and `on_error` is `block`.
    """
    number = 1
    while True:
        try:
            return await with_timeout(partial(attempt, number), options.timeout_s, path=path, run_id=run_id)
        except Exception as error:
            if number <= options.retries and may_retry(error):
                await clock().sleep(backoff_s(number, error))
                number += 1
                continue
            if options.on_error == "continue":
                log.warning("%s: failed and goes on unchanged: %s", path, type(error).__name__)
                return unchanged
            if options.on_error == "block":
                raise TripWire(_reason(path, error), path=path) from error
            raise


def _reason(path: str, error: Exception) -> str:
    if isinstance(error, StepTimeoutError):
        return str(error)
    return f"{path}: could not be run ({type(error).__name__})"
