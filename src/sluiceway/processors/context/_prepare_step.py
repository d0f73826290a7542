"""`PrepareStep`: a function that prepares each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sluiceway.errors import ConfigurationError
from sluiceway.processors._base import Processor
from sluiceway.processors._contexts import InputStepContext

__all__ = ["PrepareStep"]


class PrepareStep(Processor):
    """Calls a function before each step; it may return what `process_input_step` may.

    This is what `prepare_step=` of a call builds; it runs after the agent's own processors.

    Args:
        fn: Takes the step's context, sync or async.
        id: The id.

    Raises:
        ConfigurationError: `fn` cannot be called.
    """

    def __init__(self, fn: Callable[[InputStepContext], Any], *, id: str = "prepare-step") -> None:  # noqa: A002
        super().__init__(id)
        if not callable(fn):
            raise ConfigurationError(f"prepare_step must be a function of the step's context, not {type(fn).__name__}")
        self._fn = fn

    def process_input_step(self, ctx: InputStepContext) -> Any:
        """Return what the function returns."""
        return self._fn(ctx)
