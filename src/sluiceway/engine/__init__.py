"""The engine: it runs steps over data that can fork and merge, and knows nothing else."""

from sluiceway.engine._clock import Clock, clock, use_clock
from sluiceway.engine._context import RunWriter, StepContext
from sluiceway.engine._events import WorkflowStream
from sluiceway.engine._fan import Outcome, fan_out, raise_first, unwrapped
from sluiceway.engine._merge import Merge, merge
from sluiceway.engine._owned import Mailbox, Owned, loop_is_running, to_the_end
from sluiceway.engine._plan import (
    Arm,
    Call,
    Choice,
    Condition,
    ForEach,
    Loop,
    Map,
    Node,
    Parallel,
    Plan,
    Sleep,
    Sub,
    Wait,
    calls,
    flatten,
    nodes,
    prune,
)
from sluiceway.engine._records import (
    EventType,
    RunEvent,
    RunStatus,
    StepRecord,
    StepStatus,
    Suspension,
    WorkflowResult,
)
from sluiceway.engine._results import (
    AuditEntry,
    AuditStatus,
    Response,
    Result,
    StepResult,
    ToolCall,
    ToolOutcome,
    Tripped,
)
from sluiceway.engine._retry import backoff_s, guarded, located, may_retry, with_timeout
from sluiceway.engine._run import choose, run_node, run_plan
from sluiceway.engine._runs import RunControl, RunRequest
from sluiceway.engine._runs import load as load_workflow
from sluiceway.engine._runs import resume as resume_workflow
from sluiceway.engine._runs import start as start_workflow
from sluiceway.engine._spec import FlowSpec
from sluiceway.engine._step import PLAIN, AnyScope, Data, Forkable, OnError, Scope, Step, StepOptions
from sluiceway.engine._store import Claim, RunStore, StoredRun
from sluiceway.engine._typed import TypeCheck
from sluiceway.engine._waiting import Resume

__all__ = [
    "PLAIN",
    "AnyScope",
    "Arm",
    "AuditEntry",
    "AuditStatus",
    "Call",
    "Choice",
    "Claim",
    "Clock",
    "Condition",
    "Data",
    "EventType",
    "FlowSpec",
    "ForEach",
    "Forkable",
    "Loop",
    "Mailbox",
    "Map",
    "Merge",
    "Node",
    "OnError",
    "Outcome",
    "Owned",
    "Parallel",
    "Plan",
    "Response",
    "Result",
    "Resume",
    "RunControl",
    "RunEvent",
    "RunRequest",
    "RunStatus",
    "RunStore",
    "RunWriter",
    "Scope",
    "Sleep",
    "Step",
    "StepContext",
    "StepOptions",
    "StepRecord",
    "StepResult",
    "StepStatus",
    "StoredRun",
    "Sub",
    "Suspension",
    "ToolCall",
    "ToolOutcome",
    "Tripped",
    "TypeCheck",
    "Wait",
    "WorkflowResult",
    "WorkflowStream",
    "backoff_s",
    "calls",
    "choose",
    "clock",
    "fan_out",
    "flatten",
    "guarded",
    "load_workflow",
    "located",
    "loop_is_running",
    "may_retry",
    "merge",
    "nodes",
    "prune",
    "raise_first",
    "resume_workflow",
    "run_node",
    "run_plan",
    "start_workflow",
    "to_the_end",
    "unwrapped",
    "use_clock",
    "with_timeout",
]
