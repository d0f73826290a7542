"""`EnsureFinalResponse`: sees to it that the last step of a run is an answer."""

from __future__ import annotations

from sluiceway.processors._base import Processor
from sluiceway.processors._contexts import InputStepContext
from sluiceway.processors._effects import Effects
from sluiceway.processors._results import StepOverrides
from sluiceway.processors.context._options import checked_count

__all__ = ["EnsureFinalResponse"]

_REMINDER = "This is the last step: no tool can be called any more. Answer now with what is known."


class EnsureFinalResponse(Processor):
    """On the last step: a reminder to the model, and no tools.

    The reminder is a transient signal: it is in that step's prompt, in no visible history and
    in no storage.

    Args:
        max_steps: Which step is the last, counted from 1; None: the last that the run may take.
        id: The id.

    Raises:
        ConfigurationError: `max_steps` is no whole number above 0.
    """

    def __init__(self, max_steps: int | None = None, *, id: str = "ensure-final-response") -> None:  # noqa: A002
        super().__init__(id)
        self.max_steps = None if max_steps is None else checked_count(id, "max_steps", max_steps, 1)
        self.effects = Effects(reads=("overrides",), writes=("messages", "overrides"), aborts=False)

    async def process_input_step(self, ctx: InputStepContext) -> StepOverrides | None:
        """Take the tools away from the last step, and say so."""
        last = ctx.max_steps if self.max_steps is None else min(self.max_steps, ctx.max_steps)
        if (ctx.step_number or 0) + 1 < last:
            return None
        await ctx.send_signal(_REMINDER, transient=True)
        return StepOverrides(tool_choice="none")
