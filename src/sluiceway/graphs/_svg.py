"""SVG of our own: no external program, the same bytes for the same graph."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

from sluiceway.graphs._cards import CHIP_SIZE, Card, Chip
from sluiceway.graphs._icons import ICONS
from sluiceway.graphs._layout import MARGIN, layout
from sluiceway.graphs._measure import Text, fit, visible
from sluiceway.graphs._palette import Paint, Theme
from sluiceway.graphs._scene import Box, Frame, Label, Line, Point, Scene
from sluiceway.graphs._sketch import Edge, Sketch

__all__ = ["draw"]

FONT: Final = "Inter, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', sans-serif"
_HEAD: Final = 46.0
_ROUND: Final = 9.0
_NAMED: Final = 40
_WORDS: Final = {"agent": "agent", "root": "workflow"}


def draw(sketches: Sequence[tuple[str, Sketch]], theme: Theme = "auto") -> str:
    """Return a picture of one or more graphs, one below the other.

    Args:
        sketches: A word for the head of each, or `""`, and the graph.
        theme: `light`, `dark`, or `auto`.

    Raises:
        ConfigurationError: Another theme.
    """
    paint = Paint(theme)
    scenes = [layout(sketch) for _, sketch in sketches]
    heads = [_head(word, sketch) for word, sketch in sketches]
    width = max([*(s.width for s in scenes), *(_head_width(*head) + 2 * MARGIN for head in heads)])
    body: list[str] = []
    y = 0.0
    for (_, sketch), scene, (title, told) in zip(sketches, scenes, heads, strict=True):
        body.append(_text(MARGIN, y + 36, title, 17, paint.fill("ink"), weight=650))
        body.append(_text(MARGIN + title.width + 12, y + 36, told, 12, paint.fill("muted")))
        body.append(f'<g transform="translate(0 {_n(y + _HEAD)})">')
        body += _Drawing(sketch, scene, paint).parts()
        body.append("</g>")
        y += _HEAD + scene.height
    inside = "".join(body)
    name = f"sw{hashlib.sha256(inside.encode()).hexdigest()[:10]}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sluiceway" role="img" aria-labelledby="{name}t {name}d" '
        f'width="{_n(width)}" height="{_n(y)}" viewBox="0 0 {_n(width)} {_n(y)}" '
        f'style="max-width:100%;height:auto" font-family="{FONT}">'
        f'<title id="{name}t">{_xml(_titles(sketches))}</title>'
        f'<desc id="{name}d">{_xml(_told(sketches))}</desc>{paint.sheet()}'
        f'<rect width="{_n(width)}" height="{_n(y)}" rx="14" {paint.fill("ground")}/>{inside}</svg>\n'
    )


def _head(word: str, sketch: Sketch) -> tuple[Text, Text]:
    steps = sum(1 for node in sketch.nodes.values() if node.step_id is not None)
    kind = _WORDS.get(sketch.root.kind, "graph")
    told = f"{kind} · {steps} step{'' if steps == 1 else 's'}"
    return fit(sketch.id, 17, 560, bold=True), fit(f"{word} · {told}" if word else told, 12, 300)


def _head_width(title: Text, told: Text) -> float:
    return title.width + 12 + told.width


def _titles(sketches: Sequence[tuple[str, Sketch]]) -> str:
    names = [f"{_WORDS.get(sketch.root.kind, 'graph').capitalize()} {sketch.id}" for _, sketch in sketches]
    return " and ".join(dict.fromkeys(names))


def _told(sketches: Sequence[tuple[str, Sketch]]) -> str:
    parts: list[str] = []
    for word, sketch in sketches:
        steps = [node.label for node in sketch.nodes.values() if node.step_id is not None]
        more = f" and {len(steps) - _NAMED} more" if len(steps) > _NAMED else ""
        start = f"{word}: " if word else ""
        parts.append(f"{start}{len(steps)} steps, in order: {', '.join(steps[:_NAMED])}{more}.")
    return " ".join(parts)


class _Drawing:
    """One graph, drawn."""

    def __init__(self, sketch: Sketch, scene: Scene, paint: Paint) -> None:
        self.sketch, self.scene, self.paint = sketch, scene, paint
        self.numbers = {node_id: number for number, node_id in enumerate(sketch.nodes)}
        times = [b.card.node.run.total_ms for b in scene.boxes if b.card.node.run is not None]
        self.slowest = max((t for t in times if t is not None), default=0.0)

    def parts(self) -> list[str]:
        return [
            *map(self.frame, self.scene.frames),
            *map(self.line, self.scene.lines),
            *map(self.head, self.scene.lines),
            *map(self.label, self.scene.labels),
            *map(self.box, self.scene.boxes),
        ]

    # -- frames, lines, labels

    def frame(self, frame: Frame) -> str:
        group = frame.group
        changed = {"added": "good", "removed": "bad", "moved": "info", "changed": "warn"}.get(group.change or "")
        tone = changed or (
            "agent" if group.kind in ("loop", "foreach") else "tool" if group.kind == "tools" else "frame"
        )
        dashed = ' stroke-dasharray="5 4"' if group.kind in ("loop", "foreach") else ""
        whole = "" if frame.title.whole else f"<title>{_xml(group.label)}</title>"
        return (
            f'<g class="frame" data-path="{_xml(group.id)}">{whole}'
            f'<rect {_place(frame)} rx="12" {self.paint.stroke(tone, fill=tone)} '
            f'fill-opacity=".05" stroke-opacity=".45"{dashed}/>'
            f"{_text(frame.x + 18, frame.y + 22, frame.title, 12, self.paint.fill(tone), weight=600)}</g>"
        )

    def line(self, line: Line) -> str:
        points = _clean(line.points)
        tone = {"error": "bad", "back": "agent"}.get(line.edge.kind, "line")
        dashed = ' stroke-dasharray="5 4"' if line.edge.kind != "flow" else ""
        never = ' opacity=".45"' if line.edge.always is False else ""
        paint = self.paint.stroke(tone)
        paint = paint.replace('class="', 'class="edge ') if "class=" in paint else f'class="edge" {paint}'
        return f'<path {paint} {self._ends(line.edge)} d="{_curve(points)}" stroke-width="1.5"{dashed}{never}/>'

    def _ends(self, edge: Edge) -> str:
        return f'data-from="{self.numbers[edge.source]}" data-to="{self.numbers[edge.target]}"'

    def head(self, line: Line) -> str:
        (x0, y0), (x, y) = _clean(line.points)[-2:]
        tone = {"error": "bad", "back": "agent"}.get(line.edge.kind, "line")
        dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
        back, side = 7.0, 4.0
        bx, by = x - dx * back, y - dy * back
        corners = (
            f"M{_n(x)} {_n(y)}L{_n(bx - dy * side)} {_n(by + dx * side)}L{_n(bx + dy * side)} {_n(by - dx * side)}Z"
        )
        return f'<path d="{corners}" {self.paint.fill(tone)}/>'

    def label(self, label: Label) -> str:
        whole = "" if label.text.whole else f"<title>{_xml(label.of.label)}</title>"
        text = _text(label.x, label.y + 11, label.text, 11, self.paint.fill("muted"))
        return f'<g class="label">{whole}{text}</g>'

    # -- boxes

    def box(self, box: Box) -> str:
        card = box.card
        node = card.node
        drawn = {"dot": self.dot, "pill": self.pill, "card": self.card}[card.shape](box)
        faded = ' opacity=".45"' if node.run is not None and node.run.status == "skipped" else ""
        return (
            f'<g class="node" data-n="{self.numbers[node.id]}" data-path="{_xml(node.id)}"{faded}>'
            f"<title>{_xml(_tooltip(card))}</title>{drawn}</g>"
        )

    def _tone(self, card: Card) -> tuple[str, float]:
        run, change = card.node.run, card.node.change
        if run is not None and run.status in ("tripwire", "error"):
            return "bad", 2.5
        if change is not None:
            return {"added": "good", "removed": "bad", "moved": "info", "changed": "warn"}[change], 2.5
        return "edge", 1.25

    def dot(self, box: Box) -> str:
        kind = box.card.node.kind
        cx, cy, r = box.x + box.w / 2, box.y + box.h / 2, box.w / 2
        if kind == "start":
            return f'<circle cx="{_n(cx)}" cy="{_n(cy)}" r="{_n(r - 1)}" {self.paint.fill("ink")}/>'
        if kind == "end":
            ring = self.paint.stroke("ink", fill="card")
            return (
                f'<circle cx="{_n(cx)}" cy="{_n(cy)}" r="{_n(r - 1.25)}" {ring} stroke-width="2"/>'
                f'<circle cx="{_n(cx)}" cy="{_n(cy)}" r="{_n(r - 5)}" {self.paint.fill("ink")}/>'
            )
        tone, width = self._tone(box.card)
        tone = kind if tone == "edge" and kind in ("branch", "loop", "foreach") else tone
        shape = self.paint.stroke(tone, fill="card")
        if kind == "branch":
            path = (
                f"M{_n(cx)} {_n(box.y)}L{_n(box.x + box.w)} {_n(cy)}L{_n(cx)} {_n(box.y + box.h)}L{_n(box.x)} {_n(cy)}Z"
            )
            outline = f'<path d="{path}" {shape} stroke-width="{width}" stroke-linejoin="round"/>'
        else:
            outline = f'<circle cx="{_n(cx)}" cy="{_n(cy)}" r="{_n(r - width / 2)}" {shape} stroke-width="{width}"/>'
        return outline + self._icon(kind, cx, cy, 0.8)

    def pill(self, box: Box) -> str:
        tone, width = self._tone(box.card)
        kind = box.card.node.kind
        rect = f'<rect {_place(box)} rx="15" {self.paint.stroke(tone, fill="card")} stroke-width="{width}"/>'
        text = _text(box.x + 30, box.y + 19, box.card.title, 11, self.paint.fill("ink"), style="italic")
        return rect + self._icon(kind, box.x + 17, box.y + 15, 0.75) + text + self._chips(box, box.y + 28, 12)

    def card(self, box: Box) -> str:
        card = box.card
        kind = "memory" if "memory" in card.node.facts else card.node.kind
        tone, width = self._tone(card)
        middle = box.y + (23 if card.sub else 20)
        out = [
            f'<rect {_place(box)} rx="9" {self.paint.stroke(tone, fill="card")} stroke-width="{width}"/>',
            (
                f'<rect x="{_n(box.x + 9)}" y="{_n(middle - 14)}" width="28" height="28" rx="8" '
                f'{self.paint.fill(kind)} fill-opacity=".12"/>'
            ),
            self._icon(kind, box.x + 23, middle, 1.1),
        ]
        title_y = middle - 2.5 if card.sub else middle + 4.5
        out.append(_text(box.x + 46, title_y, card.title, 13, self.paint.fill("ink"), weight=600))
        if card.sub is not None:
            out.append(_text(box.x + 46, middle + 12.5, card.sub, 11, self.paint.fill("muted")))
        out.append(self._chips(box, middle + 23, 10))
        run = card.node.run
        if run is not None and run.total_ms and self.slowest:
            wide = max(2.0, (box.w - 18) * run.total_ms / self.slowest)
            out.append(
                f'<rect x="{_n(box.x + 9)}" y="{_n(box.y + box.h - 5)}" width="{_n(wide)}" height="2.5" rx="1.2" '
                f"{self.paint.fill(kind)}/>"
            )
        return "".join(out)

    def _icon(self, kind: str, cx: float, cy: float, scale: float) -> str:
        where = f"translate({_n(cx - 8 * scale)} {_n(cy - 8 * scale)}) scale({scale})"
        return (
            f'<path transform="{where}" d="{ICONS[kind]}" {self.paint.stroke(kind)} stroke-width="1.5" '
            'stroke-linecap="round" stroke-linejoin="round"/>'
        )

    def _chips(self, box: Box, y: float, left: float) -> str:
        out: list[str] = []
        for row in box.card.chips:
            x = box.x + left
            for chip in row:
                out.append(self._chip(chip, x, y))
                x += chip.width + 5
            y += 20
        return "".join(out)

    def _chip(self, chip: Chip, x: float, y: float) -> str:
        rect = f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(chip.width)}" height="16" rx="8" {self.paint.fill(chip.tone)}'
        text = _text(x + 6, y + 11.5, chip.text, CHIP_SIZE, self.paint.fill(chip.tone))
        return f'{rect} fill-opacity=".13"/>{text}'


def _tooltip(card: Card) -> str:
    node = card.node
    lines = [node.id, node.description, node.condition]
    if node.run is not None and node.run.reason:
        lines.append(f"{node.run.status}: {node.run.reason}")
    return " — ".join(line for line in lines if line)


# -- pieces of a document


def _xml(text: str) -> str:
    return escape(visible(text), {'"': "&quot;"})


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _place(box: Box | Frame) -> str:
    return f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.w)}" height="{_n(box.h)}"'


def _text(x: float, y: float, text: Text, size: float, paint: str, *, weight: int = 400, style: str = "") -> str:
    forced = "" if text.exact else f' textLength="{_n(text.width)}" lengthAdjust="spacingAndGlyphs"'
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    slanted = f' font-style="{style}"' if style else ""
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" {paint}{bold}{slanted}{forced}>{_xml(text.text)}</text>'
    )


def _clean(points: Sequence[Point]) -> list[Point]:
    """Leave out points at which nothing turns."""
    kept: list[Point] = []
    for point in points:
        if kept and abs(kept[-1][0] - point[0]) < 0.05 and abs(kept[-1][1] - point[1]) < 0.05:
            continue
        if len(kept) > 1 and _straight(kept[-2], kept[-1], point):
            kept[-1] = point
        else:
            kept.append(point)
    return kept


def _straight(a: Point, b: Point, c: Point) -> bool:
    return (abs(a[0] - b[0]) < 0.05 and abs(b[0] - c[0]) < 0.05) or (
        abs(a[1] - b[1]) < 0.05 and abs(b[1] - c[1]) < 0.05
    )


def _curve(points: Sequence[Point]) -> str:
    """Return a path through the corners, which are rounded; it ends under the arrow's head."""
    (x0, y0), (x1, y1) = points[-2:]
    end = (x1 - 4 * ((x1 > x0) - (x1 < x0)), y1 - 4 * ((y1 > y0) - (y1 < y0)))
    path = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for a, b, c in zip(points, points[1:], points[2:], strict=False):
        before, after = _length(a, b), _length(b, c)
        r = min(_ROUND, before / 2, after / 2)
        start = (b[0] + (a[0] - b[0]) * r / before, b[1] + (a[1] - b[1]) * r / before)
        stop = (b[0] + (c[0] - b[0]) * r / after, b[1] + (c[1] - b[1]) * r / after)
        path.append(f"L{_n(start[0])} {_n(start[1])}Q{_n(b[0])} {_n(b[1])} {_n(stop[0])} {_n(stop[1])}")
    path.append(f"L{_n(end[0])} {_n(end[1])}")
    return "".join(path)


def _length(a: Point, b: Point) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])
