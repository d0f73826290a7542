"""What a workflow is written as: one entry per call of the builder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sluiceway.engine import Merge, Wait

__all__ = [
    "BranchEntry",
    "Entry",
    "ForEachEntry",
    "LoopEntry",
    "MapEntry",
    "ParallelEntry",
    "SleepEntry",
    "ThenEntry",
]


@dataclass(frozen=True, slots=True)
class ThenEntry:
    """`.then(step)`."""

    thing: object


@dataclass(frozen=True, slots=True)
class ParallelEntry:
    """`.parallel([…])`."""

    things: object
    wait: Wait


@dataclass(frozen=True, slots=True)
class MapEntry:
    """`.map(…)`: a function, the key of a branch, or a merge."""

    how: Callable[..., Any] | str | Merge


@dataclass(frozen=True, slots=True)
class BranchEntry:
    """`.branch([(condition, step), …], default=…)`."""

    arms: object
    default: object | None


@dataclass(frozen=True, slots=True)
class ForEachEntry:
    """`.foreach(step, concurrency=…)`."""

    thing: object
    concurrency: int | Callable[..., Any]


@dataclass(frozen=True, slots=True)
class LoopEntry:
    """`.do_while(step, condition)` or `.do_until(step, condition)`."""

    thing: object
    condition: Callable[..., Any]
    until: bool
    max_iterations: int


@dataclass(frozen=True, slots=True)
class SleepEntry:
    """`.sleep(seconds)`."""

    seconds: float


Entry: TypeAlias = ThenEntry | ParallelEntry | MapEntry | BranchEntry | ForEachEntry | LoopEntry | SleepEntry
