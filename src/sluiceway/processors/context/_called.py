"""Code of a program's own that a processor calls and that must not break the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

__all__ = ["call_own", "call_own_async"]

T = TypeVar("T")


def call_own(fn: Callable[[], T], failed: Callable[[Exception], T]) -> T:
    """Return what a function returns, or what `failed` makes of what it raised."""
    try:
        return fn()
    except Exception as error:  # noqa: BLE001 - the program's own code, whose failure has a meaning here
        return failed(error)


async def call_own_async(fn: Callable[[], T | Awaitable[T]], failed: Callable[[Exception], T]) -> T:
    """Likewise for a function that may be a coroutine function."""
    try:
        value: Any = fn()
        return cast("T", await value if hasattr(value, "__await__") else value)
    except Exception as error:  # noqa: BLE001 - likewise
        return failed(error)
