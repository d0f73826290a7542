"""What a benchmark says: a figure, its target, and whether missing it by far is a fault."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["FULL", "GROWN", "SHORT", "Benchmark", "Row", "Size", "growth", "ratio", "time"]

Unit: TypeAlias = Literal["×", "µs", "ms", "MB/s", "KB"]


@dataclass(frozen=True)
class Size:
    """How much work a run does.

    Args:
        n: Chunks of a stream.
        rounds: Rounds of which the least counts.
        calls: Calls in a row where one takes well under a millisecond.
    """

    n: int
    rounds: int
    calls: int


FULL = Size(n=20_000, rounds=9, calls=400)
SHORT = Size(n=4_000, rounds=5, calls=100)


@dataclass(frozen=True)
class Row:
    """One figure.

    Args:
        name: What was measured.
        against: What with.
        value: The figure, in `unit`.
        target: What it should be at most (at least, if `at_least`).
        limit: Beyond this the program fails; None: never.
        at_least: Whether more is better.
        details: Figures behind it, each with its unit in its name.
        curve: Of a growth: what it costs at each size, for the plot.
    """

    name: str
    against: str
    value: float
    unit: Unit
    target: float
    limit: float | None = None
    at_least: bool = False
    details: Mapping[str, float] = field(default_factory=dict[str, float])
    curve: Sequence[tuple[int, float]] = ()

    @property
    def reached(self) -> bool:
        """Whether the target is met."""
        return self.value >= self.target if self.at_least else self.value <= self.target

    @property
    def failed(self) -> bool:
        """Whether the limit is passed."""
        if self.limit is None:
            return False
        return self.value < self.limit if self.at_least else self.value > self.limit


GROWN = "2n against n"
"""What a growth is measured against."""

Benchmark: TypeAlias = Callable[[Size], Awaitable[list[Row]]]


def ratio(name: str, against: str, value: float, target: float, *, limit: float | None = None, **details: float) -> Row:
    """A ratio to other code; more than the limit, by default twice the target, is a fault."""
    return Row(name, against, value, "×", target, limit=limit or 2 * target, details=details)


def time(name: str, value: float, unit: Unit, target: float, **details: float) -> Row:
    """A time on this machine; never a fault."""
    return Row(name, "on this machine", value, unit, target, details=details)


def growth(name: str, curve: Sequence[tuple[int, float]], unit: Unit) -> Row:
    """Cost at 2n over cost at n, the two largest sizes; what grows faster than n log n is a fault.

    Args:
        name: What was measured.
        curve: Sizes, each twice the one before, and what each costs.
        unit: What the cost is in.
    """
    (_, once), (_, twice) = curve[-2:]
    suffix = {"µs": "us", "MB/s": "mb_per_s"}.get(unit, unit.lower())
    details = {f"n_{suffix}": once, f"twice_n_{suffix}": twice}
    return Row(name, GROWN, twice / once, "×", 2.3, limit=3.0, details=details, curve=curve)
