"""What a workflow that runs on its own leaves behind: events, records of its steps, a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sluiceway._types import MISSING
from sluiceway.engine._results import Tripped
from sluiceway.engine._step import Data

__all__ = ["EventType", "RunEvent", "RunStatus", "StepRecord", "StepStatus", "Suspension", "WorkflowResult"]

RunStatus: TypeAlias = Literal["success", "failed", "tripwire", "suspended", "cancelled", "running"]
"""How a run stands. `running` is only seen in a store: someone is at it, or was cut off."""

StepStatus: TypeAlias = Literal["running", "success", "failed", "tripwire", "suspended", "cancelled"]
"""How a step stands."""

EventType: TypeAlias = Literal["run-start", "step-start", "step-output", "step-suspended", "step-finish", "run-finish"]
"""`step-output` is what a step emitted while it ran; its output comes with `step-finish`."""


@dataclass(slots=True)
class StepRecord:
    """How one step of a run went; of a step in a loop, its last iteration.

    Args:
        path: Where it stands; items of a `foreach` have their index behind it.
        step_id: The step.
        status: How it stands.
        input: What went in; `MISSING` where a stored run could not keep it.
        output: What came out, or None.
        error: What it raised, where it failed.
        payload: What it suspended with.
        started: When it began.
        ended: When it ended, or None.
        attempt: The number of its last try, from 1.
        iteration: Of the innermost loop or `foreach`, from 1.
    """

    path: str
    step_id: str
    status: StepStatus = "running"
    input: Data = MISSING
    output: Data = None
    error: BaseException | None = None
    payload: Data = None
    started: datetime | None = None
    ended: datetime | None = None
    attempt: int = 1
    iteration: int = 1


@dataclass(frozen=True, slots=True)
class Suspension:
    """A step that waits to be resumed.

    Args:
        path: Where it stands; give it to `resume(step=…)` where several wait.
        step_id: The step.
        payload: What it suspended with.
        index: Which item of a `foreach` it is, from 0, or None.
    """

    path: str
    step_id: str
    payload: Data
    index: int | None = None


@dataclass(frozen=True, slots=True)
class WorkflowResult:
    """How a run of a workflow ended, or where it waits.

    Args:
        run_id: The run.
        status: How it stands.
        output: What the last entry gave, where it succeeded.
        error: What ended it, where it failed: a `RunError` that names the path.
        tripwire: What aborted it, where the status is `tripwire`.
        suspended: The steps that wait, where the status is `suspended`.
        steps: Path to record, in the order in which the steps began.
        state: The state of the run as it was last.
    """

    run_id: str
    status: RunStatus
    output: Data = None
    error: BaseException | None = None
    tripwire: Tripped | None = None
    suspended: tuple[Suspension, ...] = ()
    steps: Mapping[str, StepRecord] = field(default_factory=dict[str, StepRecord])
    state: Any = None


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something that happened in a run.

    Args:
        type: What happened.
        run_id: The run.
        path: Of the step, or the workflow's id.
        step_id: The step, or None.
        status: How the step or run ended, in `step-finish` and `run-finish`.
        data: The input in `run-start` and `step-start`, the output in `step-finish` and
            `run-finish`, what was emitted in `step-output`, the payload in `step-suspended`.
    """

    type: EventType
    run_id: str
    path: str
    step_id: str | None = None
    status: RunStatus | StepStatus | None = None
    data: Data = None
