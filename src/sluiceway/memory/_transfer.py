"""Threads as JSON lines, out of one store and into another."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from sluiceway.errors import StorageError
from sluiceway.memory._codec import dumps
from sluiceway.memory._port import (
    MemoryStore,
    MessageRow,
    Resource,
    Thread,
    Turn,
    WorkingChange,
    WorkingScope,
    checked_id,
    clean_text,
)

__all__ = ["export_lines", "import_lines"]

_PAGE: Final = 500


async def export_lines(
    store: MemoryStore, *, thread: str | None = None, resource: str | None = None
) -> AsyncGenerator[str]:
    """Give resources, threads, messages and working memories as JSON lines, threads one after the other."""
    seen: set[str] = set()
    async for found in _threads(store, thread, resource):
        owner = found.resource_id
        if owner is not None and owner not in seen:
            seen.add(owner)
            known = await store.resource(owner)
            if known is not None:
                yield _line({"type": "resource", **_times(known), "id": owner, "metadata": dict(known.metadata)})
            text = await store.working("resource", owner)
            if text is not None:
                yield _line({"type": "working", "scope": "resource", "owner": owner, "document": text})
        yield _line(
            {
                "type": "thread",
                "id": found.id,
                "resource_id": owner,
                **_times(found),
                "title": found.title,
                "metadata": dict(found.metadata),
            }
        )
        text = await store.working("thread", found.id)
        if text is not None:
            yield _line({"type": "working", "scope": "thread", "owner": found.id, "document": text})
        for row in await store.newest(found.id):
            yield _line(
                {
                    "type": "message",
                    "thread_id": row.thread_id,
                    "id": row.id,
                    "role": row.role,
                    "created_at": row.created_at.isoformat(),
                    "document": json.loads(row.document),
                }
            )


async def _threads(store: MemoryStore, thread: str | None, resource: str | None) -> AsyncGenerator[Thread]:
    if thread is not None:
        found = await store.thread(thread)
        if found is not None and resource in (None, found.resource_id):
            yield found
        return
    offset = 0
    while page := await store.threads(resource, limit=_PAGE, offset=offset):
        for found in page:
            yield found
        offset += len(page)


def _line(fields: Mapping[str, Any]) -> str:
    """Return JSON on one line, also for a reader that ends lines where Unicode does."""
    line = dumps(fields)
    if line.isascii():
        return line
    return line.replace("\u0085", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _times(thing: Thread | Resource) -> dict[str, str]:
    return {"created_at": thing.created_at.isoformat(), "updated_at": thing.updated_at.isoformat()}


async def import_lines(store: MemoryStore, lines: Iterable[str], index: str | None = None) -> int:
    """Take in what `export_lines` gave; a thread is saved whole, in one transaction.

    Args:
        store: Where to.
        lines: JSON lines; empty ones are skipped.
        index: The vector index that the texts are to be queued for, or None.

    Returns:
        How many messages there were.

    Raises:
        StorageError: A line that cannot be read, which is named, or a thread of another resource.
    """
    batch: _Batch | None = None
    count = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            item = _item(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError, StorageError) as error:
            raise StorageError(f"line {number} is no line of an export: {type(error).__name__}: {error}") from error
        if isinstance(item, MessageRow):
            if batch is None or item.thread_id != batch.thread.id:
                raise StorageError(f"line {number}: the message {item.id!r} does not follow its thread")
            batch.rows.append(item)
            count += 1
        elif isinstance(item, Thread):
            await _save(store, batch, index)
            batch = _Batch(item)
        elif isinstance(item, Resource):
            await store.save_resource(item)
        elif item.scope == "resource":
            await store.change_working(item)
        elif batch is None or item.owner != batch.thread.id:
            raise StorageError(f"line {number}: the working memory of {item.owner!r} does not follow its thread")
        else:
            batch.working.append(item)
    await _save(store, batch, index)
    return count


@dataclass(slots=True)
class _Batch:
    """A thread with all that is saved along with it."""

    thread: Thread
    rows: list[MessageRow] = field(default_factory=list[MessageRow])
    working: list[WorkingChange] = field(default_factory=list[WorkingChange])


async def _save(store: MemoryStore, batch: _Batch | None, index: str | None) -> None:
    if batch is None:
        return
    thread, rows = batch.thread, batch.rows
    pending = [(index, row.id) for row in rows if row.role != "signal"] if index is not None else []
    await store.save_turn(
        Turn(thread.id, thread.resource_id, thread.updated_at, rows, pending, batch.working, thread=thread)
    )


def _item(fields: Any) -> MessageRow | Thread | Resource | WorkingChange:
    if not isinstance(fields, Mapping):
        raise TypeError("a line holds a JSON object")
    given = cast("Mapping[str, Any]", fields)
    kind = given["type"]
    if kind == "message":
        return MessageRow(
            given["thread_id"],
            checked_id("the message id", given["id"]),
            _one_of(given["role"], "user", "assistant", "signal"),
            _time(given["created_at"]),
            dumps(_object(given["document"])),
        )
    if kind == "thread":
        return Thread(
            checked_id("the thread id", given["id"]),
            None if given["resource_id"] is None else checked_id("the resource id", given["resource_id"]),
            _time(given["created_at"]),
            _time(given["updated_at"]),
            None if given.get("title") is None else _text(given["title"]),
            _object(given.get("metadata") or {}),
        )
    if kind == "resource":
        times = _time(given["created_at"]), _time(given["updated_at"])
        return Resource(checked_id("the resource id", given["id"]), _object(given.get("metadata") or {}), *times)
    if kind == "working":
        scope, document = _one_of(given["scope"], "resource", "thread"), clean_text(_text(given["document"]))
        return WorkingChange(cast("WorkingScope", scope), checked_id("the owner", given["owner"]), lambda _: document)
    raise ValueError(f"unknown type {kind!r}")


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is no JSON object")
    return cast("Mapping[str, Any]", value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _one_of(value: Any, *allowed: str) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(allowed)}")
    return value


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment
