"""What can be drawn, and the drawing: as methods of it, and as functions for stored graphs."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, cast

from sluiceway.errors import GraphError
from sluiceway.graphs._agent_view import sketch_list
from sluiceway.graphs._diff import GraphDiff, compare
from sluiceway.graphs._dot import dot
from sluiceway.graphs._mermaid import mermaid
from sluiceway.graphs._networkx import from_json, from_networkx, is_networkx, to_json, to_networkx
from sluiceway.graphs._outline import Outline, as_text, outlined
from sluiceway.graphs._overlay import RunLike, overlaid
from sluiceway.graphs._palette import Theme
from sluiceway.graphs._sketch import Sketch
from sluiceway.graphs._svg import draw

__all__ = [
    "Drawn", "diff", "diff_to_svg", "graph_from_json", "graph_to_json", "outline", "overlay", "sketch_of",
    "to_dot", "to_mermaid", "to_svg", "to_text",
]  # fmt: skip


class Drawn(ABC):
    """Something with a graph: a workflow or an agent.

    A `run` to put on a picture is a result; an iterable of what an observer got; or the path
    of a run saved as JSON lines.
    """

    __slots__ = ()

    @abstractmethod
    def _sketch(self) -> Sketch:
        """Return the graph."""
        ...

    @property
    def graph(self):  # noqa: ANN202 - networkx is loaded on use; a checker infers the type
        """The graph as a new `networkx.DiGraph`; node ids are paths, all attributes plain JSON."""
        return to_networkx(self._sketch())

    def to_svg(self, *, run: RunLike | None = None, theme: Theme = "auto") -> str:
        """Return the graph as a picture: a whole SVG document.

        Args:
            run: A run to put on it.
            theme: `light`, `dark`, or `auto`: what the viewer asks for.
        """
        return to_svg(self._sketch(), run=run, theme=theme)

    def to_dot(self, *, run: RunLike | None = None) -> str:
        """Return the graph in DOT, for Graphviz.

        Args:
            run: A run to put on it: a result, events, or JSON lines; None: none.
        """
        return to_dot(self._sketch(), run=run)

    def to_mermaid(self, *, run: RunLike | None = None) -> str:
        """Return the graph as a flowchart of Mermaid.

        Args:
            run: A run to put on it; None: none.
        """
        return to_mermaid(self._sketch(), run=run)

    def to_text(self, *, run: RunLike | None = None) -> str:
        """Return the graph as a tree of lines.

        Args:
            run: A run to put on it; None: none.
        """
        return to_text(self._sketch(), run=run)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the graph as a notebook shows it."""
        del include, exclude
        try:
            sketch = self._sketch()
        except GraphError as error:  # a builder that is not finished yet is shown all the same
            return {"text/plain": f"{self!r}: {error}"}
        return {"image/svg+xml": draw([("", sketch)]), "text/plain": as_text(outlined(sketch))}


def sketch_of(thing: object) -> Sketch:
    """Return the graph of a workflow, an agent or a list of processors, or read a stored one.

    Raises:
        GraphError: There is no graph in it.
    """
    if isinstance(thing, Sketch):
        return thing
    if isinstance(thing, Drawn):
        return thing._sketch()  # pyright: ignore[reportPrivateUsage] - the other half of this module
    if is_networkx(thing):
        return from_networkx(thing)
    if isinstance(thing, Mapping):
        return from_json(cast("Mapping[str, Any]", thing))
    if isinstance(thing, Sequence) and not isinstance(thing, (str, bytes)):
        return sketch_list(cast("Sequence[object]", thing))
    raise GraphError(
        f"a {type(thing).__name__} has no graph; give a workflow, an agent, a list of processors or a graph"
    )


def _with_run(thing: object, run: RunLike | None) -> Sketch:
    sketch = sketch_of(thing)
    return sketch if run is None else overlaid(sketch, run)


def overlay(thing: object, run: RunLike):  # noqa: ANN202 - networkx is loaded on use; a checker infers the type
    """Return a graph as a `networkx.DiGraph` with what became of each node in `run`.

    Args:
        thing: A workflow, an agent, a list of processors, or a graph.
        run: A result; what an observer got; or the path of a run saved as JSON lines.

    Raises:
        ConfigurationError: A run that cannot be read, or that this graph had no part in.
    """
    return to_networkx(overlaid(sketch_of(thing), run))


def to_svg(thing: object, *, run: RunLike | None = None, theme: Theme = "auto") -> str:
    """Return a graph as a picture: a whole SVG document, the same bytes for the same graph.

    Args:
        thing: A workflow, an agent, a list of processors, or a graph.
        run: A run to put on it.
        theme: `light`, `dark`, or `auto`: what the viewer asks for.

    Raises:
        GraphError: There is no graph in it.
        ConfigurationError: Another theme, or a run that cannot be used.

    Examples:
        >>> from sluiceway import Workflow
        >>> to_svg(Workflow("one").then(str.upper)).startswith("<svg")
        True
    """
    return draw([("", _with_run(thing, run))], theme)


def to_dot(thing: object, *, run: RunLike | None = None) -> str:
    """Return a graph in DOT, for Graphviz. Any text may stand in its ids.

    Args:
        thing: A workflow, an agent, a list of processors, or their graph.
        run: A run to put on it.
    """
    return dot(_with_run(thing, run))


def to_mermaid(thing: object, *, run: RunLike | None = None) -> str:
    """Return a graph as a flowchart of Mermaid. Any text may stand in its ids.

    Args:
        thing: A workflow, an agent, a list of processors, or their graph.
        run: A run to put on it.
    """
    return mermaid(_with_run(thing, run))


def to_text(thing: object, *, run: RunLike | None = None) -> str:
    """Return a graph as a tree of lines.

    Args:
        thing: A workflow, an agent, a list of processors, or their graph.
        run: A run to put on it.
    """
    return as_text(outline(thing, run=run))


def outline(thing: object, *, run: RunLike | None = None) -> Outline:
    """Return a graph as an outline, for a terminal.

    Args:
        thing: A workflow, an agent, a list of processors, or their graph.
        run: A run to put on it.
    """
    return outlined(_with_run(thing, run))


def graph_to_json(thing: object, *, run: RunLike | None = None) -> str:
    """Return a graph in node-link form, for storage: see `networkx.node_link_data`.

    Args:
        thing: A workflow, an agent, a list of processors, or their graph.
        run: A run to put on it.

    Raises:
        GraphError: There is no graph in it.
    """
    return json.dumps(to_json(_with_run(thing, run)), indent=1) + "\n"


def graph_from_json(text: str):  # noqa: ANN202 - networkx is loaded on use; a checker infers the type
    """Return the `networkx.DiGraph` that was stored.

    Args:
        text: What `graph_to_json` returned.

    Raises:
        GraphError: It is none.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise GraphError(f"this is not a graph in node-link form: {error}") from error
    if not isinstance(data, Mapping):
        raise GraphError("this is not a graph in node-link form: not an object")
    return to_networkx(from_json(cast("Mapping[str, Any]", data)))


def diff(old: object, new: object) -> GraphDiff:
    """Return what is different between two graphs: added, removed, moved and changed nodes.

    Args:
        old: A workflow, an agent, a list of processors, or a graph.
        new: Likewise.

    Raises:
        GraphError: There is no graph in one of them.
    """
    return compare(sketch_of(old), sketch_of(new))


def diff_to_svg(difference: GraphDiff, *, theme: Theme = "auto") -> str:
    """Return both graphs, one below the other, with what is different marked.

    Args:
        difference: What `diff` returned.
        theme: Colours; `auto` follows the reader's.
    """
    return draw([("before", difference.old), ("after", difference.new)], theme)
