"""`Repeat`: the block of what is done again, with the lines that lead back to its beginning."""

from __future__ import annotations

from typing import Final

from sluiceway.graphs._blocks import LABEL_ROOM, LABEL_SIZE, Block, Boxed, Edges, Leaf
from sluiceway.graphs._cards import title_of
from sluiceway.graphs._measure import Text, fit
from sluiceway.graphs._scene import Frame, Label, Line, Point, Scene
from sluiceway.graphs._sketch import Edge, Group

__all__ = ["Repeat"]

_SIDE: Final = 18.0
_TOP: Final = 34.0
_BOTTOM: Final = 16.0
_LEFT: Final = 26.0
"""Beside the body, for the lines that come back."""
_BELOW: Final = 30.0
"""Between the body and the way back."""


class Repeat:
    """A body in a frame; from its last node a line leads back below, from another one above.

    Args:
        group: The frame.
        body: What is repeated.
        tail: Its last node.
        edges: All edges of the graph.
        back: What stands on the way back, or None.
        failing: The node that the way above leads from, or None.
        rescue: What stands on that way, or None.
    """

    __slots__ = (
        "_body_at", "_cap", "_edges", "_lead", "_title", "back", "body", "entry", "exit", "failing", "first",
        "group", "h", "last", "rescue", "tail", "w",
    )  # fmt: skip

    def __init__(
        self,
        group: Group,
        body: Block,
        tail: Leaf,
        edges: Edges,
        *,
        back: Boxed | None = None,
        failing: Leaf | None = None,
        rescue: Boxed | None = None,
    ) -> None:
        self.group, self.body, self.tail = group, body, tail
        self.back, self.failing, self.rescue = back, failing, rescue
        self.first, self.last = body.first, body.last
        self._edges = edges
        self._cap = title_of(group)
        self._title = fit(title_of(group), 12.0, 420.0, bold=True)
        self._lead = 60.0
        self._body_at: Point = (0.0, 0.0)
        self.w = self.h = 0.0
        self.entry: Point = (0.0, 0.0)
        self.exit: Point = (0.0, 0.0)

    def fit(self, width: float) -> None:
        """Find the size of body and ways back, then of the frame."""
        room = max(width - 2 * _SIDE - _LEFT, 200.0)
        self.body.fit(room)
        beside = 0.0
        high = 0.0
        for lane in (self.back, self.rescue):
            if lane is not None:
                lane.fit(max(min(room, self.body.w) - 2 * self._lead - 2 * _LEFT, 200.0))
                beside = max(beside, lane.w + 2 * self._lead + _LEFT)
        if self.rescue is not None:
            high = self.rescue.h + _BELOW
        inner = max(self.body.w, beside)
        self._title = fit(self._cap, 12.0, max(inner, 240.0), bold=True)
        inner = max(inner, self._title.width - _LEFT)
        self._body_at = (_SIDE + _LEFT + (inner - self.body.w) / 2, _TOP + high)
        self.w = inner + _LEFT + 2 * _SIDE
        below = self.back.h + _BELOW if self.back is not None else _BELOW if self._loops() else 0.0
        self.h = _TOP + high + self.body.h + below + _BOTTOM
        x, y = self._body_at
        self.entry = (x + self.body.entry[0], y + self.body.entry[1])
        self.exit = (x + self.body.exit[0], y + self.body.exit[1])

    def _loops(self) -> bool:
        return (self.last, self.first) in self._edges

    def place(self, scene: Scene, x: float, y: float) -> None:
        """Put frame, body and ways back into the scene."""
        scene.frames.append(Frame(self.group, self._title, x, y, self.w, self.h))
        self.body.place(scene, x + self._body_at[0], y + self._body_at[1])
        left = x + _SIDE + _LEFT / 2
        into = (x + self.entry[0], y + self.entry[1])
        if self.back is not None:
            self._below(scene, self.back, left, into, y)
        elif self._loops():
            self._plain(scene, left, into, y)
        if self.rescue is not None and self.failing is not None:
            self._above(scene, self.rescue, self.failing, left, into, y)

    def _plain(self, scene: Scene, left: float, into: Point, y: float) -> None:
        edge = self._edges[self.last, self.first]
        start = _bottom(self.tail)
        low = y + self._body_at[1] + self.body.h + _BELOW - 6
        scene.lines.append(Line(edge, [start, (start[0], low), (left, low), (left, into[1]), into]))
        if edge.label:
            text = fit(edge.label, LABEL_SIZE, LABEL_ROOM)
            if text.width + 20 < start[0] - left:
                scene.labels.append(Label(text, left + 10, low - 17, text.width, 14.0, edge))

    def _below(self, scene: Scene, lane: Boxed, left: float, into: Point, y: float) -> None:
        low = y + self._body_at[1] + self.body.h
        start = _bottom(self.tail)
        self._lane(scene, lane, (left, low + _BELOW), start, low + _BELOW / 2, into)

    def _above(self, scene: Scene, lane: Boxed, failing: Leaf, left: float, into: Point, y: float) -> None:
        assert failing.box is not None
        start = (failing.box.x + failing.box.w / 2, failing.box.y)
        high = y + self._body_at[1]
        self._lane(scene, lane, (left, high - _BELOW - lane.h), start, high - _BELOW / 2, into)

    def _lane(self, scene: Scene, lane: Boxed, corner: Point, start: Point, strip: float, into: Point) -> None:
        """Draw a way back: from `start` along `strip` to the lane's right, out on its left, to `into`."""
        left, top = corner
        room = self.w - 2 * _SIDE - _LEFT / 2 - 2 * self._lead - lane.w - _LEFT
        x = left + self._lead + max(0.0, min(room, start[0] - left - 2 * self._lead - lane.w - 10)) / 2
        inner = Scene(lane.w, lane.h)
        lane.place(inner, 0.0, 0.0)
        scene.put_mirrored(inner, x, top)
        pile = lane.group.kind == "tools"
        in_x = x + lane.w - (0.0 if pile else lane.entry[0])
        out_x = x + (0.0 if pile else lane.w - lane.exit[0])
        right, in_y, out_y = x + lane.w, top + lane.entry[1], top + lane.exit[1]
        there = self._edge(self.tail.last if pile else start_of(self.failing), lane.first)
        again = self._edge(lane.last, self.first)
        turn = right + self._lead
        if start[0] >= turn:
            points = [start, (start[0], in_y), (in_x, in_y)]
        else:
            points = [start, (start[0], strip), (turn, strip), (turn, in_y), (in_x, in_y)]
        scene.lines.append(Line(there, points))
        scene.lines.append(Line(again, [(out_x, out_y), (left, out_y), (left, into[1]), into]))
        self._write(scene, there, right + 6, in_y)
        self._write(scene, again, left + 8, out_y)

    def _edge(self, source: str, target: str) -> Edge:
        return self._edges.get((source, target)) or Edge(source, target, "back")

    def _write(self, scene: Scene, edge: Edge, x: float, y: float) -> None:
        if edge.label:
            text: Text = fit(edge.label, LABEL_SIZE, self._lead - 12)
            scene.labels.append(Label(text, x, y - 17, text.width, 14.0, edge))


def start_of(leaf: Leaf | None) -> str:
    """Return the id of a node, or nothing."""
    return leaf.last if leaf is not None else ""


def _bottom(leaf: Leaf) -> Point:
    assert leaf.box is not None
    return (leaf.box.x + leaf.box.w / 2, leaf.box.y + leaf.box.h)
