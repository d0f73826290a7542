"""Times and threads as columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sluiceway.memory._codec import dumps
from sluiceway.memory._port import MessageRow, Resource, Thread
from sluiceway.messages import jsonable

__all__ = ["from_us", "message_of", "metadata_text", "resource_of", "thread_of", "to_us"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = timedelta(microseconds=1)


def to_us(moment: datetime) -> int:
    """Return a time as microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _US


def from_us(value: int) -> datetime:
    """Return the time, in UTC."""
    return _EPOCH + timedelta(microseconds=value)


def metadata_text(metadata: Mapping[str, Any]) -> str:
    """Return metadata as JSON text.

    Raises:
        MessageError: It is nested too deep.
    """
    return dumps(jsonable(metadata))


def thread_of(row: Sequence[Any]) -> Thread:
    """Return a thread from `id, resource_id, created_at, updated_at, title, metadata`."""
    return Thread(row[0], row[1], from_us(row[2]), from_us(row[3]), row[4], json.loads(row[5]))


def resource_of(row: Sequence[Any]) -> Resource:
    """Return a resource from `id, metadata, created_at, updated_at`."""
    return Resource(row[0], json.loads(row[1]), from_us(row[2]), from_us(row[3]))


def message_of(row: Sequence[Any]) -> MessageRow:
    """Return a message from `thread_id, id, role, created_at, document, position`."""
    return MessageRow(row[0], row[1], row[2], from_us(row[3]), row[4], row[5])
