"""Mermaid, for pages that draw it themselves."""

from __future__ import annotations

from typing import Final

from sluiceway.graphs._cards import title_of
from sluiceway.graphs._dot import words_of
from sluiceway.graphs._measure import visible
from sluiceway.graphs._sketch import Edge, Group, Node, Sketch

__all__ = ["mermaid"]

_SHAPES: Final = {
    "start": ("((", "))"), "end": ("(((", ")))"), "fork": ("((", "))"), "join": ("((", "))"), "branch": ("{", "}"),
    "loop": ("((", "))"), "foreach": ("[[", "]]"), "map": ("([", "])"), "sleep": ("([", "])"),
}  # fmt: skip
_SIGNS: Final = {
    "start": "start", "end": "end", "fork": "all", "join": "join", "branch": "?", "loop": "again?", "foreach": "each"
}  # fmt: skip
_CLASSES: Final = {
    "processor": "stroke:#2f55d4", "function": "stroke:#0a7a73", "agent": "stroke:#7338c0", "tool": "stroke:#a85d06",
    "model": "stroke:#bb2a6a", "memory": "stroke:#18764a", "tripwire": "stroke:#c22332,stroke-width:3px",
    "error": "stroke:#c22332,stroke-width:3px", "skipped": "opacity:0.4",
}  # fmt: skip


def mermaid(sketch: Sketch) -> str:
    """Return a graph as a flowchart of Mermaid. Any text may stand in its ids."""
    names = {node_id: f"n{number}" for number, node_id in enumerate(sketch.nodes)}
    numbers = {group_id: number for number, group_id in enumerate(sketch.groups)}
    lines = ["flowchart LR"]
    _group(sketch, sketch.root, names, numbers, lines)
    lines += [_edge(edge, names) for edge in sketch.edges]
    marks = [(names[node.id], mark) for node in sketch.nodes.values() if (mark := _mark(node))]
    for mark in dict.fromkeys(mark for _, mark in marks):
        lines.append(f"  classDef {mark} {_CLASSES[mark]}")
        lines.append(f"  class {','.join(name for name, its in marks if its == mark)} {mark}")
    return "\n".join(lines) + "\n"


def _mark(node: Node) -> str | None:
    if node.run is not None and node.run.status in _CLASSES:
        return node.run.status
    return node.kind if node.kind in _CLASSES else None


def _group(sketch: Sketch, group: Group, names: dict[str, str], numbers: dict[str, int], lines: list[str]) -> None:
    drawn = group.kind not in ("root", "agent", "lane", "parallel", "branch")
    if drawn:
        lines.append(f"  subgraph g{numbers[group.id]}[{_quoted(title_of(group))}]")
    for member in group.members:
        if member in sketch.nodes:
            node = sketch.nodes[member]
            left, right = _SHAPES.get(node.kind, ("[", "]"))
            words = [node.label, *words_of(sketch, node)] if node.kind not in _SIGNS else [_SIGNS[node.kind]]
            lines.append(f"  {names[member]}{left}{_quoted(*words)}{right}")
        else:
            _group(sketch, sketch.groups[member], names, numbers, lines)
    if drawn:
        lines.append("  end")


def _edge(edge: Edge, names: dict[str, str]) -> str:
    arrow = "-->" if edge.kind == "flow" else "-.->"
    label = f"|{_quoted(edge.label)}|" if edge.label else ""
    return f"  {names[edge.source]} {arrow}{label} {names[edge.target]}"


def _quoted(*lines: str) -> str:
    """Return lines as one quoted text of Mermaid, in which markup and signs of its own mean nothing."""
    return '"' + "<br/>".join("".join(map(_escaped, visible(line))) for line in lines) + ' "'


def _escaped(char: str) -> str:
    return char if char.isalnum() or char in " .,:-_/()=·›…!?%" else f"#{ord(char)};"
