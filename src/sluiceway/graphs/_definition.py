"""What a workflow is before it is compiled."""

from __future__ import annotations

from dataclasses import dataclass

from sluiceway.graphs._entries import Entry
from sluiceway.graphs._types import WorkflowTypes

__all__ = ["Definition"]


@dataclass(frozen=True, slots=True)
class Definition:
    """A name, entries and declared types."""

    id: str
    types: WorkflowTypes
    entries: tuple[Entry, ...] = ()
    description: str = ""
