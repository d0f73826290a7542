"""What the engine runs: steps over data, with options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, TypeAlias

__all__ = ["PLAIN", "AnyScope", "Data", "Forkable", "OnError", "Scope", "Step", "StepOptions", "can_fork"]

Data: TypeAlias = Any
"""What flows through a plan. The engine hands it on and knows nothing of it."""

AnyScope: TypeAlias = Any
"""A `Scope` with whatever else the steps of one kind of run find on it."""

OnError: TypeAlias = Literal["raise", "block", "continue"]
"""What becomes of an error: it goes up, the run is aborted, or the data goes on unchanged."""


class Scope(Protocol):
    """What one run hands to each of its steps. The engine passes it through and reads the id."""

    @property
    def run_id(self) -> str:
        """The run."""
        ...


class Step(Protocol):
    """Anything that makes new data out of data."""

    @property
    def id(self) -> str:
        """The name of the step, unique within its scope."""
        ...

    @property
    def key(self) -> str:
        """The key of its output after a `parallel` or `branch`, such as `processor:pii-detector`."""
        ...

    async def run(self, data: Data, scope: AnyScope) -> Data:
        """Return what goes on to the next step."""
        ...


class Forkable(Protocol):
    """Data that several branches can work on at once.

    Data without these two methods is shared by the branches of a `parallel`, whose outputs
    are not merged. A third, `each() -> list[Self]`, lets a `foreach` work on its parts: it
    returns forks, which come back through one `join`.
    """

    def fork(self) -> Self:
        """Return an isolated copy: nothing done to it is seen here, nor the other way round."""
        ...

    def join(self, forks: Mapping[str, Self], *, prefer: str | None = None) -> Self:
        """Return this data with the edits of all the forks; one fork alone is taken as it is.

        Args:
            forks: Branch key to what that branch made of its fork, in list order.
            prefer: The branch that wins a conflict, or None: a conflict is an error.

        Raises:
            MergeConflict: Two forks changed the same thing in different ways.
        """
        ...


def can_fork(data: Data) -> bool:
    """Whether data follows `Forkable`. Told by `fork`: a text has a `join`, too."""
    return hasattr(data, "fork")


@dataclass(frozen=True, slots=True)
class StepOptions:
    """How one step is run.

    Args:
        hooks: The hooks it runs in, or None for those its kind has by itself.
        timeout_s: Seconds one try may take, or None for any.
        retries: Further tries after one that failed with an error that may go away.
        on_error: What becomes of an error; None leaves it to the step.
        thread: Whether a plain function is moved to a worker thread.
        ignore: Ids of the lint rules that do not apply to it.
    """

    hooks: frozenset[str] | None = None
    timeout_s: float | None = None
    retries: int = 0
    on_error: OnError | None = None
    thread: bool = False
    ignore: tuple[str, ...] = ()

    @property
    def bare(self) -> bool:
        """Whether the engine has nothing to do but call the step."""
        return self.timeout_s is None and not self.retries and self.on_error in (None, "raise")


PLAIN = StepOptions()
"""The options of a step that was given none."""
