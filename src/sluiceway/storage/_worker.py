"""Calls in worker threads that nobody leaves half done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar, TypeVarTuple, cast

import anyio
import anyio.to_thread

__all__ = ["in_thread"]

Args = TypeVarTuple("Args")
T = TypeVar("T")

_PAUSE_S: Final = 0.005


async def in_thread(fn: Callable[[*Args], T], *args: *Args, limiter: anyio.CapacityLimiter | None = None) -> T:
    """Call a function in a worker thread.

    Where this is left, by a cancellation too, the call has ended or will never begin: what
    undoes it afterwards, such as giving a lease back, cannot be overtaken by it. By themselves
    threads are waited for by a cancel scope, and not by a cancellation of asyncio's own.

    Args:
        fn: What is called.
        args: With what.
        limiter: How many threads at once; None: as many as anyio allows.
    """
    call = _Call(lambda: fn(*args))
    try:
        return cast("T", await anyio.to_thread.run_sync(call, limiter=limiter))  # None only where nobody waits for it
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            while not call.is_over():
                try:
                    await anyio.sleep(_PAUSE_S)
                except anyio.get_cancelled_exc_class():
                    pass  # once more; it goes up in a moment
        raise


class _Call(Generic[T]):
    """A call that is withdrawn where it has not begun by the time somebody asks whether it is over."""

    __slots__ = ("_begun", "_ended", "_fn", "_lock", "_withdrawn")

    def __init__(self, fn: Callable[[], T]) -> None:
        self._fn = fn
        self._lock = threading.Lock()
        self._begun = False
        self._ended = False
        self._withdrawn = False

    def __call__(self) -> T | None:
        with self._lock:
            if self._withdrawn:
                return None
            self._begun = True
        try:
            return self._fn()
        finally:
            self._ended = True

    def is_over(self) -> bool:
        """Whether it has ended, or will never begin."""
        with self._lock:
            self._withdrawn = not self._begun
        return self._withdrawn or self._ended
