"""Every exception of the library.

`SluicewayError` is the root of what a program may catch. `TripWire` stands apart: it is
control flow between a processor and the run that holds it, derives from `BaseException`
so that no `except Exception` eats it, and never leaves `generate` or `stream`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "ConfigurationError",
    "GraphError",
    "LimitExceeded",
    "MergeConflict",
    "MessageError",
    "ModelError",
    "ProcessorError",
    "RunError",
    "SluicewayError",
    "SnapshotError",
    "StepError",
    "StepTimeoutError",
    "StorageError",
    "TripWire",
    "text_of",
]


def text_of(error: BaseException) -> str:
    """Return what an exception says, or its type's name where it says nothing or cannot be asked.

    Args:
        error: Any exception.
    """
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - the exception's own code; there must be a text all the same
        return type(error).__name__


class SluicewayError(Exception):
    """Root of all errors of the library."""


class ConfigurationError(SluicewayError, ValueError):
    """An option, a list of processors or an agent that cannot work as it was built."""


class GraphError(ConfigurationError):
    """A workflow that cannot run; the text names the entry and how to mend it."""


class MessageError(SluicewayError, ValueError):
    """A message, part or prompt of a shape that nothing can be made of."""


class RunError(SluicewayError):
    """A run that failed.

    Args:
        message: What is wrong, where, and what to do.
        run_id: The run, or None where it is not known yet.
        path: Where in the graph, such as `moderation › parallel[1] › processor:x`.
    """

    def __init__(self, message: str, *, run_id: str | None = None, path: str | None = None) -> None:
        super().__init__(message)
        self.run_id = run_id
        self.path = path


class ProcessorError(RunError):
    """A hook of a processor raised. `__cause__` is what it raised.

    Args:
        processor_id: The processor.
        hook: The name of the hook, such as `process_input`.
    """

    def __init__(
        self,
        message: str,
        *,
        processor_id: str,
        hook: str,
        run_id: str | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(message, run_id=run_id, path=path)
        self.processor_id = processor_id
        self.hook = hook


class StepError(RunError):
    """A step of a workflow raised. `__cause__` is what it raised.

    Args:
        step_id: The step.
        retryable: False where another try cannot help.
    """

    def __init__(
        self,
        message: str,
        *,
        step_id: str,
        run_id: str | None = None,
        path: str | None = None,
        retryable: bool = True,
    ) -> None:
        super().__init__(message, run_id=run_id, path=path)
        self.step_id = step_id
        self.retryable = retryable


class StepTimeoutError(RunError, TimeoutError):
    """A step took longer than its timeout."""


class MergeConflict(RunError):
    """Two branches of a `parallel` changed the same thing in different ways.

    Args:
        keys: The keys of the branches that disagree, in list order.
    """

    def __init__(
        self,
        message: str,
        *,
        keys: Sequence[str],
        run_id: str | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(message, run_id=run_id, path=path)
        self.keys = tuple(keys)


class LimitExceeded(RunError):
    """A bound that guards against endless work was reached."""


class SnapshotError(RunError):
    """A suspended run that cannot be stored, or a stored one that cannot go on."""


class ModelError(SluicewayError):
    """A model provider refused a request or broke off its answer.

    The text never holds a key.

    Args:
        message: What the provider said, or what was received.
        provider: Such as `openai`.
        model_id: The model that was asked.
        status: The HTTP status, or None where there was none.
        retryable: Whether the same request may succeed later.
        retry_after_s: How long the provider asks to wait, in seconds.
        body: An excerpt of what was received.
        request_id: The provider's id of the request.
    """

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        model_id: str = "",
        status: int | None = None,
        retryable: bool = False,
        retry_after_s: float | None = None,
        body: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.model_id = model_id
        self.status = status
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.body = body
        self.request_id = request_id


class StorageError(SluicewayError):
    """A store or a ledger that cannot be read or written."""


class TripWire(BaseException):
    """What `abort` raises: the run ends here, or its step is tried again.

    Args:
        reason: Why, for the caller; with `retry` also for the model.
        retry: Whether the step should run again, within the budget.
        metadata: Anything the caller should get along with the reason.
        processor_id: The processor that aborted.
        path: Where it stands, such as `moderation › processor:pii-detector`.
        retry_count: How often the step had been tried again before this.
    """

    def __init__(
        self,
        reason: str,
        *,
        retry: bool = False,
        metadata: Mapping[str, Any] | None = None,
        processor_id: str | None = None,
        path: str | None = None,
        retry_count: int = 0,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry = retry
        self.metadata = metadata
        self.processor_id = processor_id
        self.path = path
        self.retry_count = retry_count
        self.others: tuple[TripWire, ...] = ()
        self.reported = False
        """Whether `on_violation` has been called for it."""
