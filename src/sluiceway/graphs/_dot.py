"""DOT, for Graphviz."""

from __future__ import annotations

from typing import Final

from sluiceway.graphs._cards import effect_words, hook_words, option_words, run_chips, title_of
from sluiceway.graphs._layout import hooks_here
from sluiceway.graphs._measure import fit, visible
from sluiceway.graphs._sketch import Edge, Group, Node, Sketch

__all__ = ["dot", "words_of"]

_ROOM: Final = 320
"""How wide a name may be; all of it is in the tooltip."""
_FONT: Final = 'fontname="Helvetica"'
_SHAPES: Final = {
    "start": 'shape=circle, style=filled, fillcolor="#172033", width=0.2, fixedsize=true, label=""',
    "end": 'shape=doublecircle, style=filled, fillcolor="#172033", width=0.14, fixedsize=true, label=""',
    "fork": 'shape=point, width=0.12, label=""',
    "join": 'shape=point, width=0.12, label=""',
    "branch": 'shape=diamond, width=0.35, height=0.35, label="?", fixedsize=true',
    "loop": 'shape=circle, width=0.3, label="↻", fixedsize=true',
    "foreach": 'shape=square, width=0.28, label="∀", fixedsize=true',
    "map": 'shape=box, style="rounded,filled", fillcolor="#f3f5f9", fontsize=10',
    "sleep": 'shape=box, style="rounded,filled", fillcolor="#f3f5f9", fontsize=10',
}
_TONES: Final = {
    "processor": "#2f55d4", "function": "#0a7a73", "agent": "#7338c0", "tool": "#a85d06", "model": "#bb2a6a",
    "memory": "#18764a",
}  # fmt: skip


def dot(sketch: Sketch) -> str:
    """Return a graph in DOT. Any text may stand in its ids."""
    names = {node_id: f"n{number}" for number, node_id in enumerate(sketch.nodes)}
    lines = [
        f"digraph {_quoted(sketch.id)} {{",
        f"  graph [rankdir=LR, compound=true, {_FONT}, label={_quoted(sketch.id)}, labelloc=t];",
        f'  node [shape=box, style="rounded,filled", fillcolor=white, color="#c9d1de", {_FONT}, fontsize=12];',
        f'  edge [color="#7d889c", {_FONT}, fontsize=10, arrowsize=0.7];',
    ]
    numbers = {group_id: number for number, group_id in enumerate(sketch.groups)}
    _group(sketch, sketch.root, names, numbers, lines)
    lines += [_edge(edge, names) for edge in sketch.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _group(sketch: Sketch, group: Group, names: dict[str, str], numbers: dict[str, int], lines: list[str]) -> None:
    drawn = group.kind not in ("root", "agent", "lane", "parallel", "branch")
    if drawn:
        dashed = ",dashed" if group.kind in ("loop", "foreach") else ""
        lines.append(f"  subgraph cluster_{numbers[group.id]} {{")
        lines.append(
            f'    label={_quoted(title_of(group))}; labeljust=l; style="rounded{dashed}"; color="#9aa9cf"; fontsize=11;'
        )
    for member in group.members:
        if member in sketch.nodes:
            node = sketch.nodes[member]
            lines.append(f"  {names[member]} [{_attributes(sketch, node)}];")
        else:
            _group(sketch, sketch.groups[member], names, numbers, lines)
    if drawn:
        lines.append("  }")


def _attributes(sketch: Sketch, node: Node) -> str:
    parts = [f"tooltip={_quoted(node.id)}"]
    shape = _SHAPES.get(node.kind, "")
    if "label=" not in shape:
        name = fit(node.label, 12, _ROOM).text
        parts.append(f"label={_quoted(chr(10).join([name, *words_of(sketch, node)]), lines=True)}")
    if shape:
        parts.append(shape)
    if node.kind in _TONES:
        parts.append(f'color="{_TONES[node.kind]}"')
    run = node.run
    if run is not None and run.status in ("tripwire", "error"):
        parts.append('color="#c22332", penwidth=2.5')
    elif run is not None and run.status == "skipped":
        parts.append('fontcolor="#9aa3b2", style="rounded,dashed"')
    return ", ".join(parts)


def words_of(sketch: Sketch, node: Node) -> list[str]:
    """Return the lines under the name of a node: hooks; effects, options and run."""
    hooks = hooks_here(sketch, node)
    chips = [word for word, _ in (*effect_words(node, hooks), *option_words(node), *run_chips(node.run))]
    return [line for line in (hook_words(hooks), " · ".join(chips)) if line]


def _edge(edge: Edge, names: dict[str, str]) -> str:
    parts: list[str] = []
    if edge.label:
        parts.append(f"label={_quoted(edge.label)}")
    if edge.kind != "flow":
        colour = "#c22332" if edge.kind == "error" else "#7338c0"
        parts.append(f'style=dashed, color="{colour}"')
        if edge.label != "calls":  # tools in no place of their own are too much for dot beside wide names
            parts.append("constraint=false")
    told = f" [{', '.join(parts)}]" if parts else ""
    return f"  {names[edge.source]} -> {names[edge.target]}{told};"


def _quoted(text: str, *, lines: bool = False) -> str:
    """Return a text as a quoted string of DOT, in which `"`, a backslash and `&` mean something."""
    given = text.split("\n") if lines else [text]
    escaped = [visible(line).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in given]
    return '"' + "\\n".join(escaped) + '"'
