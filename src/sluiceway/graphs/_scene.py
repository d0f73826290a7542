"""What a laid out graph consists of: boxes, frames, lines and labels, with their places."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sluiceway.graphs._cards import Card
from sluiceway.graphs._measure import Text
from sluiceway.graphs._sketch import Edge, Group

__all__ = ["Box", "Frame", "Label", "Line", "Point", "Scene"]

Point = tuple[float, float]


@dataclass(slots=True)
class Box:
    """A node in its place."""

    card: Card
    x: float
    y: float
    w: float
    h: float


@dataclass(slots=True)
class Frame:
    """A group in its place, with its title."""

    group: Group
    title: Text
    x: float
    y: float
    w: float
    h: float


@dataclass(slots=True)
class Label:
    """A text at a line; it has its own room, in which nothing else stands."""

    text: Text
    x: float
    y: float
    w: float
    h: float
    of: Edge


@dataclass(slots=True)
class Line:
    """An edge: from corner to corner, all of them right angles."""

    edge: Edge
    points: list[Point]


@dataclass(slots=True)
class Scene:
    """All that is drawn."""

    width: float = 0.0
    height: float = 0.0
    boxes: list[Box] = field(default_factory=list[Box])
    frames: list[Frame] = field(default_factory=list[Frame])
    lines: list[Line] = field(default_factory=list[Line])
    labels: list[Label] = field(default_factory=list[Label])

    def put_mirrored(self, other: Scene, x: float, y: float) -> None:
        """Add what stands in another scene, left and right exchanged."""
        edge = x + other.width
        self.boxes += [replace(b, x=edge - b.x - b.w, y=y + b.y) for b in other.boxes]
        self.frames += [replace(f, x=edge - f.x - f.w, y=y + f.y) for f in other.frames]
        self.labels += [replace(t, x=edge - t.x - t.w, y=y + t.y) for t in other.labels]
        for line in other.lines:
            self.lines.append(Line(line.edge, [(edge - px, y + py) for px, py in line.points]))
