"""What a run tells an observer about its hooks. Never a value of a message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sluiceway.engine import AuditEntry
from sluiceway.messages import ListEdit
from sluiceway.processors._protocols import HookName
from sluiceway.processors._results import Violation

__all__ = ["HookEvent", "HookOutcome", "Observer"]

HookOutcome: TypeAlias = Literal["passed", "edited", "tripwire", "error"]


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One call of a hook; for the stream hook, all its calls of one attempt added up.

    Args:
        run_id: The run.
        hook: The hook.
        processor_id: The processor.
        path: Where it stands, such as `moderation › processor:pii-detector`.
        step_number: The step, or None before the first.
        attempt: How often the step had been tried again before this.
        outcome: How it ended.
        duration_ms: How long it took.
        calls: How many calls are added up.
        edits: What it changed in the messages: offsets and lengths.
        changed_chunks: How many chunks of the stream it changed, dropped or added.
        violations: What it reported.
        notes: What else it put into the audit, such as `not checked`.
        trip: Why it ended the run, where it did.
    """

    run_id: str
    hook: HookName
    processor_id: str
    path: str
    step_number: int | None
    attempt: int
    outcome: HookOutcome
    duration_ms: float
    calls: int = 1
    edits: tuple[ListEdit, ...] = ()
    changed_chunks: int = 0
    violations: tuple[Violation, ...] = field(default=())
    notes: tuple[AuditEntry, ...] = ()
    trip: Violation | None = None


Observer: TypeAlias = Callable[[HookEvent], None]
"""Called with an event for every hook that ran."""
