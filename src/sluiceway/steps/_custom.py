"""An object with `id` and `run` as a step."""

from __future__ import annotations

import inspect
from typing import Any, cast

from sluiceway.engine import AnyScope, Data, StepContext, TypeCheck
from sluiceway.steps._callables import annotated, can_suspend, with_context
from sluiceway.steps._function import checked

__all__ = ["CustomStep"]


class CustomStep:
    """Anything with an `id` and `run(data)` or `run(data, ctx)`, types as annotated.

    Args:
        thing: The object.
        id: Its name; None: its own.
        hooks: The hooks it runs in, or None: the usual ones.
    """

    __slots__ = ("_call", "can_suspend", "hooks", "id", "input", "key", "output", "thing")

    def __init__(self, thing: object, *, id: str, hooks: frozenset[str] | None = None) -> None:  # noqa: A002
        run = cast("Any", thing).run
        self.thing = thing
        self.id = id
        self.key = id
        self.hooks = hooks
        self.can_suspend = can_suspend(run)
        self.input: TypeCheck | None
        self.output: TypeCheck | None
        self.input, self.output = annotated(run)
        self._call = with_context(run)

    async def run(self, data: Data, scope: AnyScope) -> Data:
        """Call `run`."""
        alone = isinstance(scope, StepContext)
        if alone and self.input is not None:
            data = checked(self.input, data, scope, "input")
        result = self._call(data, scope)
        if inspect.isawaitable(result):
            result = await cast("Any", result)
        if alone and self.output is not None:
            result = checked(self.output, result, scope, "output")
        return result
