"""A function as a step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

import anyio.to_thread

from sluiceway.engine import AnyScope, Data, StepContext, TypeCheck
from sluiceway.errors import StepError
from sluiceway.steps._callables import annotated, can_suspend, with_context

__all__ = ["FunctionStep", "checked"]


class FunctionStep:
    """A function of the data, or of `(data, ctx)`; plain or async.

    In a run of its own, what goes in and out is checked where it is annotated. In a hook it
    gets and returns a `HookCall`.

    Args:
        fn: The function. A plain one runs on the event loop and must not block.
        id: Its name; None: the function's.
        hooks: The hooks it runs in, or None: the usual ones.
        thread: Whether a plain function runs in a worker thread.
    """

    __slots__ = ("_call", "_thread", "can_suspend", "fn", "hooks", "id", "input", "key", "output")

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        id: str,  # noqa: A002 - the field's own name
        hooks: frozenset[str] | None = None,
        thread: bool = False,
    ) -> None:
        self.fn = fn
        self.id = self.key = id
        self.hooks = hooks
        self.can_suspend = can_suspend(fn)
        self.input, self.output = annotated(fn)
        self._call = with_context(fn)
        self._thread = thread

    async def run(self, data: Data, scope: AnyScope) -> Data:
        """Call the function."""
        alone = isinstance(scope, StepContext)
        if alone and self.input is not None:
            data = checked(self.input, data, scope, "input")
        result = await anyio.to_thread.run_sync(self._call, data, scope) if self._thread else self._call(data, scope)
        if inspect.isawaitable(result):
            result = await cast("Any", result)
        if alone and self.output is not None:
            result = checked(self.output, result, scope, "output")
        return result


def checked(check: TypeCheck, data: Data, scope: StepContext, which: str) -> Data:
    """Return data as a declared type has it.

    Raises:
        StepError: It does not fit; another try would not help.
    """
    try:
        return check.check(data)
    except ValueError as error:
        message = f"{scope.path}: the {which} does not fit: {error}"
        raise StepError(
            message, step_id=scope.step_id, run_id=scope.run_id, path=scope.path, retryable=False
        ) from error
