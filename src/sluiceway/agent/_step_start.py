"""`StepStart`: what a run was at the start of a step, and who is told at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluiceway.agent._answer import Answer
from sluiceway.agent._host import RunHost
from sluiceway.engine import StepResult
from sluiceway.errors import ProcessorError, text_of
from sluiceway.messages import Chunk, Snapshot

__all__ = ["StepStart", "tell_accepted"]


class StepStart:
    """Where a retry of a step starts from. One for all attempts of the step.

    Args:
        host: The run.
    """

    __slots__ = ("_accepted", "_early", "_host", "_snapshot", "_transients", "is_ahead")

    def __init__(self, host: RunHost) -> None:
        self._host = host
        self._snapshot: Snapshot | None = None
        self._transients: frozenset[str] = frozenset()
        self._accepted: tuple[Any, ...] = ()
        self._early: tuple[Chunk, ...] = ()
        self.is_ahead = False
        """Whether checks that were put off before the step have still to pass."""

    def take(self) -> None:
        """Keep the run as it is."""
        scope = self._host.scope
        self._snapshot = self._host.messages.snapshot()
        self._transients = frozenset(scope.transients)
        self._accepted = tuple(scope.accepted)

    def restore(self) -> None:
        """Bring the run back to it."""
        if self._snapshot is None:
            return
        scope = self._host.scope
        self._host.messages.restore(self._snapshot)
        if self._early:
            answer = Answer(self._host.messages, self._host.message_id, first=not self._host.steps)
            for chunk in self._early:
                answer.apply(chunk)
        scope.transients = set(self._transients)
        scope.accepted[:] = self._accepted

    def note_sent(self, chunks: Sequence[Chunk]) -> None:
        """Note data chunks that were sent; those of before the step survive a retry."""
        if self.is_ahead:
            self._early = (*self._early, *chunks)

    async def passed(self) -> None:
        """The checks that were put off before the step have passed: a retry starts behind them."""
        self.is_ahead = False
        self._accepted = tuple(self._host.scope.accepted)


async def tell_accepted(host: RunHost, step: StepResult) -> None:
    """Call what hooks gave to `on_step_accepted`.

    Raises:
        ProcessorError: One of them raised.
    """
    accepted = host.scope.accepted
    for seat, fn in accepted:
        try:
            outcome = fn(step)
            if outcome is not None:
                await outcome
        except Exception as error:
            raise ProcessorError(
                f"processor {seat.id!r} failed in on_step_accepted: {type(error).__name__}: {text_of(error)}",
                processor_id=seat.id,
                hook="on_step_accepted",
                run_id=host.run_id,
            ) from error
    accepted.clear()
