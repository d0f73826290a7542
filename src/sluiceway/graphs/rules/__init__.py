"""The rules of `sluiceway check`, each keyed on hooks and effects."""

from sluiceway.graphs.rules._all import RULES
from sluiceway.graphs.rules._rule import Rule, View, found

__all__ = ["RULES", "Rule", "View", "found"]
