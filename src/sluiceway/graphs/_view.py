"""From a plan to a `Sketch`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

from sluiceway.engine import (
    Arm,
    Call,
    Choice,
    ForEach,
    Loop,
    Map,
    Merge,
    Parallel,
    Plan,
    Sleep,
    StepOptions,
    Sub,
)
from sluiceway.engine import Node as PlanNode
from sluiceway.graphs._facts import call_node
from sluiceway.graphs._sketch import ROOT, Edge, EdgeKind, Group, GroupKind, Node, NodeKind, Sketch
from sluiceway.graphs._source import constant, shown, strings_of, unwrapped

__all__ = ["SketchBuilder", "sketch_plan"]


def sketch_plan(identity: str, plan: Plan, *, in_hooks: bool, description: str = "") -> Sketch:
    """Return the graph of a workflow.

    Args:
        identity: The workflow's id.
        plan: What it compiles to.
        in_hooks: Whether it has processors, and so runs in hooks.
        description: For people.
    """
    made = SketchBuilder(identity, in_hooks=in_hooks)
    made.open(ROOT, "root", identity)
    last = made.node(f"{identity} › [start]", "start", "start", None, description=description)
    last = made.plan(plan, last)
    made.node(f"{identity} › [end]", "end", "end", last)
    made.close()
    return made.done()


@dataclass(slots=True)
class _Open:
    """A group while it is filled."""

    group: Group
    members: list[str] = field(default_factory=list[str])


class SketchBuilder:
    """Collects nodes, edges and groups in list order.

    Args:
        identity: The id of the graph.
        in_hooks: Whether the steps run in hooks.
    """

    __slots__ = ("_edges", "_groups", "_id", "_next", "_nodes", "_open", "in_hooks", "prefix")

    def __init__(self, identity: str, *, in_hooks: bool) -> None:
        self._id = identity
        self._nodes: dict[str, Node] = {}
        self._edges: list[Edge] = []
        self._groups: dict[str, Group] = {}
        self._open: list[_Open] = []
        self._next: Edge | None = None
        self.in_hooks = in_hooks
        self.prefix = ""
        """What stands before the path of every node of a plan."""

    def done(self) -> Sketch:
        """Return the graph."""
        place = {node_id: number for number, node_id in enumerate(self._nodes)}
        edges = sorted(self._edges, key=lambda edge: place[edge.source])  # as a graph of networkx gives them
        return Sketch(self._id, self._nodes, tuple(edges), self._groups)

    # -- the pieces

    def open(self, path: str, kind: GroupKind, label: str) -> Group:
        """Begin a group; what is added until `close` stands in it."""
        parent = self._open[-1].group.id if self._open else None
        identity = path if path == ROOT and not self._groups else self._unique(path)
        group = Group(identity, kind, label, parent)
        self._groups[identity] = group
        if self._open:
            self._open[-1].members.append(identity)
        self._open.append(_Open(group))
        return group

    def refine(self, group: Group) -> None:
        """Put more of the group that is open on record."""
        self._open[-1].group = group

    def close(self) -> None:
        """End the group that was begun last."""
        done = self._open.pop()
        self._groups[done.group.id] = replace(done.group, members=tuple(done.members))

    def node(self, path: str, kind: NodeKind, label: str, after: str | None, *, description: str = "") -> str:
        """Add a node behind another and return its id."""
        return self.put(Node(path, kind, label, description=description), after)

    def put(self, node: Node, after: str | None) -> str:
        """Add a node behind another and return its id, which is another where its own is taken."""
        identity = self._unique(node.id)
        self._nodes[identity] = node if identity == node.id else replace(node, id=identity)
        self._open[-1].members.append(identity)
        if after is not None:
            edge = self._next
            self._next = None
            self._edges.append(Edge(after, identity) if edge is None else replace(edge, source=after, target=identity))
        return identity

    def edge(self, source: str, target: str, kind: EdgeKind = "flow", label: str = "") -> None:
        """Add an edge between two nodes that are there."""
        self._edges.append(Edge(source, target, kind, label))

    def first_after(self, node: str) -> str | None:
        """Return the node that the first edge out of a node leads to."""
        return next((edge.target for edge in self._edges if edge.source == node), None)

    def edges(self) -> int:
        """Return how many edges there are."""
        return len(self._edges)

    def turn(self, number: int, kind: EdgeKind, label: str) -> None:
        """Make an edge another kind."""
        self._edges[number] = replace(self._edges[number], kind=kind, label=label)

    def _unique(self, path: str) -> str:
        identity, number = path, 2
        while identity in self._nodes or identity in self._groups:
            identity, number = f"{path} #{number}", number + 1
        return identity

    # -- plans

    def plan(self, plan: Plan, last: str) -> str:
        """Add what a plan does behind a node and return its last node."""
        keys: tuple[str, ...] = ()
        for node in plan:
            last = self._map(node, last, keys) if isinstance(node, Map) else self._entry(node, last)
            keys = _keys(node)
        return last

    def _entry(self, node: PlanNode, last: str) -> str:
        match node:
            case Call():
                made = call_node(node, self.prefix + node.path, in_hooks=self.in_hooks)
                return self.put(made, last)
            case Parallel():
                return self._parallel(node, last)
            case Choice():
                return self._choice(node, last)
            case Loop():
                return self._loop(node, last)
            case ForEach():
                return self._foreach(node, last)
            case Sleep():
                return self.node(self.prefix + node.path, "sleep", f"{node.seconds:g} s", last)
            case Sub():
                return self._sub(node, last)
            case Map():
                return self._map(node, last, ())
            case _:  # pragma: no cover
                assert_never(node)

    def _map(self, node: Map, last: str, keys: tuple[str, ...]) -> str:
        if isinstance(node.fn, Merge):
            label = node.fn.label
            picks = node.fn.keys if label.startswith(("pick(", "first(")) else None
            if label.startswith("pick("):
                label = f"pick {node.fn.keys[0].removeprefix('processor:')}"
        else:
            label = shown(node.fn, "map")
            texts, names = strings_of(node.fn)
            named = tuple(key for key in keys if key in texts)
            looks_at_all = {"values", "items", "join", "fork"} & names or not named
            picks = None if looks_at_all else named
        made = Node(self.prefix + node.path, "map", label, picks=picks)
        return self.put(made, last)

    def _parallel(self, node: Parallel, last: str) -> str:
        path = self.prefix + node.path
        self.open(f"{path} › [all]", "parallel", "wait for all" if node.wait == "all" else "")
        fork = self.node(path, "fork", "parallel", last)
        ends = [self._arm(arm, index, path, fork) for index, arm in enumerate(node.branches)]
        return self._join(f"{path} › [join]", ends)

    def _arm(self, arm: Arm, index: int, path: str, fork: str, edge: Edge | None = None) -> str:
        lane = self.open(f"{path} › [{index}]", "lane", edge.label if edge else "")
        self.refine(replace(lane, key=arm.key))
        self._next = edge
        last = self.plan(arm.plan, fork)
        self._next = None
        self.close()
        return last

    def _join(self, path: str, ends: list[str]) -> str:
        join = self.node(path, "join", "join", ends[0])
        for end in ends[1:]:
            self.edge(end, join)
        self.close()
        return join

    def _choice(self, node: Choice, last: str) -> str:
        path = self.prefix + node.path
        self.open(f"{path} › [all]", "branch", "")
        fork = self.node(path, "branch", "branch", last)
        ends: list[str] = []
        seen: set[int] = set()
        for index, arm in enumerate(node.arms):
            asked = arm.condition
            text = shown(asked, f"condition {index + 1}") if asked is not None else ""
            always = constant(asked) if asked is not None else None
            if asked is not None and id(unwrapped(asked)) in seen:
                always = False
            elif asked is not None:
                seen.add(id(unwrapped(asked)))
            edge = Edge("", "", label=f"{'else if' if index else 'if'} {text}", always=always)
            ends.append(self._arm(arm, index, path, fork, edge))
        edge = Edge(fork, "", label="otherwise")
        if node.default is not None:
            ends.append(self._arm(node.default, len(node.arms), path, fork, edge))
            return self._join(f"{path} › [join]", ends)
        self.open(f"{path} › [otherwise]", "lane", "otherwise")
        self.close()
        join = self._join(f"{path} › [join]", ends)
        self._edges.append(replace(edge, target=join))
        return join

    def _loop(self, node: Loop, last: str) -> str:
        path = self.prefix + node.path
        word = "until" if node.until else "while"
        condition = f"{word} {shown(node.condition, 'the condition holds')}"
        self.open(f"{path} › [all]", "loop", f"repeat {condition}")
        start = len(self._nodes)
        end = self.plan(node.body, last)
        entry = list(self._nodes)[start]
        made = Node(path, "loop", f"at most {node.max_iterations}", condition=condition)
        loop = self.put(made, end)
        self.edge(loop, entry, "back", "again")
        self.close()
        return loop

    def _foreach(self, node: ForEach, last: str) -> str:
        path = self.prefix + node.path
        many = node.concurrency
        how = f"{many} at once" if isinstance(many, int) else f"{shown(many, 'as many as it says')} at once"
        self.open(f"{path} › [all]", "foreach", f"for each item · {how if many != 1 else 'one by one'}")
        each = self.node(path, "foreach", "each", last)
        end = self.plan(node.body, each)
        return self._join(f"{path} › [join]", [end])

    def _sub(self, node: Sub, last: str) -> str:
        group = self.open(self.prefix + node.path, "workflow", node.id)
        self.refine(with_options(group, node.options))
        last = self.plan(node.plan, last)
        self.close()
        return last


def with_options(group: Group, options: StepOptions) -> Group:
    """Return a group with how its step is run."""
    return replace(
        group,
        timeout_s=options.timeout_s,
        retries=options.retries,
        on_error=None if options.on_error in (None, "raise") else options.on_error,
        ignore=options.ignore,
    )


def _keys(node: PlanNode) -> tuple[str, ...]:
    if isinstance(node, Parallel):
        return tuple(arm.key for arm in node.branches)
    if isinstance(node, Choice):
        return tuple(arm.key for arm in (*node.arms, *((node.default,) if node.default else ())))
    return ()
