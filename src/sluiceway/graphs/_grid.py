"""`Grid`: many branches of one step each, in rows and columns instead of one long column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from sluiceway.graphs._blocks import BUS, Edges, Leaf
from sluiceway.graphs._scene import Line, Point, Scene
from sluiceway.graphs._sketch import Edge

__all__ = ["Grid"]

_COLUMN: Final = 44.0
"""Between two columns: room for a line out of the one and a line into the other."""
_ROW: Final = 30.0
"""Between two rows: likewise."""
_SHAPE: Final = 1.8
"""How much wider than high it is, where there is room."""


class Grid:
    """Branches that are one box each, in reading order, between where they part and where they meet."""

    __slots__ = ("_columns", "_edges", "entry", "exit", "first", "fork", "h", "join", "last", "leaves", "w")

    def __init__(self, fork: Leaf, leaves: Sequence[Leaf], join: Leaf, edges: Edges) -> None:
        self.fork, self.leaves, self.join = fork, leaves, join
        self.first, self.last = fork.first, join.last
        self._edges = edges
        self._columns = 1
        self.w = self.h = 0.0
        self.entry: Point = (0.0, 0.0)
        self.exit: Point = (0.0, 0.0)
        widest = max(leaf.w for leaf in leaves)
        for leaf in leaves:
            leaf.resize(widest)

    def fit(self, width: float) -> None:
        """Find the number of columns."""
        wide, high = self.leaves[0].w + _COLUMN, self._high + _ROW
        around = self.fork.w + self.join.w + 2 * BUS - _COLUMN
        wanted = round(math.sqrt(len(self.leaves) * high * _SHAPE / wide))
        most = int((min(width, 1e6) - around) // wide)
        self._columns = max(1, min(wanted, most))
        rows = -(-len(self.leaves) // self._columns)
        self.w = around + self._columns * wide
        self.h = rows * high
        self.entry, self.exit = (0.0, self.h / 2), (self.w, self.h / 2)

    @property
    def _high(self) -> float:
        return max(leaf.h for leaf in self.leaves)

    def place(self, scene: Scene, x: float, y: float) -> None:
        """Put boxes and lines into the scene."""
        middle = y + self.h / 2
        self.fork.place(scene, x, middle - self.fork.h / 2)
        self.join.place(scene, x + self.w - self.join.w, middle - self.join.h / 2)
        for number, leaf in enumerate(self.leaves):
            row, column = divmod(number, self._columns)
            left = x + self.fork.w + BUS + column * (leaf.w + _COLUMN)
            top = y + _ROW / 2 + row * (self._high + _ROW)
            leaf.place(scene, left, top)
            self._join(scene, leaf, column, (left, top), (x, middle))

    def _join(self, scene: Scene, leaf: Leaf, column: int, at: Point, corner: Point) -> None:
        (left, top), (x, middle) = at, corner
        port = top + leaf.h / 2
        start, bus = (x + self.fork.w, middle), x + self.fork.w + BUS / 2
        into: list[Point] = [start, (bus, middle)]
        if column == 0:
            into += [(bus, port)]
        else:
            above = top - _ROW / 2 + 7
            into += [(bus, above), (left - 10, above), (left - 10, port)]
        scene.lines.append(Line(self._edge(self.fork.last, leaf.first), [*into, (left, port)]))
        right, end = left + leaf.w, x + self.w - self.join.w
        out: list[Point] = [(right, port)]
        if column < self._columns - 1:
            below = top + self._high + _ROW / 2 - 7
            out += [(right + 10, port), (right + 10, below), (end - BUS / 2, below)]
        else:
            out += [(end - BUS / 2, port)]
        out += [(end - BUS / 2, middle), (end, middle)]
        scene.lines.append(Line(self._edge(leaf.last, self.join.first), out))

    def _edge(self, source: str, target: str) -> Edge:
        return self._edges.get((source, target)) or Edge(source, target)
