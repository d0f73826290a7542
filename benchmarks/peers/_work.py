"""What is compared, and how much of it one round does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from benchmarks._measure import Work

__all__ = ["CALLS", "CHUNKS", "FANS", "HOOKS", "TASKS", "WORDS", "Peer", "Task"]

Task: TypeAlias = Literal["call", "chunk", "fan-out", "workflow"]

TASKS: Mapping[Task, str] = {
    "call": "a call with 10 + 10 hooks that do nothing",
    "chunk": "a streamed chunk past 5 hooks",
    "fan-out": "3 steps side by side and their join",
    "workflow": "a chunk through a workflow of 5 steps",
}
CALLS, CHUNKS, FANS = 20, 500, 50
"""Calls, chunks and fan-outs in one round."""
HOOKS = 5
WORDS = [f"{number:04d} " for number in range(CHUNKS)]


@dataclass(frozen=True)
class Peer:
    """One library.

    Args:
        name: Its name.
        packages: What its version is told by.
        works: What a round of each kind of work is, and how many pieces it has; missing where the
            library has nothing like it.
        notes: How the work is done there, or why not.
    """

    name: str
    packages: tuple[str, ...]
    works: Mapping[Task, tuple[Work, int]]
    notes: Mapping[Task, str]
