"""The building blocks of a picture. Each first finds its size, then puts what it holds in place.

The graph is series-parallel, so it is laid out from the inside to the outside in one pass:
no block looks at anything but its own parts. A line runs in the room between blocks, or in
strips that a block keeps free for it, so no line crosses a box.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from sluiceway.graphs._cards import Card
from sluiceway.graphs._measure import Text, fit
from sluiceway.graphs._scene import Box, Frame, Label, Line, Point, Scene
from sluiceway.graphs._sketch import Edge, Group

__all__ = ["BUS", "GAP", "Block", "Boxed", "Fan", "Leaf", "Pile", "Series", "Through"]

GAP: Final = 34.0
"""Between two boxes that follow each other."""
ROW: Final = 34.0
"""Between two rows of a series."""
LANE: Final = 16.0
"""Between two branches."""
BUS: Final = 30.0
"""Where the lines of branches part and meet."""
STRIP: Final = 20.0
"""Beside a series of several rows, for the lines between rows."""
LABEL_SIZE: Final = 11.0
LABEL_ROOM: Final = 200.0

Edges = Mapping[tuple[str, str], Edge]


class Block(Protocol):
    """A part of a picture with one way in, on its left, and one way out, on its right.

    Attributes:
        w: Its width, known after `fit`.
        h: Its height, likewise.
        entry: Where the line into it ends, from its upper left corner.
        exit: Where the line out of it begins.
        first: The id of the node the line into it leads to.
        last: The id of the node that the line out of it comes from.
    """

    w: float
    h: float
    entry: Point
    exit: Point
    first: str
    last: str

    def fit(self, width: float) -> None:
        """Find a size that keeps to a width, if that can be."""
        ...

    def place(self, scene: Scene, x: float, y: float) -> None:
        """Put what it holds into the scene."""
        ...


class Leaf:
    """One node."""

    __slots__ = ("box", "card", "entry", "exit", "first", "h", "last", "w")

    def __init__(self, card: Card) -> None:
        self.card = card
        self.first = self.last = card.node.id
        self.box: Box | None = None
        self.h = card.h
        self.resize(card.w)

    def resize(self, width: float) -> None:
        """Give it another width."""
        self.w = width
        self.entry = (0.0, self.h / 2)
        self.exit = (width, self.h / 2)

    def fit(self, width: float) -> None:
        """Keep the size."""

    def place(self, scene: Scene, x: float, y: float) -> None:
        """Put the box into the scene."""
        self.box = Box(self.card, x, y, self.w, self.h)
        scene.boxes.append(self.box)


class Through:
    """A branch without steps: a line that goes straight through."""

    __slots__ = ("entry", "exit", "first", "h", "last", "w")

    def __init__(self) -> None:
        self.w, self.h = 40.0, 24.0
        self.entry, self.exit = (0.0, 12.0), (40.0, 12.0)
        self.first = self.last = ""

    def fit(self, width: float) -> None:
        """Keep the size."""

    def place(self, scene: Scene, x: float, y: float) -> None:
        """Draw nothing: the fan draws the line."""


class Series:
    """Blocks that follow each other, in as many rows as the width asks for."""

    __slots__ = ("_at", "_edges", "_rows", "_wrap", "blocks", "entry", "exit", "first", "h", "last", "w")

    def __init__(self, blocks: Sequence[Block], edges: Edges, *, wrap: bool = True) -> None:
        self.blocks = blocks
        self._edges = edges
        self._wrap = wrap
        self.first, self.last = blocks[0].first, blocks[-1].last
        self.w = self.h = 0.0
        self.entry: Point = (0.0, 0.0)
        self.exit: Point = (0.0, 0.0)
        self._rows: list[list[Block]] = []
        self._at: list[tuple[Point, int]] = []

    def fit(self, width: float) -> None:
        """Find the rows: as few as can be, and about equally long."""
        for block in self.blocks:
            block.fit(width if self._wrap else math.inf)
        total = sum(block.w for block in self.blocks) + GAP * (len(self.blocks) - 1)
        if not self._wrap and total > width:
            self._share(width - GAP * (len(self.blocks) - 1))
        if total <= width or not self._wrap or len(self.blocks) == 1:
            self._rows = [list(self.blocks)]
        else:
            self._rows = self._balanced(width - 2 * STRIP)
        self._settle()

    def _share(self, width: float) -> None:
        """Let the wide blocks find another size, in proportion to the one they would like."""
        wide = [block for block in self.blocks if not isinstance(block, Leaf)]
        left = width - sum(block.w for block in self.blocks if isinstance(block, Leaf))
        wanted = sum(block.w for block in wide)
        for block in wide:
            block.fit(max(left * block.w / wanted, 240.0))

    def _balanced(self, width: float) -> list[list[Block]]:
        rows = _packed(self.blocks, width)
        low = max(block.w for block in self.blocks)
        high = max(width, low)
        for _ in range(6):
            middle = (low + high) / 2
            tried = _packed(self.blocks, middle)
            if len(tried) > len(rows):
                low = middle
            else:
                rows, high = tried, middle
        return rows

    def _settle(self) -> None:
        several = len(self._rows) > 1
        left = STRIP if several else 0.0
        self._at = []
        y = widest = 0.0
        for number, row in enumerate(self._rows):
            rise = max(block.entry[1] for block in row)
            fall = max(block.h - block.entry[1] for block in row)
            x = left
            for block in row:
                self._at.append(((x, y + rise - block.entry[1]), number))
                x += block.w + GAP
            widest = max(widest, x - GAP)
            y += rise + fall + ROW
        self.w = widest + (STRIP if several else 0.0)
        self.h = y - ROW
        (x0, y0), (x1, y1) = self._at[0][0], self._at[-1][0]
        self.entry = (x0 + self.blocks[0].entry[0], y0 + self.blocks[0].entry[1])
        self.exit = (x1 + self.blocks[-1].exit[0], y1 + self.blocks[-1].exit[1])

    def place(self, scene: Scene, x: float, y: float) -> None:
        """Put the blocks and the lines between them into the scene."""
        for block, ((dx, dy), _) in zip(self.blocks, self._at, strict=True):
            block.place(scene, x + dx, y + dy)
        for index in range(1, len(self.blocks)):
            self._connect(scene, index, x, y)

    def _connect(self, scene: Scene, index: int, x: float, y: float) -> None:
        before, block = self.blocks[index - 1], self.blocks[index]
        ((ax, ay), row_a), ((bx, by), row_b) = self._at[index - 1], self._at[index]
        edge = self._edges.get((before.last, block.first)) or Edge(before.last, block.first)
        out = (x + ax + before.exit[0], y + ay + before.exit[1])
        into = (x + bx + block.entry[0], y + by + block.entry[1])
        if row_a == row_b:
            middle = x + bx - GAP / 2
            scene.lines.append(Line(edge, [out, (middle, out[1]), (middle, into[1]), into]))
            return
        gutter = y + min(at[1] for at, row in self._at if row == row_b) - ROW / 2
        right, left = x + self.w - STRIP / 2, x + STRIP / 2
        points = [out, (right, out[1]), (right, gutter), (left, gutter), (left, into[1]), into]
        scene.lines.append(Line(edge, points))


def _packed(blocks: Sequence[Block], width: float) -> list[list[Block]]:
    rows: list[list[Block]] = [[]]
    used = 0.0
    for block in blocks:
        if rows[-1] and used + GAP + block.w > width:
            rows.append([])
            used = -GAP
        rows[-1].append(block)
        used += (GAP if len(rows[-1]) > 1 or used else 0.0) + block.w
    return rows


class Fan:
    """Branches one above the other, between a node where they part and one where they meet."""

    __slots__ = (
        "_edges",
        "_labels",
        "_lead",
        "_ys",
        "entry",
        "exit",
        "first",
        "fork",
        "h",
        "join",
        "lanes",
        "last",
        "w",
    )

    def __init__(self, fork: Leaf, lanes: Sequence[Block], join: Leaf, edges: Edges) -> None:
        self.fork, self.lanes, self.join = fork, lanes, join
        self.first, self.last = fork.first, join.last
        self._edges = edges
        self._labels: list[Text | None] = []
        for lane in lanes:
            label = self._edge(fork.last, lane.first or join.first).label
            self._labels.append(fit(label, LABEL_SIZE, LABEL_ROOM) if label else None)
        self._lead = max((t.width + 14 for t in self._labels if t), default=0.0)
        self._ys: list[float] = []
        self.w = self.h = 0.0
        self.entry: Point = (0.0, 0.0)
        self.exit: Point = (0.0, 0.0)
        leaves = [lane for lane in lanes if isinstance(lane, Leaf)]
        widest = max((leaf.w for leaf in leaves), default=0.0)
        for leaf in leaves:
            leaf.resize(widest)

    def _edge(self, source: str, target: str) -> Edge:
        return self._edges.get((source, target)) or Edge(source, target)

    def fit(self, width: float) -> None:
        """Stack the branches."""
        around = self.fork.w + self.join.w + 2 * BUS + self._lead
        y = widest = 0.0
        self._ys = []
        for lane, label in zip(self.lanes, self._labels, strict=True):
            lane.fit(max(width - around, 160.0))
            above = max(0.0, 20.0 - lane.entry[1]) if label else 0.0
            self._ys.append(y + above)
            y += above + lane.h + LANE
            widest = max(widest, lane.w)
        self.h = y - LANE
        ports = [top + lane.entry[1] for top, lane in zip(self._ys, self.lanes, strict=True)]
        middle = (ports[0] + ports[-1]) / 2
        near = min(ports, key=lambda port: abs(port - middle))
        if abs(near - middle) < 14:
            middle = near
        half = max(self.fork.h, self.join.h) / 2
        if middle < half:
            self._ys = [top + half - middle for top in self._ys]
            self.h += half - middle
            middle = half
        self.h = max(self.h, middle + half)
        self.w = around + widest
        self.entry, self.exit = (0.0, middle), (self.w, middle)

    def place(self, scene: Scene, x: float, y: float) -> None:
        """Put branches, lines and conditions into the scene."""
        middle = y + self.entry[1]
        self.fork.place(scene, x, middle - self.fork.h / 2)
        self.join.place(scene, x + self.w - self.join.w, middle - self.join.h / 2)
        start, end = x + self.fork.w, x + self.w - self.join.w
        left = start + BUS + self._lead
        for lane, top, label in zip(self.lanes, self._ys, self._labels, strict=True):
            lane.place(scene, left, y + top)
            port, out = y + top + lane.entry[1], y + top + lane.exit[1]
            into = self._edge(self.fork.last, lane.first or self.join.first)
            points = [(start, middle), (start + BUS / 2, middle), (start + BUS / 2, port)]
            if label is not None:
                scene.labels.append(Label(label, start + BUS / 2 + 8, port - 17, label.width, 14.0, into))
            if not lane.first:
                points += [(end - BUS / 2, port), (end - BUS / 2, middle), (end, middle)]
                scene.lines.append(Line(into, points))
                continue
            scene.lines.append(Line(into, [*points, (left + lane.entry[0], port)]))
            leave = [(left + lane.exit[0], out), (end - BUS / 2, out), (end - BUS / 2, middle), (end, middle)]
            scene.lines.append(Line(self._edge(lane.last, self.join.first), leave))


class Boxed:
    """A block with a frame and a title around it."""

    __slots__ = ("_cap", "entry", "exit", "first", "group", "h", "inner", "last", "title", "w")

    SIDE: Final = 18.0
    TOP: Final = 34.0
    BOTTOM: Final = 16.0

    def __init__(self, group: Group, title: str, inner: Block) -> None:
        self.group, self.inner = group, inner
        self.first, self.last = inner.first, inner.last
        self.title = fit(title, 12.0, 420.0, bold=True)
        self._cap = title
        self.w = self.h = 0.0
        self.entry: Point = (0.0, 0.0)
        self.exit: Point = (0.0, 0.0)

    def fit(self, width: float) -> None:
        """Find the size of what is inside, then of the frame."""
        self.inner.fit(max(width - 2 * self.SIDE, 160.0))
        self.title = fit(self._cap, 12.0, max(self.inner.w, 220.0), bold=True)
        self.w = max(self.inner.w + 2 * self.SIDE, self.title.width + 2 * self.SIDE)
        self.h = self.inner.h + self.TOP + self.BOTTOM
        left = (self.w - self.inner.w) / 2
        self.entry = (left + self.inner.entry[0], self.TOP + self.inner.entry[1])
        self.exit = (left + self.inner.exit[0], self.TOP + self.inner.exit[1])

    def place(self, scene: Scene, x: float, y: float) -> None:
        """Put the frame and what is inside into the scene."""
        scene.frames.append(Frame(self.group, self.title, x, y, self.w, self.h))
        self.inner.place(scene, x + (self.w - self.inner.w) / 2, y + self.TOP)


class Pile:
    """Boxes that stand together without an order, in rows."""

    __slots__ = ("_at", "blocks", "entry", "exit", "first", "h", "last", "w")

    def __init__(self, blocks: Sequence[Leaf]) -> None:
        self.blocks = blocks
        self.first, self.last = blocks[0].first, blocks[-1].last
        self._at: list[Point] = []
        self.w = self.h = 0.0
        self.entry: Point = (0.0, 0.0)
        self.exit: Point = (0.0, 0.0)

    def fit(self, width: float) -> None:
        """Fill the rows."""
        widest = max(block.w for block in self.blocks)
        for block in self.blocks:
            block.resize(widest)
        columns = max(1, min(len(self.blocks), int((width + LANE) // (widest + LANE))))
        rows = -(-len(self.blocks) // columns)
        columns = -(-len(self.blocks) // rows)
        high = max(block.h for block in self.blocks)
        self._at = [
            (index % columns * (widest + LANE), index // columns * (high + LANE)) for index in range(len(self.blocks))
        ]
        self.w = columns * (widest + LANE) - LANE
        self.h = rows * (high + LANE) - LANE
        self.entry, self.exit = (0.0, self.h / 2), (self.w, self.h / 2)

    def place(self, scene: Scene, x: float, y: float) -> None:
        """Put the boxes into the scene."""
        for block, (dx, dy) in zip(self.blocks, self._at, strict=True):
            block.place(scene, x + dx, y + dy)
