"""`RunLog`: the last runs, for the page. No value of a message is in it unless that is asked for."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from sluiceway.messages import Usage
from sluiceway.processors import HookEvent

__all__ = ["RunLog", "RunRecord", "RunState"]

RunState: TypeAlias = Literal["running", "passed", "edited", "tripwire", "error", "cancelled"]

_MOST_EVENTS: Final = 500
_BEHIND: Final = 256


@dataclass(slots=True)
class RunRecord:
    """What is known of a run.

    Args:
        id: The run.
        subject: The agent, or the workflow that was tried.
        via: The API it came by, or `trial`.
        model: What the client asked for.
        stream: Whether it was streamed.
        started: When it began.
        state: How it stands.
        seconds: How long it took, or None while it runs.
        first_s: How long the first piece took, or None.
        finish_reason: As in `Result`; `""` while it runs.
        usage: Tokens of all attempts.
        reason: Why a guardrail or an error ended it.
        place: Where that guardrail stands.
        retries: How often a step was tried again.
        events: What the hooks did, the first 500.
        left_out: How many more there were.
        workflow: The number of the workflow that was tried; 0: it was an agent.
        said: What the user said, where values are shown.
        answered: What was answered, likewise.
    """

    id: str
    subject: str
    via: str
    model: str = ""
    stream: bool = False
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    state: RunState = "running"
    seconds: float | None = None
    first_s: float | None = None
    finish_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    reason: str = ""
    place: str = ""
    retries: int = 0
    events: list[HookEvent] = field(default_factory=list[HookEvent])
    left_out: int = 0
    workflow: int = 0
    said: str | None = None
    answered: str | None = None
    _clock: float = field(default_factory=time.perf_counter)

    @property
    def elapsed_s(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self._clock

    @property
    def edits(self) -> int:
        """How much was changed: edits of messages, and chunks of a stream."""
        return sum(len(event.edits) + event.changed_chunks for event in self.events)

    @property
    def warnings(self) -> int:
        """How often a processor reported something."""
        return sum(len(event.violations) for event in self.events)


class RunLog:
    """The last runs, newest first.

    Args:
        kept: How many.
    """

    def __init__(self, kept: int = 100) -> None:
        self._kept = kept
        self._runs: OrderedDict[str, RunRecord] = OrderedDict()
        self._watchers: set[MemoryObjectSendStream[str]] = set()

    @property
    def watching(self) -> int:
        """How many read along."""
        return len(self._watchers)

    def __iter__(self) -> Iterator[RunRecord]:
        return reversed(self._runs.values())

    def get(self, run_id: str) -> RunRecord | None:
        """Return a run, or None where it is not kept."""
        return self._runs.get(run_id)

    def add(self, record: RunRecord) -> None:
        """Note that a run began."""
        self._runs[record.id] = record
        while len(self._runs) > self._kept:
            self._runs.popitem(last=False)
        self._tell(record)

    def hook(self, record: RunRecord, event: HookEvent) -> None:
        """Note what a hook did."""
        if len(record.events) < _MOST_EVENTS:
            record.events.append(event)
        else:
            record.left_out += 1
        record.retries = max(record.retries, event.attempt)
        self._tell(record)

    def end(self, record: RunRecord, state: RunState) -> None:
        """Note that a run ended. Again is nothing."""
        if record.state != "running":
            return
        record.seconds = record.elapsed_s
        record.state = "edited" if state == "passed" and record.edits else state
        self._tell(record)

    @contextmanager
    def watch(self) -> Generator[MemoryObjectReceiveStream[str]]:
        """Give the ids of runs that change; one who does not keep up misses some."""
        send, receive = anyio.create_memory_object_stream[str](_BEHIND)
        self._watchers.add(send)
        try:
            with send, receive:
                yield receive
        finally:
            self._watchers.discard(send)

    def _tell(self, record: RunRecord) -> None:
        for watcher in self._watchers:
            with suppress(anyio.WouldBlock):
                watcher.send_nowait(record.id)
