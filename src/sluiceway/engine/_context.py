"""What a function step, a map or a condition gets beside its data in a run of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, NoReturn, Protocol

from sluiceway.engine._step import Data
from sluiceway.errors import ConfigurationError
from sluiceway.tools import RequestContext

__all__ = ["Emitted", "EventSink", "RunWriter", "StepContext", "Suspend"]


class Suspend(BaseException):
    """What `ctx.suspend` raises. Never leaves a run."""

    def __init__(self, payload: Data) -> None:
        super().__init__("suspended")
        self.payload = payload


class EventSink(Protocol):
    """Where a run's events go."""

    def post(self, path: str, step_id: str | None, data: Data) -> None:
        """Take what a step emitted."""
        ...

    async def space(self) -> None:
        """Wait until whoever reads the events has caught up."""
        ...


class Emitted:
    """What `ctx.emit` returns: await it to wait for a reader that lags behind."""

    __slots__ = ("_sink",)

    def __init__(self, sink: EventSink | None) -> None:
        self._sink = sink

    def __await__(self) -> Generator[Any, Any, None]:
        """Wait until there is room for more."""
        if self._sink is not None:
            yield from self._sink.space().__await__()


class RunWriter:
    """Sends data chunks of a step to whoever reads the run's events.

    Args:
        emit: What is given each piece of data.
    """

    __slots__ = ("_emit",)

    def __init__(self, emit: Callable[[Data], Emitted]) -> None:
        self._emit = emit

    async def custom(self, type: str, data: object, transient: bool = False) -> None:  # noqa: A002
        """Emit a `data-*` chunk as a dict of `type`, `data` and `transient`.

        Raises:
            ConfigurationError: Another prefix than `data-`.
        """
        if not type.startswith("data-"):
            raise ConfigurationError(f"a data chunk's type begins with 'data-', not {type!r}")
        await self._emit({"type": type, "data": data, "transient": transient})


class StepContext:
    """The run around a step. Valid while the step runs.

    Attributes:
        run_id: The run.
        path: Where the step stands.
        step_id: The step.
        input: What the run was started with; the same after a resume.
        state: The state of the run, one object for all its steps. Branches and items that
            run side by side write to the same object: different keys are all kept, of the
            same key the last write in time holds.
        results: Outputs so far by step key, of this workflow; of a `foreach` the list, of a
            loop the last.
        request_context: The request that the run serves.
        iteration: Of the innermost loop or `foreach`, from 1.
        attempt: The number of this try, from 1.
        resumed: Whether this step goes on after a suspension.
        resume_data: What it was resumed with; None where it was not.
        sink: Where its events go; None where nobody reads them.
    """

    __slots__ = (
        "_sink",
        "attempt",
        "input",
        "iteration",
        "path",
        "request_context",
        "results",
        "resume_data",
        "resumed",
        "run_id",
        "state",
        "step_id",
    )

    def __init__(
        self,
        *,
        run_id: str,
        path: str,
        step_id: str,
        input: Data,  # noqa: A002 - the field's own name
        state: Any,
        results: Mapping[str, Data],
        request_context: RequestContext,
        iteration: int = 1,
        attempt: int = 1,
        resumed: bool = False,
        resume_data: Data = None,
        sink: EventSink | None = None,
    ) -> None:
        self.run_id = run_id
        self.path = path
        self.step_id = step_id
        self.input = input
        self.state = state
        self.results = results
        self.request_context = request_context
        self.iteration = iteration
        self.attempt = attempt
        self.resumed = resumed
        self.resume_data = resume_data
        self._sink = sink

    @property
    def writer(self) -> RunWriter:
        """Sends `data-*` chunks to whoever reads the run's events."""
        return RunWriter(self.emit)

    def emit(self, event: Data) -> Emitted:
        """Send something to whoever reads the run's events; nobody does in a plain `run`.

        Works in plain functions. An async step that emits much should await what this
        returns, so that it waits for a reader that lags behind.
        """
        if self._sink is not None:
            self._sink.post(self.path, self.step_id, event)
        return Emitted(self._sink)

    def suspend(self, payload: Data = None) -> NoReturn:
        """Stop here until the run is resumed; the step is then called again.

        Never returns: the next call finds `resumed` True and the answer in `resume_data`.

        Args:
            payload: What whoever decides should see; anything JSON.
        """
        raise Suspend(payload)
