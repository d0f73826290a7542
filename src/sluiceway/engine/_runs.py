"""Runs of a workflow from start to end: begin, resume, record, keep."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import anyio

from sluiceway.engine._flow import Events, Flow, Waiting
from sluiceway.engine._records import WorkflowResult
from sluiceway.engine._results import Tripped
from sluiceway.engine._snapshot import Restored, dump_run, load_run
from sluiceway.engine._spec import FlowSpec
from sluiceway.engine._step import Data
from sluiceway.engine._store import LEASE_S, Claim, RunStore
from sluiceway.engine._waiting import Resume, answers, suspensions
from sluiceway.errors import RunError, SnapshotError, StepError, StorageError, TripWire
from sluiceway.tools import RequestContext

__all__ = ["RunControl", "RunRequest", "load", "resume", "start"]


class RunControl:
    """Lets whoever follows a run end it."""

    __slots__ = ("scope",)

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()

    def cancel(self) -> None:
        """End the run with status `cancelled`."""
        self.scope.cancel()


@dataclass(frozen=True, slots=True)
class RunRequest:
    """How a run is to be made.

    Args:
        run_id: The run.
        keep: Whether its end is stored too; a suspension always is.
        store: Where; None: the default store.
        request_context: The request it serves; at a resume, values to add.
        events: Where events go, or None.
        control: What may end it.
    """

    run_id: str
    keep: bool = False
    store: RunStore | None = None
    request_context: RequestContext | None = None
    events: Events | None = None
    control: RunControl = field(default_factory=RunControl)


@dataclass(frozen=True, slots=True)
class _Job:
    """One pass over a run: what is needed to walk it and to keep the outcome."""

    spec: FlowSpec
    flow: Flow
    store: RunStore
    claim: Claim | None
    control: RunControl


async def start(spec: FlowSpec, data: Data, request: RunRequest) -> WorkflowResult:
    """Run a workflow. A run that is stored already is returned as it is, and nothing runs.

    Args:
        spec: The workflow.
        data: What the run is started with.
        request: Id, store and context of the run.

    Raises:
        RunError: Someone else is at this run.
        StorageError: The store cannot be used.
    """
    run_id, store = request.run_id, request.store or RunStore()
    claim: Claim | None = None
    if request.keep:
        claimed = await store.claim_new(run_id, spec.id)
        if not isinstance(claimed, Claim):
            return _found(load_run(spec, run_id, claimed.document or ""))
        claim = claimed
    flow = Flow(run_id, data, {}, request.request_context or RequestContext(), request.events)
    job = _Job(spec, flow, store, claim, request.control)
    return await _held(job, lambda: _begin(job, data))


async def resume(spec: FlowSpec, what: Resume, request: RunRequest) -> WorkflowResult:
    """Go on with a suspended run.

    Args:
        spec: The workflow, with the same fingerprint.
        what: The run, which of its waiting steps, and what these are given.
        request: Store and context of the run.

    Raises:
        RunError: There is no such run, it does not wait, or someone else is at it; or it is
            not clear which of the waiting steps is meant.
        SnapshotError: The workflow has changed since, or the snapshot cannot be read.
        StorageError: The store cannot be used.
    """
    store = request.store or RunStore()
    claim = await store.claim_suspended(request.run_id)
    try:
        assert claim.stored is not None
        restored = load_run(spec, request.run_id, claim.stored.document or "")
        _same_graph(spec, request.run_id, restored)
        flow = restored.flow
        flow.answers = answers(flow, what)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await store.release(claim)
        raise
    flow.events = request.events
    if request.request_context is not None:
        _renew_context(flow.request_context, request.request_context)
    job = _Job(spec, flow, store, claim, request.control)
    return await _held(job, lambda: flow.run(spec.plan, flow.input))


async def load(spec: FlowSpec, run_id: str, store: RunStore | None = None) -> WorkflowResult:
    """Return how a stored run stands; `running` where someone is at it or was cut off.

    Args:
        spec: The workflow.
        run_id: The run.
        store: Where it is kept; None: the usual store.

    Raises:
        RunError: There is no such run.
        SnapshotError: It cannot be read.
        StorageError: The store cannot be used.
    """
    store = store or RunStore()
    stored = await store.load(run_id)
    if stored is None:
        raise RunError(f"there is no run {run_id!r} in {store.path}", run_id=run_id)
    if stored.document is None:
        return WorkflowResult(run_id, stored.status)
    return _found(load_run(spec, run_id, stored.document))


async def _begin(job: _Job, data: Data) -> Data:
    flow, spec = job.flow, job.spec
    if spec.state is not None:
        flow.state = spec.state.declared()
    flow.input = _checked(spec, flow, "input", data)
    return await flow.run(spec.plan, flow.input)


def _checked(spec: FlowSpec, flow: Flow, which: str, data: Data) -> Data:
    check = spec.input if which == "input" else spec.output
    if check is None:
        return data
    try:
        return check.check(data)
    except ValueError as error:
        message = f"{spec.id}: the {which} does not fit: {error}"
        raise StepError(message, step_id=spec.id, run_id=flow.run_id, path=spec.id, retryable=False) from error


async def _held(job: _Job, walk: Callable[[], Awaitable[Data]]) -> WorkflowResult:
    """Walk while the claim is held, keep the outcome, give the claim back."""
    try:
        if job.claim is None:
            result = await _walked(job, walk)
        else:
            result = await _renewing(job.store, job.claim, lambda: _walked(job, walk))
        return await _kept(job, result)
    except BaseException:
        if job.claim is not None:
            with anyio.CancelScope(shield=True):
                await job.store.release(job.claim)
        raise


async def _renewing(store: RunStore, claim: Claim, walk: Callable[[], Awaitable[WorkflowResult]]) -> WorkflowResult:
    results: list[WorkflowResult] = []
    raised: BaseException | None = None

    async def renew() -> None:
        while True:
            await anyio.sleep(LEASE_S / 3)
            with suppress(StorageError):  # the next one may come through, and the lease is long
                await store.renew(claim)

    async with anyio.create_task_group() as group:
        group.start_soon(renew)
        try:
            results.append(await walk())
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001 - goes up below, outside of the group
            raised = error
        group.cancel_scope.cancel()
    if raised is not None:
        raise raised
    return results[0]


async def _walked(job: _Job, walk: Callable[[], Awaitable[Data]]) -> WorkflowResult:
    """Walk the plan and say how it ended. Nothing but a cancellation from outside is raised."""
    flow, spec, scope = job.flow, job.spec, job.control.scope
    result = WorkflowResult(flow.run_id, "cancelled")
    with scope:
        try:
            output = _checked(spec, flow, "output", await walk())
            result = WorkflowResult(flow.run_id, "success", output=output)
        except Waiting:
            result = WorkflowResult(flow.run_id, "suspended")
        except TripWire as trip:
            result = WorkflowResult(flow.run_id, "tripwire", tripwire=_tripped(trip))
        except RunError as error:
            result = WorkflowResult(flow.run_id, "failed", error=error)
    if scope.cancel_called:
        result = WorkflowResult(flow.run_id, "cancelled")
    return _completed(flow, result)


def _completed(flow: Flow, result: WorkflowResult) -> WorkflowResult:
    waiting = suspensions(flow) if result.status == "suspended" else ()
    steps = {record.path: record for _, _, record in flow.records.items()}
    return replace(result, steps=steps, suspended=waiting, state=flow.state)


async def _kept(job: _Job, result: WorkflowResult) -> WorkflowResult:
    if job.claim is None and result.status != "suspended":
        return result
    flow, spec = job.flow, job.spec
    try:
        document = dump_run(spec, flow, result)
    except SnapshotError as error:
        error.run_id, error.path = flow.run_id, error.path or spec.id
        # A run that had failed already says why, which is often why it cannot be stored.
        result = replace(result, status="failed", error=result.error or error, suspended=())
        if job.claim is None:
            return result
        document = dump_run(spec, Flow(flow.run_id, None, None, RequestContext()), replace(result, output=None))
    await job.store.save(flow.run_id, spec.id, result.status, document, claim=job.claim)
    return result


def _tripped(trip: TripWire) -> Tripped:
    return Tripped(
        trip.reason,
        trip.processor_id,
        path=trip.path,
        retry=trip.retry,
        retry_count=trip.retry_count,
        metadata=trip.metadata,
    )


def _found(restored: Restored) -> WorkflowResult:
    return _completed(restored.flow, restored.result)


def _same_graph(spec: FlowSpec, run_id: str, restored: Restored) -> None:
    if restored.fingerprint == spec.fingerprint:
        return
    gone = [node for node in restored.nodes if node not in spec.nodes]
    new = [node for node in spec.nodes if node not in restored.nodes]
    changes = [f"gone: {', '.join(gone)}"] if gone else []
    changes += [f"new: {', '.join(new)}"] if new else []
    raise SnapshotError(
        f"workflow {spec.id!r} has changed since run {run_id!r} was suspended "
        f"({'; '.join(changes) or 'same steps, put together otherwise'}); "
        "finish the run with the workflow it was begun with, or start it anew",
        run_id=run_id,
        path=spec.id,
    )


def _renew_context(stored: RequestContext, fresh: RequestContext) -> None:
    for key, value in fresh.items():
        stored.set(key, value, secret=key in fresh.secrets)
    stored.resource_id = fresh.resource_id or stored.resource_id
    stored.thread_id = fresh.thread_id or stored.thread_id
