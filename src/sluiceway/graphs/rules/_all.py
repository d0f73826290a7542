"""All the rules, in the order of their ids."""

from __future__ import annotations

from typing import Final

from sluiceway.graphs.rules._branches import EDITS_LOST, UNREACHABLE_BRANCH, WRITES_COLLIDE
from sluiceway.graphs.rules._order import (
    HEAVY_ON_EVERY_CHUNK,
    LEAK_BEFORE_REDACTION,
    LIMIT_BEFORE_FILTER,
    MEMORY_AFTER_GUARD,
)
from sluiceway.graphs.rules._rule import Rule
from sluiceway.graphs.rules._runs import (
    ASKS_WITHOUT_BUDGET,
    CHECKED_AFTER_DELIVERY,
    FAILS_OPEN,
    HOOK_NEVER_RUNS,
)

__all__ = ["RULES"]

RULES: Final[tuple[Rule, ...]] = (
    EDITS_LOST,
    WRITES_COLLIDE,
    LEAK_BEFORE_REDACTION,
    LIMIT_BEFORE_FILTER,
    HEAVY_ON_EVERY_CHUNK,
    HOOK_NEVER_RUNS,
    ASKS_WITHOUT_BUDGET,
    UNREACHABLE_BRANCH,
    MEMORY_AFTER_GUARD,
    FAILS_OPEN,
    CHECKED_AFTER_DELIVERY,
)
"""All rules, by id."""
