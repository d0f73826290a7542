"""Several branches at once: they start in order, and one of them may end the others."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import cast

import anyio
from anyio.abc import TaskGroup

from sluiceway.engine._plan import Wait
from sluiceway.engine._step import Data
from sluiceway.errors import TripWire

__all__ = ["Outcome", "fan_out", "raise_first", "unwrapped"]

log = logging.getLogger("sluiceway.engine")


class Outcome:
    """How one branch ended.

    `error` is set if it raised, `done` if it returned; neither if it was cancelled because a
    sibling had ended the group.
    """

    __slots__ = ("done", "error", "late", "value")

    def __init__(self) -> None:
        self.value: Data = None
        self.error: BaseException | None = None
        self.done = False
        self.late = False
        """Whether it raised only while it was being cancelled for a sibling's sake."""


async def fan_out(
    branches: Sequence[Callable[[], Awaitable[Data]]], *, wait: Wait = "first", limit: int | None = None
) -> list[Outcome]:
    """Run branches side by side and return how each ended, in list order.

    Branches start in list order on every backend. Nothing but a cancellation from outside
    leaves this function, and all branches have ended when it returns.

    Args:
        branches: What to run.
        wait: `first`: one that raises cancels the others. `all`: all finish.
        limit: How many may run at once, or None for all.
    """
    outcomes = [Outcome() for _ in branches]
    # trio starts tasks in any order, so that a task takes the next branch, not one of its own.
    waiting = iter(range(len(branches)))
    slots = anyio.Semaphore(limit) if limit is not None and limit < len(branches) else None

    def ended(outcome: Outcome, error: BaseException) -> None:
        outcome.error = unwrapped(error)
        outcome.late = group.cancel_scope.cancel_called
        if wait == "first":
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:

        async def run() -> None:
            index = next(waiting)
            outcome = outcomes[index]
            try:
                outcome.value = await branches[index]()
                outcome.done = True
            except anyio.get_cancelled_exc_class() as error:
                # From outside it goes up through the group. One that a step let out by itself,
                # such as that of a future that somebody cancelled, would be lost in it.
                if not group.cancel_scope.cancel_called:
                    ended(outcome, error)
                raise
            except BaseException as error:  # noqa: BLE001 - the caller says which of them goes up
                ended(outcome, error)
            finally:
                if slots is not None:
                    slots.release()

        for _ in branches:
            if slots is not None and await _is_over(group, slots):
                break
            group.start_soon(run)
    return outcomes


async def _is_over(group: TaskGroup, slots: anyio.Semaphore) -> bool:
    """Wait for a slot; say whether the group was ended meanwhile."""
    await slots.acquire()
    return group.cancel_scope.cancel_called


def unwrapped(error: BaseException) -> BaseException:
    """Return what a group of exceptions that a step let out stands for.

    Control flow, such as a `TripWire` or a suspension, is no error and must be seen through
    the task group of a step. A group of errors stays what it is.
    """
    if not isinstance(error, BaseExceptionGroup) or isinstance(error, Exception):
        return error
    leaves = list(_leaves(cast("BaseExceptionGroup[BaseException]", error)))
    fatal = [leaf for leaf in leaves if isinstance(leaf, KeyboardInterrupt | SystemExit | GeneratorExit)]
    trips = [leaf for leaf in leaves if isinstance(leaf, TripWire)]
    others = [leaf for leaf in leaves if not isinstance(leaf, Exception)]
    return (fatal or trips or others)[0]


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(cast("BaseExceptionGroup[BaseException]", error))
        else:
            yield error


def raise_first(outcomes: Sequence[Outcome], names: Sequence[str]) -> None:
    """Raise what a group of branches ended with, if any of them raised.

    A `TripWire` comes before an error; of several tripwires the first in list order goes up,
    of several errors one that is not just the echo of a cancellation. What does not go up is
    logged.

    Args:
        outcomes: As `fan_out` returns them.
        names: What to call each branch in the log.
    """
    raised = [(name, outcome.error) for name, outcome in zip(names, outcomes, strict=True) if outcome.error]
    if not raised:
        return
    trips = [error for _, error in raised if isinstance(error, TripWire)]
    fatal = [error for _, error in raised if not isinstance(error, TripWire | Exception)]
    early = [outcome.error for outcome in outcomes if outcome.error is not None and not outcome.late]
    first = fatal[0] if fatal else trips[0] if trips else (early or [raised[0][1]])[0]
    if isinstance(first, TripWire):
        first.others = tuple(trips[1:])
    for name, error in raised:
        if error is not first and not isinstance(error, TripWire):
            log.warning("branch %s failed beside another: %s", name, type(error.__cause__ or error).__name__)
    raise first
