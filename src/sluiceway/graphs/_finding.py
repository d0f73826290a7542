"""`Finding`: one thing that a check has to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Finding", "Severity"]

Severity: TypeAlias = Literal["error", "warning", "note"]
"""How much a finding weighs."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a graph that is likely not what was meant.

    Args:
        rule: The id of the rule, such as `SW101`.
        name: Its name, such as `edits-lost`.
        severity: `error`, `warning` or `note`.
        path: Where: the id of a node in the graph.
        why: What is wrong, and what comes of it.
        fix: What to do.
    """

    rule: str
    name: str
    severity: Severity
    path: str
    why: str
    fix: str

    def __str__(self) -> str:
        return f"{self.path}: {self.severity} {self.rule} {self.name}: {self.why}. {self.fix}."
