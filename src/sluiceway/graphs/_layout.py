"""From a graph to a scene: which blocks stand for it, and how wide the picture is."""

from __future__ import annotations

import math
from typing import Final

from sluiceway.graphs._blocks import Block, Boxed, Edges, Fan, Leaf, Pile, Series, Through
from sluiceway.graphs._cards import card_of, title_of
from sluiceway.graphs._grid import Grid
from sluiceway.graphs._repeat import Repeat
from sluiceway.graphs._scene import Scene
from sluiceway.graphs._sketch import Group, Node, Sketch
from sluiceway.processors import HOOKS_OF

__all__ = ["hooks_here", "layout"]

MARGIN: Final = 28.0
_LEAST: Final = 1240.0
_MOST: Final = 2400.0
_COLUMN: Final = 10
"""How many branches of one step each still stand in one column."""
_AREA: Final = 36_000.0
"""What one node takes, with the room around it, times how much wider than high a picture is."""


def layout(sketch: Sketch) -> Scene:
    """Return a graph with everything in its place. Its cost grows with the number of nodes."""
    block = _Maker(sketch).series(sketch.root)
    wider = 1.4 if sketch.root.kind == "agent" else 1.0
    block.fit(min(max(_LEAST, math.sqrt(len(sketch.nodes) * _AREA)) * wider, _MOST))
    scene = Scene(block.w + 2 * MARGIN, block.h + 2 * MARGIN)
    block.place(scene, MARGIN, MARGIN)
    return scene


def hooks_here(sketch: Sketch, node: Node) -> tuple[str, ...]:
    """Return the hooks that a node runs in where it stands: a list runs only its own."""
    for group in sketch.above(node.id):
        if group.kind == "list":
            return tuple(hook for hook in node.hooks if hook in HOOKS_OF[group.list])  # type: ignore[index]
    return node.hooks


class _Maker:
    """Makes the blocks of one graph."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.edges: Edges = {(edge.source, edge.target): edge for edge in sketch.edges}
        self.leaves: dict[str, Leaf] = {}

    def leaf(self, node_id: str) -> Leaf:
        node = self.sketch.nodes[node_id]
        made = Leaf(card_of(node, hooks_here(self.sketch, node)))
        self.leaves[node_id] = made
        return made

    def block(self, member: str) -> Block:
        if member in self.sketch.nodes:
            return self.leaf(member)
        group = self.sketch.groups[member]
        if group.kind in ("parallel", "branch"):
            fork, *lanes, join = group.members
            made = [self.lane(self.sketch.groups[lane]) for lane in lanes]
            leaves = [lane for lane in made if isinstance(lane, Leaf)]
            if group.kind == "parallel" and len(leaves) == len(made) > _COLUMN:
                return Grid(self.leaf(fork), leaves, self.leaf(join), self.edges)
            return Fan(self.leaf(fork), made, self.leaf(join), self.edges)
        if group.kind == "loop":
            return self.loop(group)
        if group.kind == "tools":
            return Boxed(group, title_of(group), Pile([self.leaf(tool) for tool in group.members]))
        return Boxed(group, title_of(group), self.series(group))

    def series(self, group: Group) -> Block:
        made = [self.block(member) for member in group.members]
        if len(made) == 1:
            return made[0]
        return Series(made, self.edges, wrap=group.kind != "agent")

    def lane(self, group: Group) -> Block:
        return self.series(group) if group.members else Through()

    def loop(self, group: Group) -> Repeat:
        """Make a loop; the ways back stand last in its group."""
        body = list(group.members)
        back: Boxed | None = None
        rescue: Boxed | None = None
        while body and body[-1] in self.sketch.groups:
            last = self.sketch.groups[body[-1]]
            if last.kind == "tools":
                back = Boxed(last, title_of(last), Pile([self.leaf(tool) for tool in last.members]))
            elif last.kind == "list" and last.list == "error":
                rescue = Boxed(last, title_of(last), self.series(last))
            else:
                break
            body.pop()
        made = [self.block(member) for member in body]
        whole = made[0] if len(made) == 1 else Series(made, self.edges, wrap=rescue is None and back is None)
        failing = next((b for b in made if isinstance(b, Leaf) and b.card.node.kind == "model"), None)
        tail = made[-1]
        return Repeat(
            group,
            whole,
            tail if isinstance(tail, Leaf) else self.leaves[tail.last],
            self.edges,
            back=back,
            failing=failing,
            rescue=rescue,
        )
