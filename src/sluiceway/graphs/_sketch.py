"""`Sketch`: what is in a graph, as the pictures, the checks and the differences read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sluiceway.processors import Effects

__all__ = [
    "ROOT",
    "Change",
    "Edge",
    "EdgeKind",
    "Group",
    "GroupKind",
    "Node",
    "NodeKind",
    "NodeRun",
    "Sketch",
]

NodeKind: TypeAlias = Literal[
    "start", "end", "processor", "function", "agent", "tool", "step", "map", "sleep",
    "fork", "join", "branch", "loop", "foreach", "model", "dynamic",
]  # fmt: skip
GroupKind: TypeAlias = Literal[
    "root", "workflow", "parallel", "branch", "lane", "loop", "foreach", "list", "agent", "tools", "errors"
]
EdgeKind: TypeAlias = Literal["flow", "back", "error"]
Change: TypeAlias = Literal["added", "removed", "moved", "changed"]

ROOT = ""
"""The id of the group that holds all."""


@dataclass(frozen=True, slots=True)
class NodeRun:
    """What became of a node in a run.

    Args:
        status: `passed`, `edited`, `tripwire`, `error`, `suspended`, `cancelled` or `skipped`.
        calls: How often it was called.
        total_ms: How long it took with all that is inside of it, or None where it is not known.
        own_ms: The same without what is inside of it.
        edits: How much it changed: edits of messages and chunks of a stream.
        warnings: How often it reported something.
        reason: Why it ended the run, if it did.
    """

    status: str
    calls: int = 0
    total_ms: float | None = None
    own_ms: float | None = None
    edits: int = 0
    warnings: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph.

    Args:
        id: Its path: stable, and unique in the graph.
        kind: What it is.
        label: What it is called in a picture.
        step_id: The id of the step, or None where it is none.
        hooks: The hooks it runs in, in the order of a run; empty where it is no part of a hook.
        effects: Hook to what it declares to touch there; None: nothing is declared.
        timeout_s: Seconds one try may take, or None.
        retries: Further tries after a failure.
        on_error: What an error does, or None: it goes up.
        ignore: Ids of the rules that do not apply to it.
        classes: The names of its class and of those it is derived from.
        facts: What else is known of it: see `facts_of`.
        picks: Of a map: the keys of the branches that it looks at; None: it may look at all.
        condition: Of a loop: its condition.
        description: For people.
        run: What became of it in a run.
        change: How it differs from another graph.
    """

    id: str
    kind: NodeKind
    label: str
    step_id: str | None = None
    hooks: tuple[str, ...] = ()
    effects: Mapping[str, Effects] | None = None
    timeout_s: float | None = None
    retries: int = 0
    on_error: str | None = None
    ignore: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    picks: tuple[str, ...] | None = None
    condition: str = ""
    description: str = ""
    run: NodeRun | None = None
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A way from one node to the next.

    Args:
        source: The node it leaves.
        target: The node it enters.
        kind: `flow`; `back`, which repeats; or `error`, taken where the model fails.
        label: When it is taken, or `""`.
        always: True and False where a condition is a constant, else None.
    """

    source: str
    target: str
    kind: EdgeKind = "flow"
    label: str = ""
    always: bool | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """What stands inside of a workflow, a branch, a list.

    Args:
        id: Its path.
        kind: What it is.
        label: What it is called in a picture.
        parent: The group it stands in; None for the outermost.
        members: The ids of its nodes and groups, in order.
        key: Of a branch: the key of its output.
        list: Of a list of an agent: `input`, `output` or `error`.
        timeout_s: Seconds it may take, or None.
        retries: Further tries after a failure.
        on_error: What an error does, or None: it goes up.
        ignore: Ids of the rules that do not apply to anything in it.
        facts: What else is known of it.
        run: What became of it in a run.
        change: How it differs from another graph.
    """

    id: str
    kind: GroupKind
    label: str
    parent: str | None
    members: tuple[str, ...] = ()
    key: str = ""
    list: str = ""
    timeout_s: float | None = None
    retries: int = 0
    on_error: str | None = None
    ignore: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    run: NodeRun | None = None
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Sketch:
    """A graph: nodes, edges, and groups that say how they are nested. Ids are unique over both.

    Args:
        id: The workflow's or agent's.
        nodes: Id to node, in list order.
        edges: In the order of the nodes they leave.
        groups: Id to group, outer ones first; the first is the root.
    """

    id: str
    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]
    groups: Mapping[str, Group]
    _parents: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict[str, str])

    def __post_init__(self) -> None:
        for group in self.groups.values():
            for member in group.members:
                self._parents[member] = group.id

    @property
    def root(self) -> Group:
        """The group that holds all."""
        return self.groups[ROOT]

    def parent(self, member: str) -> Group:
        """Return the group that a node or group stands in."""
        return self.groups[self._parents[member]]

    def above(self, member: str) -> Iterator[Group]:
        """Give the groups around a node or group, the innermost first."""
        while member in self._parents:
            group = self.groups[self._parents[member]]
            yield group
            member = group.id

    def inside(self, group_id: str) -> Iterator[Node]:
        """Give all the nodes of a group, nested ones too, in list order."""
        for member in self.groups[group_id].members:
            if member in self.nodes:
                yield self.nodes[member]
            else:
                yield from self.inside(member)
