"""A graph as an outline: for a terminal, and for people who do not look at pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sluiceway.graphs._cards import title_of
from sluiceway.graphs._dot import words_of
from sluiceway.graphs._measure import visible
from sluiceway.graphs._sketch import Group, Node, Sketch

__all__ = ["Outline", "as_text", "outlined"]


@dataclass(frozen=True, slots=True)
class Outline:
    """A node or group, and what is inside of it.

    Args:
        kind: What it is: a kind of node or group.
        label: What it is called.
        details: Hooks; effects, options and what became of it in a run.
        status: What became of it in a run, or `""`.
        change: How it differs from another graph, or `""`.
        children: What is inside, in order.
    """

    kind: str
    label: str
    details: tuple[str, ...] = ()
    status: str = ""
    change: str = ""
    children: tuple[Outline, ...] = field(default=())


def outlined(sketch: Sketch) -> Outline:
    """Return the outline of a graph."""
    kind = "agent" if sketch.root.kind == "agent" else "workflow"
    return Outline(kind, visible(sketch.id), children=tuple(_children(sketch, sketch.root)))


def as_text(outline: Outline) -> str:
    """Return an outline as lines, one per node."""
    lines = [f"{outline.label} ({outline.kind})"]
    lines += _lines(outline.children, "")
    return "\n".join(lines) + "\n"


def _lines(items: tuple[Outline, ...], indent: str) -> Iterator[str]:
    for number, item in enumerate(items, start=1):
        last = number == len(items)
        told = f"  [{' | '.join(item.details)}]" if item.details else ""
        yield f"{indent}{'└─ ' if last else '├─ '}{item.label}{told}"
        yield from _lines(item.children, indent + ("   " if last else "│  "))


def _children(sketch: Sketch, group: Group) -> Iterator[Outline]:
    for member in group.members:
        node = sketch.nodes.get(member)
        if node is None:
            yield _group(sketch, sketch.groups[member])
        elif node.kind not in ("start", "end", "fork", "join", "branch", "loop", "foreach"):
            yield _node(sketch, node)


def _node(sketch: Sketch, node: Node) -> Outline:
    words = {"map": "map: ", "sleep": "sleep ", "model": "model "}
    return Outline(
        node.kind,
        words.get(node.kind, "") + visible(node.label),
        tuple(words_of(sketch, node)),
        node.run.status if node.run else "",
        node.change or "",
    )


def _group(sketch: Sketch, group: Group) -> Outline:
    children = tuple(_children(sketch, group))
    if group.kind == "lane" and len(children) == 1 and not group.label:
        return children[0]
    names = {"parallel": "parallel", "branch": "branch", "lane": group.label or group.key}
    label = names.get(group.kind, group.label)
    if group.kind == "parallel" and group.label:
        label = f"parallel, {group.label}"
    status = group.run.status if group.run else ""
    told = title_of(group).removeprefix(group.label).removeprefix(" · ")
    return Outline(group.kind, visible(label), (told,) if told else (), status, group.change or "", children)
