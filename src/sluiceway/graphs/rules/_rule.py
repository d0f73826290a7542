"""What a rule is, and the questions that rules ask of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from sluiceway.graphs._finding import Finding, Severity
from sluiceway.graphs._sketch import ROOT, Group, Node, Sketch
from sluiceway.processors import HOOKS_OF, Effects

__all__ = ["Place", "Rule", "View", "found"]

Place = tuple[tuple[str, int], ...]
"""The groups around a node from the outside, each with the index of what leads to the node."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of `sluiceway check`.

    Args:
        id: Such as `SW101`.
        name: Such as `edits-lost`.
        severity: Of its findings.
        summary: What it finds, in a sentence.
        check: Gives node, why and fix for each fault.
    """

    id: str
    name: str
    severity: Severity
    summary: str
    check: Callable[[View], Iterator[tuple[Node, str, str]]]


def found(rule: Rule, view: View) -> Iterator[Finding]:
    """Give the findings of a rule, without those that an entry asks to ignore.

    Args:
        rule: The rule.
        view: The graph.
    """
    for node, why, fix in rule.check(view):
        ignored: set[str] = set(node.ignore)
        for group in view.sketch.above(node.id):
            ignored.update(group.ignore)
        if rule.id not in ignored and rule.name not in ignored:
            yield Finding(rule.id, rule.name, rule.severity, node.id, why, fix)


class View:
    """A graph with what rules ask of it, each answer found once.

    Args:
        sketch: The graph, as it is drawn.
    """

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.places: dict[str, Place] = {}
        self._next = dict(pair for group in sketch.groups.values() for pair in pairwise(group.members))
        self._walk(ROOT, ())

    def _walk(self, group_id: str, above: Place) -> None:
        for index, member in enumerate(self.sketch.groups[group_id].members):
            place = (*above, (group_id, index))
            if member in self.sketch.nodes:
                self.places[member] = place
            else:
                self._walk(member, place)

    @property
    def processors(self) -> list[Node]:
        """All processors, in list order."""
        return [node for node in self.sketch.nodes.values() if node.kind == "processor"]

    def list_of(self, node: Node) -> str:
        """Return the list of an agent that a node stands in: `input`, `output`, `error` or `""`."""
        return next((group.list for group in self.sketch.above(node.id) if group.kind == "list"), "")

    def hooks(self, node: Node) -> tuple[str, ...]:
        """Return the hooks that a node runs in where it stands."""
        kind = self.list_of(node)
        return tuple(h for h in node.hooks if h in HOOKS_OF[kind]) if kind else node.hooks  # type: ignore[index]

    def effects(self, node: Node, hook: str) -> Effects | None:
        """Return what a node declares for a hook that it runs in, or None."""
        return (node.effects or {}).get(hook) if hook in self.hooks(node) else None

    def before(self, first: Node, second: Node) -> bool:
        """Whether one node runs before another whenever both run: not in branches of one fork."""
        for (group, one), (other, two) in zip(self.places[first.id], self.places[second.id], strict=False):
            if group != other:
                return False
            if one != two:
                forks = self.sketch.groups[group].kind in ("parallel", "branch")
                members = self.sketch.groups[group].members
                lanes = members[one] in self.sketch.groups and members[two] in self.sketch.groups
                same = self.list_of(first) == self.list_of(second)
                return one < two and not (forks and lanes) and same
        return False

    def ordered(self, nodes: Iterable[Node], hook: str) -> list[Node]:
        """Return those of some nodes that run in a hook, in list order."""
        return [node for node in nodes if hook in self.hooks(node)]

    def forks(self, kind: str = "parallel") -> Iterator[tuple[Group, Node | None]]:
        """Give each fork of a kind, with the map right behind it, if there is one.

        Args:
            kind: `parallel` or `branch`.
        """
        for group in self.sketch.groups.values():
            if group.kind == kind:
                node = self.sketch.nodes.get(self._next.get(group.id, ""))
                yield group, node if node is not None and node.kind == "map" else None

    def lanes(self, group: Group) -> list[Group]:
        """Return the branches of a fork."""
        return [self.sketch.groups[m] for m in group.members if m in self.sketch.groups]

    def writes(self, lane: Group) -> set[tuple[str, str]]:
        """Return what the processors of a branch declare to write: hook and surface; `state` is no data."""
        found: set[tuple[str, str]] = set()
        for node in self.sketch.inside(lane.id):
            for hook in self.hooks(node):
                effects = self.effects(node, hook)
                found.update((hook, surface) for surface in (effects.writes if effects else ()) if surface != "state")
        return found
