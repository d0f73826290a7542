"""`WorkflowStream`: following a run while it goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

import anyio

from sluiceway.engine._flow import Events
from sluiceway.engine._owned import Mailbox, Owned
from sluiceway.engine._records import EventType, RunEvent, StepRecord, WorkflowResult
from sluiceway.engine._runs import RunControl
from sluiceway.engine._step import Data
from sluiceway.errors import RunError

__all__ = ["RunStarter", "WorkflowStream"]

RunStarter = Callable[[Events, RunControl], Awaitable[WorkflowResult]]
"""Runs the workflow; gets where events go, and what ends the run."""

_END: Final = object()


class _Post(Events):
    """Puts a run's events into the mailbox of whoever follows it."""

    def __init__(self, run_id: Callable[[], str], box: Mailbox[RunEvent | object]) -> None:
        self._run_id = run_id
        self._box = box

    def post(self, path: str, step_id: str | None, data: Data) -> None:
        self._box.post(RunEvent("step-output", self._run_id(), path, step_id, data=data))

    async def space(self) -> None:
        await self._box.room()

    async def step(self, type: EventType, record: StepRecord) -> None:  # noqa: A002
        data = record.input
        if type == "step-finish":
            data = record.output
        elif type == "step-suspended":
            data = record.payload
        status = None if type == "step-start" else record.status
        await self._box.put(RunEvent(type, self._run_id(), record.path, record.step_id, status, data))


class WorkflowStream:
    """A run and its events: an async context manager, and an async iterator inside of it.

    The run goes on in a task of its own, at most 64 events ahead of the reader. Leaving the
    block early ends the run, and nothing is stored; `cancel()` ends it with status
    `cancelled`. The first event is `run-start`, the last `run-finish`.

    Args:
        run: What starts the run, given where its events go.
        run_id: The run.
        workflow_id: The id of the workflow.
        data: What the run is started with.
    """

    def __init__(self, run: RunStarter, *, run_id: str, workflow_id: str, data: Data) -> None:
        self.run_id = run_id
        self._workflow_id = workflow_id
        self._data = data
        self._start = run
        self._box: Mailbox[RunEvent | object] = Mailbox()
        self._owned = Owned()
        self._control = RunControl()
        self._result: WorkflowResult | None = None
        self._error: BaseException | None = None
        self._entered = False
        self._ended = False

    async def __aenter__(self) -> Self:
        if self._entered:
            raise RunError("a stream of a workflow is used once", run_id=self.run_id)
        self._entered = True
        self._box.post(RunEvent("run-start", self.run_id, self._workflow_id, data=self._data))
        self._owned.start(self._run)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._owned.cancel()
        self._box.clear()
        await self._owned.join()
        unread, self._ended = not self._ended, True
        if unread and exc is None and self._error is not None and not isinstance(self._error, Exception):
            raise self._error

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RunEvent:
        """Return the next event.

        Raises:
            RunError: The stream was not entered.
        """
        if not self._entered:
            raise RunError("enter the stream first: async with workflow.stream(...)", run_id=self.run_id)
        if self._ended:
            raise StopAsyncIteration
        await self._box.wait()
        event = self._box.take()
        if isinstance(event, RunEvent):
            return event
        self._ended = True
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    def cancel(self) -> None:
        """End the run. Its steps are cancelled; what they ignore is at most one more iteration."""
        self._control.cancel()

    async def result(self) -> WorkflowResult:
        """Return how the run ended; reads what is left of the events.

        Raises:
            RunError: See `start`; or the block was left before the run had ended.
        """
        async for _ in self:
            pass
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise RunError("the run was left before it had ended", run_id=self.run_id)
        return self._result

    async def _run(self) -> None:
        try:
            self._result = result = await self._start(_Post(lambda: self.run_id, self._box), self._control)
            data = result.output
            event = RunEvent("run-finish", result.run_id, self._workflow_id, status=result.status, data=data)
            self._box.post(event)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001 - raised to whoever reads
            self._error = error
        finally:
            self._box.post(_END)
