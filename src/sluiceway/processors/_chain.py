"""`Chain`: a list of processors and workflows, planned for each hook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, cast

from sluiceway.engine import (
    Arm,
    Call,
    Choice,
    ForEach,
    Loop,
    Map,
    Node,
    Parallel,
    Plan,
    Step,
    StepOptions,
    Sub,
    calls,
    flatten,
    merge,
    prune,
)
from sluiceway.errors import ConfigurationError, GraphError
from sluiceway.processors._checks import grouped
from sluiceway.processors._protocols import HOOKS_OF, HookName, ListKind, hooks_of
from sluiceway.processors._step import ProcessorStep

__all__ = ["Chain", "Concurrency", "compile_chain"]

Concurrency: TypeAlias = Literal["auto"]
"""How a list runs its processors."""

_FUNCTION_HOOKS: Final = frozenset({"process_input", "process_output_result"})
_GROUPED: Final[frozenset[HookName]] = frozenset(
    {
        "process_input",
        "process_input_step",
        "process_llm_request",
        "process_llm_response",
        "process_output_step",
        "process_tool_result",
        "process_output_result",
    }
)
"""A chunk is too small for a group, and of the api-error hooks the first that asks for a retry ends the pass."""


class Chain:
    """A list of processors and workflows with one plan per hook. Immutable; shared by runs.

    Args:
        kind: Which list it is.
        plan: The whole of it, for no hook in particular.
        concurrency: `auto` runs neighbours side by side that wait and write nothing.
    """

    __slots__ = ("_entries", "_plans", "kind", "plan", "processors", "stream")

    def __init__(self, kind: ListKind, plan: Plan, concurrency: Concurrency | None = None) -> None:
        self.kind: ListKind = kind
        self.plan = plan
        self.processors: tuple[ProcessorStep, ...] = tuple(
            call.step for call in calls(plan) if isinstance(call.step, ProcessorStep)
        )
        self._plans: dict[HookName, Plan] = {hook: prune(plan, _keeper(hook)) for hook in HOOKS_OF[kind]}
        if concurrency == "auto":
            for hook in _GROUPED & self._plans.keys():
                self._plans[hook] = grouped(self._plans[hook], hook)
        self._entries: dict[HookName, tuple[Plan, ...]] = {h: _entries(p) for h, p in self._plans.items()}
        self.stream: Plan = prune(plan, _streams) if kind == "output" else ()
        """What runs in the two stream hooks."""

    def for_hook(self, hook: HookName) -> Plan:
        """Return what runs in a hook; empty where no step has it."""
        return self._plans.get(hook, ())

    def entries(self, hook: HookName) -> tuple[Plan, ...]:
        """Return the same in pieces that can run one after the other: a node, with the map behind it."""
        return self._entries.get(hook, ())

    def followed_by(self, processor: object) -> Chain:
        """Return this list with one processor behind it, at the cost of that one alone.

        It runs by itself, also where the list runs neighbours side by side.

        Args:
            processor: Anything with an `id` and hooks.

        Raises:
            ConfigurationError: As in `compile_chain`.
        """
        place = f"{self.kind}_processors"
        binder = _Binder(self.kind, place)
        binder.seen = {step.id: step.path for step in self.processors}
        binder.index = len(self.processors)
        added = binder.bind(_nodes_of(processor, f"{place}[{binder.index}]"))
        longer = copy(self)
        longer.plan = (*self.plan, *added)
        longer.processors = (*self.processors, *Chain(self.kind, added).processors)
        longer._plans, longer._entries = dict(self._plans), dict(self._entries)
        for hook in HOOKS_OF[self.kind]:
            if own := prune(added, _keeper(hook)):
                longer._plans[hook] = (*self._plans[hook], *own)
                longer._entries[hook] = (*self._entries[hook], *_entries(own))
        if self.kind == "output":
            longer.stream = (*self.stream, *prune(added, _streams))
        return longer


def compile_chain(
    items: Iterable[object], kind: ListKind, *, where: str | None = None, concurrency: Concurrency | None = None
) -> Chain:
    """Plan a list of processors and workflows; a list is a workflow of `then`.

    Args:
        items: Processors, workflows (open ones are committed), in order.
        kind: Which list it is: `input`, `output` or `error`.
        where: What to call the list in errors.
        concurrency: `auto` runs neighbours side by side whose effects for a hook say that they
            wait for another service (`external`) and write nothing; the outcome is that of list
            order. Not in the stream and api-error hooks. None: one after the other.

    Raises:
        ConfigurationError: Something that is no processor, one without any hook of that list,
            or the same id twice.
        GraphError: A workflow that cannot run in a list.
    """
    if concurrency not in (None, "auto"):
        raise ConfigurationError(f"concurrency={concurrency!r} is not allowed; give 'auto' or None")
    place = where or f"{kind}_processors"
    nodes: list[Node] = []
    for index, item in enumerate(_listed(items, place)):
        nodes.extend(_nodes_of(item, f"{place}[{index}]"))
    plan = _Binder(kind, place).bind(tuple(nodes))
    return Chain(kind, plan, concurrency)


def _listed(items: Any, place: str) -> Sequence[object]:
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise ConfigurationError(f"{place} must be a list of processors and workflows, not {type(items).__name__}")
    return tuple(cast("Iterable[object]", items))


def _nodes_of(item: object, place: str) -> Plan:
    if isinstance(item, type):
        raise ConfigurationError(f"{place} is the class {item.__name__}; give an object of it: {item.__name__}(...)")
    if hasattr(item, "commit"):
        item = cast("Any", item).commit()
    plan = getattr(item, "plan", None)
    if isinstance(plan, tuple):
        name = cast("str", cast("Any", item).id)
        return flatten((Sub(name, cast("Plan", plan), name),), merged=merge.all())
    options = getattr(item, "options", None)
    if isinstance(options, StepOptions) and hasattr(item, "thing"):  # what step(processor, ...) makes
        return _with_options(cast("Any", item), options, place)
    _require_id(item, place)
    step = ProcessorStep(item)
    return (Call(step, step.key),)


def _with_options(spec: Any, options: StepOptions, place: str) -> Plan:
    if hasattr(spec.thing, "plan") or hasattr(spec.thing, "commit"):
        raise ConfigurationError(f"{place}: give the options of step(...) to the steps inside the workflow")
    if not hooks_of(spec.thing):
        raise ConfigurationError(
            f"{place} is step({type(spec.thing).__name__}, ...), which has no hooks; "
            "put a function, agent or tool into a workflow"
        )
    _require_id(spec.thing if spec.id is None else spec, place)
    step = ProcessorStep(spec.thing, id=spec.id, hooks=options.hooks)
    return (Call(step, step.key, options),)


def _require_id(item: object, place: str) -> None:
    identity = getattr(item, "id", None)
    if not isinstance(identity, str) or not identity:
        raise ConfigurationError(
            f"{place} is a {type(item).__name__} without an id; a processor is an object with an id and hooks"
        )


class _Binder:
    """Gives every processor of a list its place, and checks what a list may hold."""

    def __init__(self, kind: ListKind, place: str) -> None:
        self.kind: ListKind = kind
        self.place = place
        self.seen: dict[str, str] = {}
        self.index = 0

    def bind(self, plan: Plan) -> Plan:
        return tuple(self._call(node) if isinstance(node, Call) else self._nested(node) for node in plan)

    def _nested(self, node: Node) -> Node:
        if isinstance(node, Parallel):
            return replace(node, branches=tuple(self._arm(arm) for arm in node.branches))
        if isinstance(node, Choice):
            default = self._arm(node.default) if node.default is not None else None
            return replace(node, arms=tuple(self._arm(arm) for arm in node.arms), default=default)
        if isinstance(node, (Loop, ForEach)):
            return replace(node, body=self.bind(node.body))
        return node

    def _arm(self, arm: Arm) -> Arm:
        return replace(arm, plan=self.bind(arm.plan))

    def _call(self, node: Call) -> Call:
        step = node.step
        if getattr(step, "can_suspend", False):
            raise GraphError(
                f"{node.path} can suspend, which a workflow in {self.place} cannot: a run's loop does not stop "
                "for a person; suspend in a workflow of its own, around the agent"
            )
        if not isinstance(step, ProcessorStep):
            return node
        known = self.seen.setdefault(step.id, node.path)
        if known is not node.path:
            raise ConfigurationError(
                f"{self.place} has the id {step.id!r} twice ({known} and {node.path}); "
                "pass id= to give one of them another"
            )
        if not any(hook in step.methods for hook in HOOKS_OF[self.kind]):
            allowed = ", ".join(HOOKS_OF[self.kind])
            has = ", ".join(step.hooks) or "none"
            raise ConfigurationError(
                f"processor {step.id!r} in {self.place} has none of the hooks that this list runs "
                f"({allowed}); it has: {has}"
            )
        options = node.options
        on_error = options.on_error or step.on_error
        placed = step.at(
            node.path,
            self.index,
            on_error=on_error,
            thread=options.thread or step.thread,
            options=replace(options, on_error=None),
        )
        self.index += 1
        return Call(placed, node.path, opaque=node.opaque)


def _entries(plan: Plan) -> tuple[Plan, ...]:
    pieces: list[Plan] = []
    for node in plan:
        if isinstance(node, Map) and pieces and isinstance(pieces[-1][-1], (Parallel, Choice)):
            pieces[-1] = (*pieces[-1], node)
        else:
            pieces.append((node,))
    return tuple(pieces)


def _streams(step: Step) -> bool:
    return any(_keeper(hook)(step) for hook in ("process_output_stream", "finish_output_stream"))


def _keeper(hook: HookName) -> Any:
    def keep(step: Step) -> bool:
        if isinstance(step, ProcessorStep):
            return hook in step.methods
        chosen = cast("frozenset[str] | None", getattr(step, "hooks", None))
        return hook in (chosen if chosen is not None else _FUNCTION_HOOKS)

    return keep
