"""`CommittedWorkflow`: frozen, checked, ready to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sluiceway._types import new_id
from sluiceway.engine import (
    Data,
    FlowSpec,
    Plan,
    Resume,
    RunRequest,
    RunStore,
    WorkflowResult,
    WorkflowStream,
    load_workflow,
    resume_workflow,
    start_workflow,
)
from sluiceway.errors import ConfigurationError
from sluiceway.graphs._definition import Definition
from sluiceway.graphs._drawn import Drawn
from sluiceway.graphs._sketch import Sketch
from sluiceway.graphs._view import sketch_plan
from sluiceway.processors import Alone
from sluiceway.tools import RequestContext

__all__ = ["CommittedWorkflow"]


class CommittedWorkflow(Alone, Drawn):
    """A workflow that has been checked. Immutable; any number of runs share one.

    Attributes:
        definition: What it was written as.
        plan: What it compiles to.
        processors: Path to processor, nested workflows included; empty if it runs on its own.
        fingerprint: Changes when the graph does.
        spec: What the engine runs.
    """

    __slots__ = ("_spec", "definition", "plan", "processors")

    def __init__(self, definition: Definition, spec: FlowSpec, processors: Mapping[str, object]) -> None:
        self.definition = definition
        self.plan: Plan = spec.plan
        self.processors = processors
        self._spec = spec

    @property
    def id(self) -> str:
        """Its name."""
        return self.definition.id

    @property
    def fingerprint(self) -> str:
        """Changes when the graph does: steps, their order and how they are put together."""
        return self._spec.fingerprint

    async def run(
        self,
        data: Data,
        *,
        run_id: str | None = None,
        store: RunStore | None = None,
        request_context: RequestContext | Mapping[str, Any] | None = None,
    ) -> WorkflowResult:
        """Run the workflow; also what fails in it is a result, see its `status`.

        Cancelling this ends all its steps and stores nothing.

        Args:
            data: What goes in.
            run_id: A name for the run. A run that is stored under it already is returned as
                it is (ended or suspended), and nothing runs. None: a new name.
            store: Where runs are kept. None: the default store (see `RunStore`). Without
                `run_id` and `store` a run is kept only if it suspends.
            request_context: The request it serves, for `ctx.request_context` and agents.

        Raises:
            ConfigurationError: It has processors, which need an agent or `run_on`.
            RunError: Someone else is at this run.
            StorageError: The store cannot be used.
        """
        self._on_its_own("run")
        return await start_workflow(
            self._spec,
            data,
            RunRequest(
                run_id or new_id("run"),
                keep=run_id is not None or store is not None,
                store=store,
                request_context=RequestContext.of(request_context).copy(),
            ),
        )

    def stream(
        self,
        data: Data,
        *,
        run_id: str | None = None,
        store: RunStore | None = None,
        request_context: RequestContext | Mapping[str, Any] | None = None,
    ) -> WorkflowStream:
        """Run the workflow and follow it: `async with workflow.stream(data) as events`.

        Args:
            data: As in `run`.
            run_id: As in `run`.
            store: As in `run`.
            request_context: As in `run`.

        Raises:
            ConfigurationError: It has processors, which need an agent or `run_on`.
        """
        self._on_its_own("stream")
        request = RunRequest(
            run_id or new_id("run"),
            keep=run_id is not None or store is not None,
            store=store,
            request_context=RequestContext.of(request_context).copy(),
        )
        return WorkflowStream(
            lambda events, control: start_workflow(self._spec, data, replace(request, events=events, control=control)),
            run_id=request.run_id,
            workflow_id=self.id,
            data=data,
        )

    async def load(self, run_id: str, *, store: RunStore | None = None) -> WorkflowResult:
        """Return how a stored run stands, in this process or another.

        Args:
            run_id: The run.
            store: Where it is kept; None: the usual store.

        Raises:
            RunError: There is no such run.
            SnapshotError: It cannot be read.
            StorageError: The store cannot be used.
        """
        return await load_workflow(self._spec, run_id, store)

    async def resume(
        self,
        run_id: str,
        *,
        step: str | None = None,
        index: int | Sequence[int] | None = None,
        data: Data = None,
        store: RunStore | None = None,
        request_context: RequestContext | Mapping[str, Any] | None = None,
    ) -> WorkflowResult:
        """Go on with a suspended run, in this process or another. Finished steps do not run again.

        Of two at once one wins. If this is cancelled, the run is suspended as before.

        Args:
            run_id: The run.
            step: Id or path of the step that goes on; None where only one waits.
            index: Which item of a `foreach`, from 0, or a list of them; None where only one waits.
            data: The answer for the step, falsy or not; with a list of indices, a list.
            store: Where the run is kept. None: the default store.
            request_context: Values to add to those that were stored; secrets never are.

        Raises:
            RunError: No such run, it does not wait (any more), or it is not clear which step.
            SnapshotError: The workflow has changed since, or the snapshot cannot be read.
            StorageError: The store cannot be used.
        """
        self._on_its_own("resume")
        context = None if request_context is None else RequestContext.of(request_context)
        request = RunRequest(run_id, keep=True, store=store, request_context=context)
        return await resume_workflow(self._spec, Resume(step, index, data), request)

    def _on_its_own(self, what: str) -> None:
        if self.processors:
            path = next(iter(self.processors))
            raise ConfigurationError(
                f"workflow {self.id!r} has processors ({path}) and no {what}(): put it into an agent's list, "
                f"or apply it with {self.id}.run_on(messages)"
            )

    def _sketch(self) -> Sketch:
        described = self.definition.description
        return sketch_plan(self.id, self.plan, in_hooks=bool(self.processors), description=described)

    def __repr__(self) -> str:
        return f"<CommittedWorkflow {self.id!r}>"
