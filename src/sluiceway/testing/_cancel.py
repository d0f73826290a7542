"""Cancel a coroutine at any of its await points."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["CancelAt"]

T = TypeVar("T")


class Cancellable(Protocol):
    """A cancel scope, or a task of asyncio."""

    def cancel(self) -> object:
        """Cancel it."""
        ...


class CancelAt(Generic[T]):
    """Awaits a coroutine and cancels something the n-th time that it waits for the event loop.

    Every wait of the coroutine passes through here, whatever it is for, so going through all
    n goes through all of its await points.

    Args:
        coroutine: What is awaited.
        scope: What is cancelled: a scope around the coroutine, or the running task of asyncio.
        at: At which wait, from 1; 0: never.

    Attributes:
        waits: How often it has waited.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T], scope: Cancellable, at: int) -> None:
        self.coroutine = coroutine
        self.scope = scope
        self.at = at
        self.waits = 0

    def __await__(self) -> Generator[Any, Any, T]:
        """Pass on what the coroutine waits for, and count."""
        inner = self.coroutine.__await__()
        value: Any = None
        error: BaseException | None = None
        while True:
            try:
                asked = inner.send(value) if error is None else inner.throw(error)
            except StopIteration as end:
                return end.value
            self.waits += 1
            if self.waits == self.at:
                self.scope.cancel()
            value, error = None, None
            try:
                value = yield asked
            except BaseException as thrown:  # noqa: BLE001 - handed on to the coroutine, whatever it is
                error = thrown
