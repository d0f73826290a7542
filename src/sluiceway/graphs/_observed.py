"""One thing that a run says of a step, whatever form it comes in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sized
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sluiceway.engine import StepRecord
from sluiceway.processors import HookEvent

__all__ = ["Observed", "of_audit", "of_event", "of_record", "of_trip"]

_ITEMS: Final = re.compile(r"(?:\[\d+\])+$")
"""The indices behind the path of a step in a `foreach`."""
_STATUS: Final = {
    "success": "passed", "running": "passed", "failed": "error", "tripwire": "tripwire", "suspended": "suspended",
    "cancelled": "cancelled", "edited": "edited", "blocked": "tripwire", "not checked": "error",
    "passed": "passed", "flagged": "passed", "error": "error", "skipped": "passed",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Observed:
    """What a run says of one step.

    Args:
        name: The id of the step, or of a tool.
        path: Where it stands, or None where only the id is known.
        hook: The hook, `tool` for a call of a tool, or None outside of hooks.
        status: How it went, in the words of `NodeRun`.
        ms: How long it took, or None.
        span: When it began and ended, in seconds since 1970, or None.
        calls: How many calls are added up.
        edits: How much it changed.
        warnings: How often it reported something.
        reason: Why it ended the run, if it did.
    """

    name: str
    path: str | None
    hook: str | None
    status: str = "passed"
    ms: float | None = None
    span: tuple[float, float] | None = None
    calls: int = 1
    edits: int = 0
    warnings: int = 0
    reason: str = ""


def of_event(event: HookEvent | Mapping[str, Any]) -> Observed:
    """Read what an observer got, or a saved line of it."""
    given = event if isinstance(event, Mapping) else {name: getattr(event, name) for name in HookEvent.__slots__}
    return Observed(
        str(given.get("processor_id", "")),
        given.get("path"),
        given.get("hook"),
        _STATUS.get(str(given.get("outcome")), "passed"),
        ms=given.get("duration_ms"),
        calls=int(given.get("calls", 1)),
        edits=_count(given.get("edits")) + int(given.get("changed_chunks") or 0),
        warnings=_count(given.get("violations")),
    )


def of_record(record: StepRecord | Mapping[str, Any]) -> Observed:
    """Read how a step of a workflow went, or a saved line of it."""
    given = record if isinstance(record, Mapping) else {name: getattr(record, name) for name in StepRecord.__slots__}
    started, ended = _time(given.get("started")), _time(given.get("ended"))
    span = (started.timestamp(), ended.timestamp()) if started is not None and ended is not None else None
    path = str(given.get("path", ""))
    item = _ITEMS.search(path)
    inner = path[: item.start()] if item and not path.endswith("›") else path
    error = given.get("error")
    return Observed(
        str(given.get("step_id", "")),
        inner,
        None,
        _STATUS.get(str(given.get("status")), "passed"),
        ms=None if span is None else (span[1] - span[0]) * 1000,
        span=span,
        calls=1 if item else max(int(given.get("iteration", 1)), 1),
        reason="" if error is None else str(error),
    )


def of_audit(processor_id: str, hook: str, status: str) -> Observed:
    """Read an entry of an audit, which knows neither path nor time."""
    return Observed(
        processor_id,
        None,
        hook,
        _STATUS.get(status, "passed"),
        calls=0,
        edits=int(status == "edited"),
        warnings=int(status == "flagged"),
    )


def of_trip(processor_id: str | None, path: str | None, reason: str) -> Observed:
    """Read what ended a run early."""
    return Observed(processor_id or "", path, None, "tripwire", calls=0, reason=reason)


def _count(value: Any) -> int:
    if isinstance(value, (int, float)):
        return int(value)
    return len(value) if isinstance(value, Sized) else 0


def _time(value: Any) -> datetime | None:
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, datetime) else None
