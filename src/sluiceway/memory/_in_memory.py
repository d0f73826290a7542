"""`InMemoryStore`: memory that is gone when the process ends."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

from sluiceway.memory._port import (
    MessageKey,
    MessageRow,
    Resource,
    Thread,
    Turn,
    WorkingChange,
    WorkingScope,
    clean_text,
    foreign_thread,
    lost_lease,
)
from sluiceway.memory._rows import metadata_text

__all__ = ["InMemoryStore"]


class InMemoryStore:
    """Memory in this process: for tests and first steps.

    Behaves as the stores with a database do. Safe from any number of tasks and threads.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._threads: dict[str, Thread] = {}
        self._messages: dict[str, dict[str, MessageRow]] = {}
        self._resources: dict[str, Resource] = {}
        self._working: dict[tuple[WorkingScope, str], str] = {}
        self._pending: dict[tuple[str, str, str], None] = {}
        self._leases: dict[str, tuple[str, float]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: Any) -> None:
        return None

    async def aclose(self) -> None:
        """Do nothing: there is nothing to let go of."""

    # threads and resources

    async def thread(self, thread_id: str) -> Thread | None:
        """Return a thread, or None."""
        return self._threads.get(thread_id)

    async def threads(self, resource_id: str | None = None, *, limit: int = 100, offset: int = 0) -> list[Thread]:
        """Return the threads of a resource, or all, the one with the newest turn first."""
        with self._lock:
            found = [t for t in self._threads.values() if resource_id is None or t.resource_id == resource_id]
        found.sort(key=lambda thread: thread.id)
        found.sort(key=lambda thread: thread.updated_at, reverse=True)
        return found[offset : offset + limit]

    async def save_thread(self, thread: Thread) -> None:
        """Make a thread, or replace the title and metadata of one; its owner stays."""
        with self._lock:
            self._put_thread(thread, self._own(thread.id, thread.resource_id))

    async def delete_thread(self, thread_id: str) -> bool:
        """Delete a thread with all that hangs on it; say whether there was one."""
        with self._lock:
            self._working.pop(("thread", thread_id), None)
            self._forget([row.key for row in self._rows(thread_id)])
            self._messages.pop(thread_id, None)
            return self._threads.pop(thread_id, None) is not None

    async def resource(self, resource_id: str) -> Resource | None:
        """Return a resource, or None."""
        return self._resources.get(resource_id)

    async def save_resource(self, resource: Resource) -> None:
        """Make a resource, or replace the metadata of one."""
        with self._lock:
            known = self._resources.get(resource.id)
            created = resource.created_at if known is None else known.created_at
            self._resources[resource.id] = replace(
                resource, metadata=json.loads(metadata_text(resource.metadata)), created_at=created
            )

    # messages

    async def newest(self, thread_id: str, count: int | None = None, *, before: str | None = None) -> list[MessageRow]:
        """Return the newest messages of a thread, oldest first; signals are not counted."""
        with self._lock:
            rows = self._rows(thread_id)
        if before is not None:
            cut = next((i for i, row in enumerate(rows) if row.id == before), 0)
            rows = rows[:cut]
        if count is None:
            return rows
        if count <= 0:
            return []
        counted = [i for i, row in enumerate(rows) if row.role != "signal"]
        return rows[counted[-count] :] if len(counted) >= count else rows

    async def around(self, thread_id: str, ids: Collection[str], before: int, after: int) -> list[MessageRow]:
        """Return messages of a thread with neighbours, in order, each once; no signals."""
        with self._lock:
            rows = [row for row in self._rows(thread_id) if row.role != "signal"]
        wanted: set[int] = set()
        for index, row in enumerate(rows):
            if row.id in ids:
                wanted.update(range(max(0, index - before), min(len(rows), index + after + 1)))
        return [rows[index] for index in sorted(wanted)]

    async def find(self, ids: Collection[str], thread_id: str | None = None) -> list[MessageRow]:
        """Return the messages with these ids, of one thread or of all."""
        wanted = set(ids)
        with self._lock:
            places = sorted(self._messages) if thread_id is None else [thread_id]
            return [row for place in places for row in self._rows(place) if row.id in wanted]

    async def delete_messages(self, keys: Collection[MessageKey]) -> int:
        """Delete messages; return how many there were."""
        with self._lock:
            there = {key for key in keys if key[1] in self._messages.get(key[0], {})}
            for thread_id, message_id in there:
                del self._messages[thread_id][message_id]
            self._forget(there)
            return len(there)

    async def save_turn(self, turn: Turn) -> None:
        """Save a turn, wholly or not at all."""
        with self._lock:
            if turn.lease is not None and self._leases.get(turn.thread_id, ("", 0.0))[0] != turn.lease:
                raise lost_lease(turn.thread_id)
            known = self._own(turn.thread_id, turn.resource_id)
            working = dict(self._working)
            for change in turn.working:
                self._change(working, change)
            self._working = working
            self._put(turn, known)
            if turn.lease is not None and turn.release:
                del self._leases[turn.thread_id]

    # working memory

    async def working(self, scope: WorkingScope, owner: str) -> str | None:
        """Return a working memory, or None where there is none yet."""
        return self._working.get((scope, owner))

    async def change_working(self, change: WorkingChange) -> str | None:
        """Change a working memory; return it as it stands then."""
        with self._lock:
            return self._change(self._working, change)

    # texts to be embedded

    async def pending(self, index: str, resource_id: str | None, limit: int) -> list[MessageRow]:
        """Return messages of a resource's threads that are still to be embedded, oldest first."""
        with self._lock:
            found = [
                self._messages[thread_id][message_id]
                for name, thread_id, message_id in self._pending
                if name == index and self._threads[thread_id].resource_id == resource_id
            ]
        found.sort(key=lambda row: (row.created_at, row.thread_id, row.position))
        return found[:limit]

    async def clear_pending(self, index: str, keys: Collection[MessageKey]) -> None:
        """Note that messages are embedded."""
        with self._lock:
            for thread_id, message_id in keys:
                self._pending.pop((index, thread_id, message_id), None)

    # leases

    async def acquire(self, thread_id: str, token: str, lease_s: float) -> bool:
        """Take the lease of a thread, or hold one's own for longer; False: another has it."""
        with self._lock:
            now = time.time()
            held = self._leases.get(thread_id)
            if held is not None and held[0] != token and held[1] > now:
                return False
            self._leases[thread_id] = (token, now + lease_s)
            return True

    async def renew(self, thread_id: str, token: str, lease_s: float) -> bool:
        """Hold a lease for longer; False: it is no longer one's own."""
        with self._lock:
            if self._leases.get(thread_id, ("", 0.0))[0] != token:
                return False
            self._leases[thread_id] = (token, time.time() + lease_s)
            return True

    async def release(self, thread_id: str, token: str) -> None:
        """Give a lease back."""
        with self._lock:
            if self._leases.get(thread_id, ("", 0.0))[0] == token:
                del self._leases[thread_id]

    # what the methods share; the lock is held

    def _rows(self, thread_id: str) -> list[MessageRow]:
        return sorted(self._messages.get(thread_id, {}).values(), key=lambda row: row.position)

    def _own(self, thread_id: str, resource_id: str | None) -> Thread | None:
        known = self._threads.get(thread_id)
        if known is not None and known.resource_id != resource_id:
            raise foreign_thread(thread_id)
        return known

    def _put_thread(self, thread: Thread, known: Thread | None) -> Thread:
        created = thread.created_at if known is None else known.created_at
        title = None if thread.title is None else clean_text(thread.title)
        metadata = json.loads(metadata_text(thread.metadata))
        put = replace(thread, created_at=created, title=title, metadata=metadata)
        self._threads[thread.id] = put
        return put

    def _put(self, turn: Turn, known: Thread | None) -> None:
        if turn.thread is not None:
            known = self._put_thread(turn.thread, known)
        if not turn.rows:
            return
        thread_id = turn.thread_id
        fresh = known or Thread(thread_id, turn.resource_id, turn.now, turn.now)
        self._threads[thread_id] = replace(fresh, updated_at=turn.now)
        rows = self._messages.setdefault(thread_id, {})
        last = max((row.position for row in rows.values()), default=0)
        for row in turn.rows:
            old = rows.get(row.id)
            if old is None:
                last += 1
                rows[row.id] = replace(row, thread_id=thread_id, position=last)
            else:
                rows[row.id] = replace(old, role=row.role, document=row.document)
        for index, message_id in turn.pending:
            self._pending[index, thread_id, message_id] = None

    def _forget(self, keys: Collection[MessageKey]) -> None:
        gone = set(keys)
        self._pending = {entry: None for entry in self._pending if entry[1:] not in gone}

    @staticmethod
    def _change(working: dict[tuple[WorkingScope, str], str], change: WorkingChange) -> str | None:
        key = (change.scope, change.owner)
        text = working.get(key)
        new = change.change(text)
        if new is not None:
            working[key] = new
        return text if new is None else new
