"""Several branches at once: they start in order, and one of them may end the others."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from contextvars import copy_context
from typing import Any, Final, cast

import anyio
from anyio.abc import TaskGroup

from sluiceway.engine._owned import asked_to_end
from sluiceway.engine._plan import Wait
from sluiceway.engine._step import Data
from sluiceway.errors import TripWire

__all__ = ["Outcome", "fan_out", "raise_first", "unwrapped"]

log = logging.getLogger("sluiceway.engine")
_NAME: Final = "sluiceway branch"


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

    Branches start in list order on every backend, each in a copy of the caller's context
    variables. Nothing but a cancellation from outside leaves this function, and all branches
    have ended when it returns.

    Args:
        branches: What to run.
        wait: `first`: one that raises cancels the others. `all`: all finish.
        limit: How many may run at once, or None for all.
    """
    fan = _Fan(branches, wait)
    async with anyio.create_task_group() as fan.group:
        if limit is None or limit >= len(branches):
            await fan.start_all()
        else:
            await fan.start_some(limit)
    return fan.outcomes


class _Fan:
    """Branches on their way."""

    __slots__ = ("_branches", "_wait", "_waiting", "group", "outcomes")

    group: TaskGroup

    def __init__(self, branches: Sequence[Callable[[], Awaitable[Data]]], wait: Wait) -> None:
        self._branches = branches
        self._wait: Wait = wait
        # trio starts tasks in any order, so that a task takes the next branch, not one of its own.
        self._waiting = iter(range(len(branches)))
        self.outcomes = [Outcome() for _ in branches]

    async def start_all(self) -> None:
        for _ in self._branches[1:]:
            self.group.start_soon(self._run, name=_NAME)
        if self._branches:
            await _Apart(self._run())  # a task costs more than all else that a branch does

    async def start_some(self, limit: int) -> None:
        slots = anyio.Semaphore(limit)
        for _ in self._branches:
            await slots.acquire()
            if self.group.cancel_scope.cancel_called:
                break
            self.group.start_soon(self._run, slots, name=_NAME)

    async def _run(self, slot: anyio.Semaphore | None = None) -> None:
        index = next(self._waiting)
        outcome = self.outcomes[index]
        try:
            outcome.value = await self._branches[index]()
            outcome.done = True
        except anyio.get_cancelled_exc_class() as error:
            if asked_to_end():
                raise
            if not self.group.cancel_scope.cancel_called:
                self._ended(outcome, error)
        except BaseException as error:  # noqa: BLE001 - the caller says which of them goes up
            self._ended(outcome, error)
        finally:
            if slot is not None:
                slot.release()

    def _ended(self, outcome: Outcome, error: BaseException) -> None:
        outcome.error = unwrapped(error)
        outcome.late = self.group.cancel_scope.cancel_called
        if self._wait == "first":
            self.group.cancel_scope.cancel()


class _Apart:
    """Runs a coroutine in the caller's task, but in a copy of its context, as a task of its own would."""

    __slots__ = ("_work",)

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = work

    def __await__(self) -> Generator[Any, Any, None]:
        context = copy_context()
        go_on: Callable[[Any], Any] = self._work.send
        given: Any = None
        while True:
            try:
                waits_for = context.run(go_on, given)
            except StopIteration:
                return
            try:
                go_on, given = self._work.send, (yield waits_for)
            except BaseException as error:  # noqa: BLE001 - the coroutine's to handle, whatever it is
                go_on, given = self._work.throw, error


def unwrapped(error: BaseException) -> BaseException:
    """Return what a group of exceptions that a step let out stands for.

    Control flow, such as a `TripWire` or a suspension, is no error and must be seen through
    the task group of a step. A group of errors stays what it is.

    Args:
        error: What came out of a step.
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
