"""What a workflow is once it is compiled: a flat, immutable tree of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, assert_never

from sluiceway.engine._step import PLAIN, AnyScope, Data, Step, StepOptions
from sluiceway.errors import GraphError

__all__ = [
    "Arm",
    "Call",
    "Choice",
    "Condition",
    "ForEach",
    "Loop",
    "Map",
    "Node",
    "Parallel",
    "Plan",
    "Sleep",
    "Sub",
    "Wait",
    "calls",
    "flatten",
    "nodes",
    "prune",
]

Condition: TypeAlias = Callable[[Data, AnyScope], Data]
"""`(data, scope)` to a truth value, or an awaitable of one."""

Wait: TypeAlias = Literal["first", "all"]
"""Whether the first branch that aborts or fails ends its siblings, or all finish."""


@dataclass(frozen=True, slots=True)
class Call:
    """One step.

    Args:
        step: What is run.
        path: Where it stands, such as `moderation › parallel[1] › processor:x`.
        options: How it is run.
        opaque: Whether its output is of another kind than its input, so that a map after it
            makes sense only where the step itself has run.
    """

    step: Step
    path: str
    options: StepOptions = PLAIN
    opaque: bool = False
    bare: bool = field(init=False, default=True)
    """Whether nothing but the step is to be called; follows from the options."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "bare", self.options.bare)


@dataclass(frozen=True, slots=True)
class Arm:
    """One branch of a `Parallel` or a `Choice`.

    Args:
        key: The key of its output.
        plan: What it runs; empty passes the data through.
        condition: When it is chosen; None in a `Parallel`.
    """

    key: str
    plan: Plan
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Parallel:
    """Branches that all get the same data. Gives `{key: output}`, in list order.

    Args:
        branches: In list order.
        path: Where it stands.
        wait: `first`: the first abort or failure ends the siblings; `all`: all finish first.
    """

    branches: tuple[Arm, ...]
    path: str
    wait: Wait = "first"


@dataclass(frozen=True, slots=True)
class Choice:
    """The first arm whose condition holds, else the default, else nothing.

    Args:
        arms: Tried in order.
        default: What runs where no condition holds; None passes the data on.
        path: Where it stands.
    """

    arms: tuple[Arm, ...]
    default: Arm | None
    path: str


@dataclass(frozen=True, slots=True)
class Map:
    """A pure function `(data, scope)`, or a merge.

    Args:
        fn: What is called; it may return an awaitable.
        path: Where it stands.
    """

    fn: Callable[[Data, AnyScope], Data]
    path: str


@dataclass(frozen=True, slots=True)
class Loop:
    """A body that is run again until (or while) its condition holds.

    Args:
        body: What is repeated.
        condition: Asked after each time.
        until: True: it ends when the condition holds; False: when it no longer does.
        path: Where it stands.
        max_iterations: More than these raise `LimitExceeded`.
    """

    body: Plan
    condition: Condition
    until: bool
    path: str
    max_iterations: int = 1000


@dataclass(frozen=True, slots=True)
class ForEach:
    """A body that is run on each item of a list, so many at once: a number, or a function.

    Args:
        body: What is run on each item.
        concurrency: How many items at once, from 1.
        path: Where it stands.
    """

    body: Plan
    concurrency: int | Condition
    path: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """A pause, in seconds.

    Args:
        seconds: How long.
        path: Where it stands.
    """

    seconds: float
    path: str


@dataclass(frozen=True, slots=True)
class Sub:
    """A workflow inside another: a scope of its own for ids and results.

    Args:
        id: The id of the workflow.
        plan: What it runs.
        path: Where it stands.
        options: How it is run.
    """

    id: str
    plan: Plan
    path: str
    options: StepOptions = PLAIN


Node: TypeAlias = Call | Parallel | Map | Choice | Loop | ForEach | Sleep | Sub
"""What a plan is made of."""
Plan: TypeAlias = tuple[Node, ...]
"""Nodes that run one after the other; empty passes the data through."""


def _only(outputs: Data, scope: object) -> Data:
    """Give the only value of a mapping: what a `Choice` at the end of a workflow goes on as."""
    del scope
    return next(iter(outputs.values()))


def flatten(plan: Plan, *, merged: Callable[[Data, AnyScope], Data]) -> Plan:
    """Return a plan without `Sub` nodes: what they hold stands in their place.

    A workflow that ends in a `Parallel` or `Choice` gets a map behind it, so that a map
    behind the workflow sees the workflow's output and not `{key: output}`.

    Args:
        plan: The plan of a workflow.
        merged: The map that merges the branches of such a last `Parallel`.

    Raises:
        GraphError: A workflow inside has options that only count in a run of its own.
    """
    flat: list[Node] = []
    for node in plan:
        if isinstance(node, Sub):
            if not node.options.bare:
                raise GraphError(
                    f"{node.path}: timeout, retries and on_error of a workflow are for runs of its own; "
                    "in an agent's list give them to its steps"
                )
            inner = flatten(node.plan, merged=merged)
            flat.extend(inner)
            if inner and isinstance(inner[-1], Parallel):
                flat.append(Map(merged, inner[-1].path))
            elif inner and isinstance(inner[-1], Choice):
                flat.append(Map(_only, inner[-1].path))
        else:
            flat.append(_with_bodies(node, lambda body: flatten(body, merged=merged)))
    return tuple(flat)


def prune(plan: Plan, keep: Callable[[Step], bool]) -> Plan:
    """Return what of a plan is left when only some of its steps count.

    A node goes when none of its steps is kept, and with it a map that only makes sense behind
    it. Branches of a node that stays keep their keys; an empty one passes the data through.
    Nothing kept at all: the plan is empty.

    Args:
        plan: A plan without `Sub` nodes.
        keep: Whether a step counts, such as: whether it has a hook.
    """
    if not any(keep(call.step) for call in calls(plan)):
        return ()
    left: list[Node] = []
    orphan = False
    for node in plan:
        if isinstance(node, Map):
            if not orphan:
                left.append(node)
            orphan = False
            continue
        gone = not isinstance(node, Sleep) and not any(keep(call.step) for call in calls((node,)))
        orphan = gone and (not isinstance(node, Call) or node.opaque)
        if not gone:
            left.append(_with_bodies(node, lambda body: prune(body, keep)))
    return tuple(left)


def calls(plan: Plan) -> Iterator[Call]:
    """Give every call of a plan, nested ones too, in list order.

    Args:
        plan: Any plan.
    """
    for node in nodes(plan):
        if isinstance(node, Call):
            yield node


def nodes(plan: Plan) -> Iterator[Node]:
    """Give every node of a plan, nested ones too, in list order.

    Args:
        plan: Any plan.
    """
    for node in plan:
        yield node
        for body in _bodies(node):
            yield from nodes(body)


def _bodies(node: Node) -> tuple[Plan, ...]:
    match node:
        case Call() | Map() | Sleep():
            return ()
        case Parallel(branches=arms):
            return tuple(arm.plan for arm in arms)
        case Choice(arms=arms, default=default):
            return tuple(arm.plan for arm in (*arms, *((default,) if default else ())))
        case Loop(body=body) | ForEach(body=body):
            return (body,)
        case Sub(plan=plan):
            return (plan,)
        case _:  # pragma: no cover
            assert_never(node)


def _with_bodies(node: Node, change: Callable[[Plan], Plan]) -> Node:
    match node:
        case Call() | Map() | Sleep():
            return node
        case Parallel():
            return replace(node, branches=tuple(_with_plan(arm, change) for arm in node.branches))
        case Choice(default=default):
            arms = tuple(_with_plan(arm, change) for arm in node.arms)
            return replace(node, arms=arms, default=_with_plan(default, change) if default else None)
        case Loop() | ForEach():
            return replace(node, body=change(node.body))
        case Sub():
            return replace(node, plan=change(node.plan))
        case _:  # pragma: no cover
            assert_never(node)


def _with_plan(arm: Arm, change: Callable[[Plan], Plan]) -> Arm:
    return replace(arm, plan=change(arm.plan))
