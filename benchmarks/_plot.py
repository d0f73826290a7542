"""A picture of how cost grows: a panel for each thing that grows, time and memory in it, in SVG of our own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log2
from xml.sax.saxutils import escape

from benchmarks._row import Row
from sluiceway.graphs._palette import Paint

__all__ = ["growth_plot"]

COLUMNS = 3
PANEL_W, PANEL_H = 290, 230
LEFT, TOP, PLOT_W, PLOT_H = 44, 46, 200, 140
HEAD, MARGIN = 84, 14
COLOURS = {"time": "processor", "memory": "tool"}
TITLE = "How cost grows with the work"
TOLD = "Time and memory relative to the smallest size, both axes logarithmic. The dashed line is linear growth."


def growth_plot(rows: Iterable[Row]) -> str:
    """Return the picture of all rows with a curve.

    Args:
        rows: Those named `time by …` and `memory by …` share the panel of what they grow by.
    """
    panels: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.curve:
            kind, _, subject = row.name.partition(" by ")
            panels.setdefault(subject, {})[kind] = row
    paint = Paint("auto")
    body: list[str] = []
    for index, (subject, curves) in enumerate(panels.items()):
        x = MARGIN + index % COLUMNS * PANEL_W
        y = HEAD + index // COLUMNS * PANEL_H
        body += [f'<g transform="translate({x} {y})">', *_panel(subject, curves, paint), "</g>"]
    width = 2 * MARGIN + min(COLUMNS, max(1, len(panels))) * PANEL_W
    height = HEAD + MARGIN + -(-len(panels) // COLUMNS) * PANEL_H
    width = max(width, 640)
    told = f"{TOLD} {' '.join(_said(subject, curves) for subject, curves in panels.items())}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sluiceway" role="img" aria-labelledby="growth-t growth-d" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" style="max-width:100%;height:auto" '
        "font-family=\"Inter, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', sans-serif\">"
        f'<title id="growth-t">{TITLE}</title><desc id="growth-d">{escape(told)}</desc>{paint.sheet()}'
        f'<rect width="{width}" height="{height}" rx="14" {paint.fill("ground")}/>'
        f"{_text(MARGIN + 8, 32, TITLE, paint, size=17, bold=True)}{''.join(_legend(paint))}{''.join(body)}</svg>\n"
    )


def _legend(paint: Paint) -> list[str]:
    out: list[str] = []
    x = MARGIN + 8
    for name, colour in (*COLOURS.items(), ("linear", "muted")):
        dash = ' stroke-dasharray="5 4"' if name == "linear" else ""
        out.append(f'<path d="M{x} 56h26" stroke-width="2.5"{dash} {paint.stroke(colour)}/>')
        out.append(_text(x + 33, 60, name, paint, colour="ink"))
        x += 110
    return out


def _panel(subject: str, curves: Mapping[str, Row], paint: Paint) -> list[str]:
    sizes = [size for size, _ in next(iter(curves.values())).curve]
    relative = {
        kind: [(size / row.curve[0][0], cost / row.curve[0][1]) for size, cost in row.curve]
        for kind, row in curves.items()
    }
    top = max(sizes[-1] / sizes[0], *(ratio for points in relative.values() for _, ratio in points))
    wide = log2(sizes[-1] / sizes[0])

    def at(size: float, cost: float) -> tuple[float, float]:
        up = log2(max(cost, 1.0)) / log2(top)
        return LEFT + log2(size) / wide * PLOT_W, TOP + PLOT_H * (1 - up)

    out = [_text(LEFT, 26, f"by {subject}", paint, size=14, bold=True)]
    out.append(f'<path d="M{LEFT} {TOP}v{PLOT_H}h{PLOT_W}" stroke-width="1" {paint.stroke("edge")}/>')
    costs = [2**power for power in range(int(log2(top)) + 1)]
    out += [_text(LEFT - 8, at(1, cost)[1] + 4, f"{cost}×", paint, anchor="end") for cost in costs]
    places = [(at(size / sizes[0], 1)[0], size) for size in sizes]
    out += [_text(x, TOP + PLOT_H + 18, _count(size), paint, anchor="middle") for x, size in places]
    out.append(_line([at(1, 1), at(sizes[-1] / sizes[0], sizes[-1] / sizes[0])], paint, "muted", dashed=True))
    last = -1e9
    for kind, points in sorted(relative.items(), key=lambda item: -item[1][-1][1]):
        colour = COLOURS[kind]
        dots = [at(*point) for point in points]
        out.append(_line(dots, paint, colour))
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" {paint.fill(colour)}/>' for x, y in dots]
        x, y = dots[-1]
        last = max(y, last + 14)
        out.append(_text(x + 8, last + 4, f"{points[-1][1]:.1f}×", paint, colour=colour))
    return out


def _said(subject: str, curves: Mapping[str, Row]) -> str:
    costs = [f"{kind} {row.curve[-1][1] / row.curve[0][1]:.1f} times" for kind, row in curves.items()]
    first = next(iter(curves.values())).curve
    return f"{first[-1][0] / first[0][0]:g} times the {subject}: {', '.join(costs)}."


def _line(places: Sequence[tuple[float, float]], paint: Paint, colour: str, *, dashed: bool = False) -> str:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    style = ' stroke-width="1.5" stroke-dasharray="5 4"' if dashed else ' stroke-width="2.5"'
    return f'<path d="M{path}"{style} {paint.stroke(colour)}/>'


def _text(
    x: float,
    y: float,
    text: str,
    paint: Paint,
    *,
    size: int = 12,
    bold: bool = False,
    anchor: str = "start",
    colour: str | None = None,
) -> str:
    weight = ' font-weight="650"' if bold else ""
    fill = paint.fill(colour or ("ink" if bold else "muted"))
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{weight} text-anchor="{anchor}" {fill}>{escape(text)}</text>'
    )


def _count(size: int) -> str:
    return f"{size // 1000}k" if size >= 1000 and size % 1000 == 0 else f"{size:,}"
