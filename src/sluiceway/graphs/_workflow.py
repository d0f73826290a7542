"""`Workflow`: the builder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from sluiceway.engine import Merge, Wait
from sluiceway.errors import GraphError
from sluiceway.graphs._committed import CommittedWorkflow
from sluiceway.graphs._compile import compile_workflow
from sluiceway.graphs._definition import Definition
from sluiceway.graphs._drawn import Drawn, sketch_of
from sluiceway.graphs._entries import (
    BranchEntry,
    Entry,
    ForEachEntry,
    LoopEntry,
    MapEntry,
    ParallelEntry,
    SleepEntry,
    ThenEntry,
)
from sluiceway.graphs._sketch import Sketch
from sluiceway.graphs._types import WorkflowTypes
from sluiceway.processors import Alone

__all__ = ["Workflow"]


class Workflow(Alone, Drawn):
    """Steps and how they are put together. Every call returns a new builder; none changes one.

    A step is a processor, another workflow, a function of `(data)` or `(data, ctx)`, an agent,
    a tool, or an object with `id` and `run`; see `step` for names and options. A workflow of
    processors stands in an agent's list like a processor. Any other runs on its own.

    Args:
        id: Its name, in paths, errors and results.
        input: The type of what goes in, checked when it runs on its own. None: anything.
        output: The type of what comes out, likewise.
        state: The type of a run's state, made without arguments; None: a dict.
        description: For people.

    Raises:
        GraphError: An id that is not a text with something in it.

    Examples:
        >>> def double(number: int) -> int:
        ...     return 2 * number
        >>> def square(number: int) -> int:
        ...     return number * number
        >>> sums = Workflow("sums").parallel([double, square]).map(lambda results: sum(results.values()))
        >>> sums.commit().id
        'sums'
    """

    __slots__ = ("definition",)

    def __init__(
        self,
        id: str,  # noqa: A002 - the field's own name
        *,
        input: Any = None,  # noqa: A002 - any type
        output: Any = None,
        state: Any = None,
        description: str = "",
    ) -> None:
        if not isinstance(id, str) or not id.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphError(f"a workflow's id must be a text that is not empty, not {id!r}")
        if "›" in id:
            raise GraphError(f"the id {id!r} has a '›' in it, which parts the steps of a path")
        self.definition = Definition(id, WorkflowTypes(input, output, state), description=description)

    @property
    def id(self) -> str:
        """Its name."""
        return self.definition.id

    def then(self, step: object) -> Workflow:
        """Add one step; its output goes on."""
        return self._with(ThenEntry(step))

    def parallel(self, steps: Iterable[object], *, wait: Wait = "first") -> Workflow:
        """Add steps that all get the same data; `{key: output}` goes on, in list order.

        A processor's key is `processor:<id>`, any other step's its id. Without a map behind
        it, branches of processors are merged (see `merge.all`).

        Args:
            steps: The branches. None sees what another does.
            wait: `first`: one that aborts or fails ends the others. `all`: all finish first,
                and a tripwire has those of the later branches in `others`.
        """
        return self._with(ParallelEntry(_listed(steps), wait))

    def map(self, how: Callable[..., Any] | str | Merge) -> Workflow:
        """Add a pure function of the data, or of `(data, ctx)`; what it returns goes on.

        Args:
            how: The function, plain or async; or the key of the branch to go on with; or a
                merge such as `merge.prefer("processor:pii-detector")`.
        """
        return self._with(MapEntry(how))

    def branch(self, arms: Iterable[tuple[Callable[..., Any], object]], *, default: object | None = None) -> Workflow:
        """Add arms of which the first whose condition holds runs, and only that one.

        `{key: output}` goes on; without a map behind it, in an agent's list, the output. No
        condition holds and no default: the data goes on unchanged, and a map is not asked.

        Args:
            arms: Pairs of a condition, `cond(data)` or `cond(data, ctx)`, plain or async, and
                a step.
            default: The step that runs if no condition holds.
        """
        return self._with(BranchEntry(_listed(arms), default))

    def foreach(self, step: object, *, concurrency: int | Callable[..., Any] = 1) -> Workflow:
        """Add a step that is run on each item of a list; the list of outputs goes on, in item order.

        Args:
            step: The step.
            concurrency: How many items are worked on at once; or a function of the data that
                returns it.
        """
        return self._with(ForEachEntry(step, concurrency))

    def do_while(self, step: object, condition: Callable[..., Any], *, max_iterations: int = 1000) -> Workflow:
        """Add a step that is run, and run again on its own output as long as the condition holds.

        Args:
            step: The step.
            condition: Asked with the output after each iteration.
            max_iterations: How many there may be; one more is a `LimitExceeded`.
        """
        return self._with(LoopEntry(step, condition, until=False, max_iterations=max_iterations))

    def do_until(self, step: object, condition: Callable[..., Any], *, max_iterations: int = 1000) -> Workflow:
        """Add a step that is run, and run again on its own output until the condition holds.

        Args:
            step: What is repeated.
            condition: Asked about its output after each time: `(data)` or `(data, ctx)`, sync or
                async.
            max_iterations: More than these end the run with `LimitExceeded`.
        """
        return self._with(LoopEntry(step, condition, until=True, max_iterations=max_iterations))

    def sleep(self, seconds: float) -> Workflow:
        """Add a pause."""
        return self._with(SleepEntry(seconds))

    def commit(self) -> CommittedWorkflow:
        """Check everything that can be known and return the workflow, frozen.

        Raises:
            GraphError: The text names the entry and says how to mend it.
        """
        return compile_workflow(self.definition)

    def _with(self, entry: Entry) -> Workflow:
        made = Workflow.__new__(Workflow)
        made.definition = replace(self.definition, entries=(*self.definition.entries, entry))
        return made

    def _sketch(self) -> Sketch:
        return sketch_of(self.commit())

    def __repr__(self) -> str:
        return f"<Workflow {self.id!r}, {len(self.definition.entries)} entries>"


def _listed(given: object) -> object:
    """Keep the items as they are now; what is no list is for `commit` to refuse."""
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return tuple(cast("Iterable[object]", given))
    return cast("object", given)
