"""SW101, SW102, SW108: branches of a `parallel` or `branch`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from sluiceway.graphs._sketch import Group, Node
from sluiceway.graphs.rules._rule import Rule, View

__all__ = ["EDITS_LOST", "UNREACHABLE_BRANCH", "WRITES_COLLIDE"]


def _edits_lost(view: View) -> Iterator[tuple[Node, str, str]]:
    for group, picked in view.forks():
        if picked is None or picked.picks is None:
            continue
        for lane in view.lanes(group):
            if lane.key in picked.picks or not view.writes(lane):
                continue
            node = _writer(view, lane)
            surfaces = ", ".join(sorted({surface for _, surface in view.writes(lane)}))
            keys = " or ".join(map(repr, picked.picks))
            yield (
                node,
                f"it writes {surfaces}, but the map behind the parallel goes on with {keys}, so its edits are lost",
                (
                    f"Pick {lane.key!r}, merge with merge.all() or merge.prefer({picked.picks[0]!r}), "
                    "or let it only look (strategy='block' or 'warn')"
                ),
            )


def _writer(view: View, lane: Group) -> Node:
    inside = list(view.sketch.inside(lane.id))
    for node in inside:
        if any((e := view.effects(node, hook)) and e.writes - {"state"} for hook in view.hooks(node)):
            return node
    return inside[0]


EDITS_LOST = Rule("SW101", "edits-lost", "error", "A map picks another branch than one that writes.", _edits_lost)


def _writes_collide(view: View) -> Iterator[tuple[Node, str, str]]:
    for group, behind in view.forks():
        merged = behind is None or behind.label == "all()"
        lanes = view.lanes(group)
        if not merged:
            continue
        for first, second in combinations(lanes, 2):
            both = view.writes(first) & view.writes(second)
            if not both or (_redacts(view, first) and _redacts(view, second)):
                continue
            surfaces = ", ".join(sorted({surface for _, surface in both}))
            yield (
                _writer(view, second),
                (
                    f"it writes {surfaces} beside {_writer(view, first).step_id!r}; where both change the same text "
                    "the run ends with a MergeConflict"
                ),
                f"Put one behind the other with .then, or say who wins: .map(merge.prefer({first.key!r}))",
            )


def _redacts(view: View, lane: Group) -> bool:
    """Whether all that a branch writes is redaction by the library, whose edits are united."""
    nodes = [n for n in view.sketch.inside(lane.id) if n.kind == "processor"]
    return all({"built-in", "redacts"} <= set(node.facts) for node in nodes)


WRITES_COLLIDE = Rule(
    "SW102",
    "writes-collide",
    "warning",
    "Two branches write the same thing, and nobody says who wins.",
    _writes_collide,
)


def _unreachable(view: View) -> Iterator[tuple[Node, str, str]]:
    edges = {(edge.source, edge.target): edge for edge in view.sketch.edges}
    for group, _ in view.forks("branch"):
        fork = group.members[0]
        certain = ""
        for lane in view.lanes(group):
            nodes = list(view.sketch.inside(lane.id))
            if not nodes:
                continue
            edge = edges[fork, nodes[0].id]
            if certain:
                why = f"the condition of {certain!r}, an arm before it, always holds, so this arm never runs"
                yield nodes[0], why, "Move the arm before that one, or mend the condition"
            elif edge.always is False:
                why = f"its condition ({lane.label}) never holds where it is asked, so this arm never runs"
                yield nodes[0], why, "Mend the condition (each arm needs its own), or leave the arm out"
            elif edge.always is True:
                certain = lane.key


UNREACHABLE_BRANCH = Rule("SW108", "unreachable-branch", "warning", "An arm of a branch can never run.", _unreachable)
