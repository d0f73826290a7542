"""`networkx` and JSON: the forms in which a graph is handed out, stored and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, cast

from sluiceway.errors import GraphError
from sluiceway.graphs._sketch import ROOT, Edge, Group, Node, NodeRun, Sketch
from sluiceway.processors import Effects

__all__ = ["from_json", "from_networkx", "is_networkx", "to_json", "to_networkx"]

_FORMAT: Final = 1
_NODE: Final = tuple(f.name for f in fields(Node) if f.name != "id")
_EDGE: Final = tuple(f.name for f in fields(Edge) if f.name not in ("source", "target"))
_GROUP: Final = tuple(f.name for f in fields(Group) if f.name != "id")


def to_networkx(sketch: Sketch):  # noqa: ANN202 - networkx is loaded on use; a checker infers the type
    """Return a graph as a `networkx.DiGraph`; all attributes are plain JSON."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.graph.update(_head(sketch))
    for node in sketch.nodes.values():
        graph.add_node(node.id, **_plain(node, _NODE))
    for edge in sketch.edges:
        graph.add_edge(edge.source, edge.target, **_plain(edge, _EDGE))
    return graph


def to_json(sketch: Sketch) -> dict[str, Any]:
    """Return a graph in node-link form, as `networkx.node_link_data` has it."""
    return {
        "directed": True,
        "multigraph": False,
        "graph": _head(sketch),
        "nodes": [{**_plain(node, _NODE), "id": node.id} for node in sketch.nodes.values()],
        "edges": [{**_plain(edge, _EDGE), "source": edge.source, "target": edge.target} for edge in sketch.edges],
    }


def _head(sketch: Sketch) -> dict[str, Any]:
    groups = {group.id: _plain(group, _GROUP) for group in sketch.groups.values()}
    return {"id": sketch.id, "format": _FORMAT, "groups": groups}


def _plain(thing: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _value(getattr(thing, name)) for name in names}


def _value(value: object) -> Any:
    if isinstance(value, tuple):
        return list(cast("tuple[object, ...]", value))
    if isinstance(value, Mapping):
        return {key: _value(item) for key, item in cast("Mapping[str, object]", value).items()}
    if isinstance(value, Effects):
        return {
            "reads": sorted(value.reads),
            "writes": sorted(value.writes),
            "aborts": value.aborts,
            "external": value.external,
        }
    if isinstance(value, NodeRun):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    return value


def is_networkx(thing: object) -> bool:
    """Whether something is a `networkx` graph."""
    return type(thing).__module__.startswith("networkx.")


def from_networkx(graph: object) -> Sketch:
    """Read a graph that `to_networkx` made, or a copy of one with other attributes.

    Raises:
        GraphError: It is not such a graph.
    """
    given = cast("Any", graph)
    return from_json(
        {
            "graph": dict(given.graph),
            "nodes": [{**data, "id": node} for node, data in given.nodes(data=True)],
            "edges": [{**data, "source": source, "target": target} for source, target, data in given.edges(data=True)],
        }
    )


def from_json(data: Mapping[str, Any]) -> Sketch:
    """Read a graph in node-link form.

    Raises:
        GraphError: It is none, or of a later format.
    """
    try:
        head = data["graph"]
        if head["format"] != _FORMAT:
            raise GraphError(f"this is a graph of format {head['format']!r}; this version reads {_FORMAT}")
        nodes = {item["id"]: _node(item) for item in data["nodes"]}
        edges = tuple(Edge(e["source"], e["target"], *(e[name] for name in _EDGE)) for e in data["edges"])
        groups = {key: Group(key, *(_tupled(item[name]) for name in _GROUP)) for key, item in head["groups"].items()}
        sketch = Sketch(head["id"], nodes, edges, groups)
    except (KeyError, TypeError, AttributeError) as error:
        raise GraphError(f"this is not a graph in node-link form: {type(error).__name__}: {error}") from error
    _check(sketch)
    return sketch


def _node(item: Mapping[str, Any]) -> Node:
    values = {name: _tupled(item[name]) for name in _NODE}
    if values["effects"] is not None:
        values["effects"] = {
            hook: Effects(e["reads"], e["writes"], aborts=e["aborts"], external=e["external"])
            for hook, e in values["effects"].items()
        }
    if values["run"] is not None:
        values["run"] = NodeRun(**values["run"])
    return Node(item["id"], **values)


def _tupled(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


def _check(sketch: Sketch) -> None:
    members = [member for group in sketch.groups.values() for member in group.members]
    known = {*sketch.nodes, *sketch.groups}
    if ROOT not in sketch.groups or {*members, ROOT} != known or len(members) != len(known) - 1:
        raise GraphError("this is not a graph in node-link form: its groups do not hold each node once")
    for edge in sketch.edges:
        if edge.source not in sketch.nodes or edge.target not in sketch.nodes:
            raise GraphError(f"this is not a graph in node-link form: an edge leads to {edge.target!r}")
