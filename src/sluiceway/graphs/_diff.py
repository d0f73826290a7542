"""How one graph differs from another."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import SequenceMatcher
from typing import Final

from sluiceway.graphs._sketch import ROOT, Change, Group, Node, Sketch

__all__ = ["GraphDiff", "NodeChange", "compare"]

_WHERE: Final = {"id", "members", "parent", "run", "change"}
_QUIET: Final = {"start", "end", "join"}


@dataclass(frozen=True, slots=True)
class NodeChange:
    """One difference.

    Args:
        change: `added`, `removed`, `moved` or `changed`.
        path: Where the node stands: in the old graph if it was removed, else in the new one.
        was: Where it stood, if it was moved.
        fields: What of it is different, if it was changed: name to old and new value.
    """

    change: Change
    path: str
    was: str = ""
    fields: Mapping[str, tuple[object, object]] | None = None

    def __str__(self) -> str:
        sign = {"added": "+", "removed": "-", "moved": ">", "changed": "~"}[self.change]
        if self.change == "moved":
            place = "at another place in the order" if self.was == self.path else f"was at {self.was}"
            return f"{sign} {self.path}  ({place})"
        told = "; ".join(f"{name}: {old} → {new}" for name, (old, new) in (self.fields or {}).items())
        return f"{sign} {self.path}" + (f"  {told}" if told else "")


@dataclass(frozen=True, slots=True)
class GraphDiff:
    """What is different between two graphs.

    Args:
        old: The graph before, with its nodes marked.
        new: The graph after, likewise.
        changes: The differences: what is in the new graph in its order, then what was removed.
    """

    old: Sketch
    new: Sketch
    changes: tuple[NodeChange, ...]

    @property
    def added(self) -> tuple[str, ...]:
        """The paths of what is new."""
        return tuple(c.path for c in self.changes if c.change == "added")

    @property
    def removed(self) -> tuple[str, ...]:
        """The old paths of what is gone."""
        return tuple(c.path for c in self.changes if c.change == "removed")

    @property
    def moved(self) -> tuple[tuple[str, str], ...]:
        """The old and new paths of what stands elsewhere."""
        return tuple((c.was, c.path) for c in self.changes if c.change == "moved")

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths of what is different in itself."""
        return tuple(c.path for c in self.changes if c.change == "changed")

    def __bool__(self) -> bool:
        return bool(self.changes)

    def to_text(self) -> str:
        """Return one line per difference: `+` added, `-` removed, `>` moved, `~` changed."""
        if not self.changes:
            return "no differences\n"
        return "".join(f"{change}\n" for change in self.changes)


def compare(old: Sketch, new: Sketch) -> GraphDiff:
    """Return what is different between two graphs.

    A node is the same if it has the same kind and name and stands in the same order among its
    neighbours, also if its path has another number in it now. What has left its place and
    stands elsewhere was moved.
    """
    match = _Match(old, new)
    match.groups(old.root, new.root)
    match.movements()
    changes: list[NodeChange] = []
    marks_new: dict[str, Change] = {}
    marks_old: dict[str, Change] = {}
    for path in _order(new):
        if path in match.moved:
            was = match.moved[path]
            changes.append(NodeChange("moved", path, was=was))
            marks_new[path] = marks_old[was] = "moved"
        elif path not in match.pairs:
            if _told(new, path):
                changes.append(NodeChange("added", path))
                marks_new[path] = "added"
        elif different := _different(_of(old, match.pairs[path]), _of(new, path)):
            changes.append(NodeChange("changed", path, fields=different))
            marks_new[path] = marks_old[match.pairs[path]] = "changed"
    kept = {*match.pairs.values(), *match.moved.values()}
    for path in _order(old):
        if path not in kept and _told(old, path):
            changes.append(NodeChange("removed", path))
            marks_old[path] = "removed"
    return GraphDiff(_marked(old, marks_old), _marked(new, marks_new), tuple(changes))


class _Match:
    """Finds which node of the new graph is which of the old."""

    def __init__(self, old: Sketch, new: Sketch) -> None:
        self.old, self.new = old, new
        self.pairs: dict[str, str] = {ROOT: ROOT}
        self.moved: dict[str, str] = {}

    def groups(self, old: Group, new: Group) -> None:
        before = [_name(self.old, member) for member in old.members]
        after = [_name(self.new, member) for member in new.members]
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        for i, j, size in matcher.get_matching_blocks():
            for offset in range(size):
                self._pair(old.members[i + offset], new.members[j + offset])

    def _pair(self, old: str, new: str) -> None:
        self.pairs[new] = old
        if old in self.old.groups:
            self.groups(self.old.groups[old], self.new.groups[new])

    def movements(self) -> None:
        """Pair what is left on both sides and has the same name: outer things first."""
        left: defaultdict[tuple[str, str], deque[str]] = defaultdict(deque)
        taken = set(self.pairs.values())
        for path in _order(self.old):
            if path not in taken and _can_move(self.old, path):
                left[_name(self.old, path)].append(path)
        for path in _order(self.new):
            if path in self.pairs or not _can_move(self.new, path):
                continue
            found = left[_name(self.new, path)]
            while found and found[0] in taken:
                found.popleft()  # came along with the group around it
            if found:
                was = found.popleft()
                self.moved[path] = was
                if path in self.new.groups:
                    self.groups(self.old.groups[was], self.new.groups[path])
                    taken = set(self.pairs.values())


def _name(sketch: Sketch, member: str) -> tuple[str, str]:
    node = sketch.nodes.get(member)
    if node is not None:
        return node.kind, node.step_id or ("" if node.kind in ("map", "sleep", "loop", "model") else node.label)
    group = sketch.groups[member]
    if group.kind == "lane":
        return "lane", group.key
    return group.kind, group.label if group.kind == "workflow" else group.list


def _can_move(sketch: Sketch, path: str) -> bool:
    node = sketch.nodes.get(path)
    if node is not None:
        return node.step_id is not None
    return sketch.groups[path].kind == "workflow"


def _told(sketch: Sketch, path: str) -> bool:
    node = sketch.nodes.get(path)
    if node is not None:
        return node.kind not in _QUIET
    return sketch.groups[path].kind == "workflow"


def _of(sketch: Sketch, path: str) -> Node | Group:
    return sketch.nodes[path] if path in sketch.nodes else sketch.groups[path]


def _different(old: Node | Group, new: Node | Group) -> dict[str, tuple[object, object]]:
    names = [field.name for field in fields(old) if field.name not in _WHERE]
    return {
        name: (getattr(old, name), getattr(new, name)) for name in names if getattr(old, name) != getattr(new, name)
    }


def _order(sketch: Sketch, group: str = ROOT) -> Sequence[str]:
    found: list[str] = []
    for member in sketch.groups[group].members:
        found.append(member)
        if member in sketch.groups:
            found.extend(_order(sketch, member))
    return found


def _marked(sketch: Sketch, marks: Mapping[str, Change]) -> Sketch:
    nodes = {path: replace(node, change=marks.get(path)) for path, node in sketch.nodes.items()}
    groups = {path: replace(group, change=marks.get(path)) for path, group in sketch.groups.items()}
    return replace(sketch, nodes=nodes, groups=groups)
