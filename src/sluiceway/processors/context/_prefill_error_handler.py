"""`PrefillErrorHandler`: mends a prompt that ends in an assistant message."""

from __future__ import annotations

import re
from typing import Final

from sluiceway.errors import ModelError
from sluiceway.processors._base import Processor
from sluiceway.processors._contexts import ApiErrorContext
from sluiceway.processors._effects import Effects
from sluiceway.processors._results import FreeRetry, Retry

__all__ = ["PrefillErrorHandler", "is_prefill_refusal"]

_SIGNS: Final = re.compile(
    r"prefill"
    r"|(?:last|final) (?:message|role)(?: role)? (?:must|should|has to|needs to) (?:be|have)"
    r"|must end (?:with|in) an? (?:user|human|tool)"
    r"|(?:end|ends|ending) (?:with|in) an? assistant"
    r"|expected last role user",
    re.IGNORECASE,
)


class PrefillErrorHandler(Processor):
    """On a provider's refusal of a trailing assistant message: a hidden reminder, and one retry.

    Every agent has one by default, with one retry per step of its own, whatever the retry
    budget (`Agent(prefill_recovery=False)` leaves it out). The reminder is a transient signal:
    it is in the retried prompt, in no visible history and in no storage.

    Args:
        id: The id.
    """

    def __init__(self, *, id: str = "prefill-error-handler") -> None:  # noqa: A002
        super().__init__(id)
        self.effects = Effects(reads=("messages",), writes=("messages", "state"), aborts=False)

    async def process_api_error(self, ctx: ApiErrorContext) -> Retry | None:
        """Ask for one retry of a step whose prompt was refused for its last message."""
        done = ctx.state.setdefault("steps", set())
        if ctx.step_number in done or not is_prefill_refusal(ctx.error):
            return None
        done.add(ctx.step_number)
        await ctx.send_signal("continue", transient=True)
        return FreeRetry()


def is_prefill_refusal(error: ModelError) -> bool:
    """Whether a provider refused a prompt because its last message is the assistant's."""
    if error.status not in (None, 400, 422):
        return False
    return _SIGNS.search(f"{error} {error.body or ''}") is not None
