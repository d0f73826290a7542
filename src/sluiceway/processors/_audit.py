"""`AuditTrail`: every edit and verdict of a run as an event, for a callback, a file and traces."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from io import FileIO
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from sluiceway.engine import AuditStatus, clock
from sluiceway.errors import ConfigurationError
from sluiceway.messages import ListEdit
from sluiceway.processors._events import HookEvent, Observer
from sluiceway.processors._results import Violation

__all__ = ["AuditEvent", "AuditTrail"]

OnEvent: TypeAlias = Callable[["AuditEvent"], None]

_SCOPE: Final = "sluiceway"
_TOLD: Final = (
    "path",
    "score",
    "language",
    "target_languages",
    "surfaces",
    "texts",
    "errors",
    "types",
    "usage",
    "limit",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One edit or verdict.

    Args:
        time: When the hook ended.
        run_id: The run.
        processor_id: The processor.
        path: Where it stands, such as `moderation › processor:pii-detector`.
        hook: The hook.
        step_number: The step, or None before the first.
        attempt: How often the step had been tried again before.
        status: What became of it.
        rule: The rule that found something, or None.
        message_id: The message, where one was edited.
        part: The index of its part, where one was edited.
        offset: Where in the text; None where it is not about a place.
        length: How many characters, as they were.
        reason: Why, in a line; None where there is nothing to say.
        detail: What else there is: numbers and names, and values only if they were asked for.
    """

    time: datetime
    run_id: str
    processor_id: str
    path: str
    hook: str
    step_number: int | None
    attempt: int
    status: AuditStatus
    rule: str | None = None
    message_id: str | None = None
    part: int | None = None
    offset: int | None = None
    length: int | None = None
    reason: str | None = None
    detail: Mapping[str, Any] | None = None


class AuditTrail:
    """Tells what the processors of a run did and did not do. An observer: `generate(..., observer=trail)`.

    May serve any number of runs and threads at once. An event never has a value of a message,
    unless a processor was told to report values and `values` is set here too. What a callback
    or the file raises is logged, and the run goes on.

    Where the program has set up OpenTelemetry, each hook that ran is a span `sluiceway.<hook>`
    with an event per audit event.

    Args:
        on_event: Called for each event.
        path: A file that gets a line of JSON per event, at its end; it is made if it is not
            there, for its owner only, and made anew where it was moved away, as log rotation does.
        values: Whether values may be told that processors report.
        passed: Whether hooks that found nothing are told too.
        also: Another observer, called first.

    Raises:
        ConfigurationError: `on_event` or `also` that cannot be called.

    Examples:
        >>> events = []
        >>> trail = AuditTrail(events.append)
    """

    def __init__(
        self,
        on_event: OnEvent | None = None,
        *,
        path: str | Path | None = None,
        values: bool = False,
        passed: bool = True,
        also: Observer | None = None,
    ) -> None:
        for name, fn in (("on_event", on_event), ("also", also)):
            if fn is not None and not callable(fn):
                raise ConfigurationError(f"AuditTrail: {name}={fn!r} is not allowed; give a function, or None")
        self._on_event = on_event
        self._path = None if path is None else Path(path).expanduser()
        self._values = values
        self._passed = passed
        self._also = also
        self._lock = threading.Lock()
        self._file: FileIO | None = None
        self._torn = False
        """Whether the last line was written in part."""

    def __call__(self, event: HookEvent) -> None:
        """Take what a hook did."""
        events = list(self._events(event))
        with ExitStack() as told:  # all are told, the last one put on it first, whatever another raises
            if self._on_event is not None:
                for one in reversed(events):
                    told.callback(self._on_event, one)
            if self._path is not None and events:
                told.callback(self._write, self._path, events)
            told.callback(_trace, event, events)
            if self._also is not None:
                told.callback(self._also, event)

    def close(self) -> None:
        """Close the file; a later event opens it again."""
        with self._lock:
            self._close()

    def __enter__(self) -> AuditTrail:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- reading an event

    def _events(self, event: HookEvent) -> Iterator[AuditEvent]:
        found = list(self._found(event))
        if not found and self._passed and event.outcome == "passed":
            found.append({"status": "passed"})
        fields: Any
        for fields in found:
            yield AuditEvent(
                time=clock().now(),
                run_id=event.run_id,
                processor_id=event.processor_id,
                path=event.path,
                hook=event.hook,
                step_number=event.step_number,
                attempt=event.attempt,
                **fields,
            )

    def _found(self, event: HookEvent) -> Iterator[dict[str, Any]]:
        for note in event.notes:
            if note.status != "passed" or self._passed:
                detail: Any = note.detail
                reason = _mapping(detail).get("reason") if isinstance(detail, Mapping) else None
                yield {"status": note.status, "reason": reason, "detail": self._plain(detail)}
        for violation in event.violations:
            yield from self._verdict("flagged", violation)
        for edit in event.edits:
            yield _edited(edit)
        if event.changed_chunks:
            yield {"status": "edited", "detail": {"chunks": event.changed_chunks}}
        if event.trip is not None:
            yield from self._verdict("blocked", event.trip)
        elif event.outcome == "error":
            yield {"status": "not checked", "reason": "the hook raised"}

    def _verdict(self, status: str, violation: Violation) -> Iterator[dict[str, Any]]:
        detail: Any = violation.detail
        entries: Any = _mapping(detail).get("detections") if isinstance(detail, Mapping) else detail
        found = [_mapping(entry) for entry in _listed(entries) if isinstance(entry, Mapping)]
        for entry in found:
            yield {
                "status": status,
                "reason": violation.message,
                "rule": entry.get("rule"),
                "offset": entry.get("offset"),
                "length": entry.get("length"),
                "detail": self._plain(entry),
            }
        if not found:
            yield {"status": status, "reason": violation.message, "detail": self._plain(detail)}

    def _plain(self, detail: Any) -> dict[str, Any] | None:
        """Return what of a detail is known to hold no value of a message."""
        if not isinstance(detail, Mapping):
            return None
        known = _mapping(detail)
        kept = {key: known[key] for key in _TOLD if key in known}
        if self._values and "value" in known:
            kept["value"] = known["value"]
        return kept or None

    # -- telling

    def _write(self, path: Path, events: Sequence[AuditEvent]) -> None:
        lines = "".join(json.dumps(asdict(event), default=str) + "\n" for event in events)
        with self._lock:
            file = self._opened(path)
            rest = memoryview((b"\n" if self._torn else b"") + lines.encode())
            while rest:  # a disk that is full takes a part of it, and then raises
                written = file.write(rest)
                rest = rest[written:]
                self._torn = bool(rest)

    def _opened(self, path: Path) -> FileIO:
        """Return the file, which may have been moved away meanwhile."""
        if self._file is not None:
            here = os.fstat(self._file.fileno())
            try:
                moved = not os.path.samestat(here, path.stat())
            except FileNotFoundError:
                moved = True
            if moved:
                self._close()
        if self._file is None:
            path.touch(mode=0o600)
            self._file, self._torn = FileIO(path, "a"), False
        return self._file

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _edited(edit: ListEdit) -> dict[str, Any]:
    detail = {"action": edit.action, "new_length": edit.length, **({"what": edit.what} if edit.what else {})}
    return {
        "status": "edited",
        "message_id": edit.message_id,
        "part": edit.part,
        "offset": edit.start,
        "length": edit.end - edit.start,
        "detail": detail,
    }


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value)


def _listed(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()


def _trace(event: HookEvent, events: Sequence[AuditEvent]) -> None:
    """Make a span of a hook, if the program has set up OpenTelemetry."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return
    ended_ns = int(clock().now().timestamp() * 1e9)
    started_ns = ended_ns - int(event.duration_ms * 1e6)
    span = trace.get_tracer(_SCOPE).start_span(f"{_SCOPE}.{event.hook}", start_time=started_ns)
    if span.is_recording():
        given = {
            "run_id": event.run_id,
            "processor_id": event.processor_id,
            "path": event.path,
            "step_number": event.step_number,
            "attempt": event.attempt,
            "outcome": event.outcome,
        }
        span.set_attributes({f"{_SCOPE}.{key}": value for key, value in given.items() if value is not None})
        for one in events:
            kept = ("rule", "message_id", "part", "offset", "length", "reason")
            said = {name: getattr(one, name) for name in kept}
            span.add_event(one.status, {name: value for name, value in said.items() if value is not None})
    span.end(end_time=ended_ns)
