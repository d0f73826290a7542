"""From entries to a plan, with all the checks on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, cast

from sluiceway.engine import (
    Arm,
    Call,
    Choice,
    FlowSpec,
    ForEach,
    Loop,
    Map,
    Merge,
    Node,
    Parallel,
    Plan,
    Sleep,
    StepOptions,
    Sub,
    merge,
    nodes,
)
from sluiceway.errors import GraphError
from sluiceway.graphs._committed import CommittedWorkflow
from sluiceway.graphs._definition import Definition
from sluiceway.graphs._entries import (
    BranchEntry,
    Entry,
    ForEachEntry,
    LoopEntry,
    MapEntry,
    ParallelEntry,
    SleepEntry,
    ThenEntry,
)
from sluiceway.graphs._types import TypeFlow, type_check
from sluiceway.processors import ProcessorStep
from sluiceway.steps import as_step, named, with_context

__all__ = ["compile_workflow"]

_DEEPEST: Final = 64
"""How many workflows may stand inside of each other: what is done with them takes Python's stack."""


def compile_workflow(definition: Definition) -> CommittedWorkflow:
    """Check a workflow and return it, frozen.

    Raises:
        GraphError: The text names the entry and says how to mend it.
    """
    scope = _Scope(definition, definition.id, (definition.id,))
    plan = scope.plan()
    spec = FlowSpec(
        definition.id,
        plan,
        fingerprint(plan),
        tuple(node.path for node in nodes(plan)),
        input=type_check(definition.types.input, definition.id, "input"),
        output=type_check(definition.types.output, definition.id, "output"),
        state=type_check(definition.types.state, definition.id, "state"),
    )
    return CommittedWorkflow(definition, spec, MappingProxyType(scope.processors))


def fingerprint(plan: Plan) -> str:
    """Return a digest of a graph: nodes, where they stand, how branches are named and chosen."""
    lines = "\n".join("\t".join(_traits(node)) for node in nodes(plan))
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _traits(node: Node) -> Iterator[str]:
    yield type(node).__name__
    yield node.path
    if isinstance(node, Parallel):
        yield from (arm.key for arm in node.branches)
    elif isinstance(node, Choice):
        yield from (arm.key for arm in node.arms)
        yield f"default={node.default.key if node.default else None}"
    elif isinstance(node, Loop):
        yield f"until={node.until}"
    elif isinstance(node, Map) and isinstance(node.fn, Merge):
        yield node.fn.label


@dataclass(slots=True)
class _Made:
    """A step, compiled."""

    key: str
    node: Call | Sub
    input: Any = None
    output: Any = None
    is_processor: bool = False


@dataclass(slots=True)
class _Scope:
    """One workflow while it is compiled: a scope for ids."""

    definition: Definition
    path: str
    above: tuple[str, ...]
    seen: dict[str, str] = field(default_factory=dict[str, str])
    processors: dict[str, object] = field(default_factory=dict[str, object])

    def plan(self) -> Plan:
        entries = self.definition.entries
        if not entries:
            raise GraphError(f"{self.path}: the workflow is empty; add a step: .then(…)")
        types = TypeFlow(self.definition.types.input, f"the input of {self.definition.id}")
        plan = tuple(
            self.node(entry, index, entries[index - 1] if index else None, types) for index, entry in enumerate(entries)
        )
        types.goes_into(self.definition.types.output, f"{self.path}: the declared output", fix="mend one of the two")
        return plan

    def node(self, entry: Entry, index: int, before: Entry | None, types: TypeFlow) -> Node:
        match entry:
            case ThenEntry():
                return self.then(entry, f"{self.path} › then[{index}]", types)
            case ParallelEntry():
                return self.parallel(entry, f"{self.path} › parallel[{index}]", types)
            case MapEntry():
                return self.map(entry, f"{self.path} › map[{index}]", before, types)
            case BranchEntry():
                return self.branch(entry, f"{self.path} › branch[{index}]", types)
            case ForEachEntry():
                return self.foreach(entry, f"{self.path} › foreach[{index}]", types)
            case LoopEntry():
                name = "do_until" if entry.until else "do_while"
                return self.loop(entry, f"{self.path} › {name}[{index}]", types)
            case SleepEntry():
                return self.sleep(entry, f"{self.path} › sleep[{index}]")

    def then(self, entry: ThenEntry, where: str, types: TypeFlow) -> Node:
        made = self.step(entry.thing, where, inside=self.path)
        types.goes_into(made.input, made.node.path)
        types.becomes(made.output, made.node.path)
        return made.node

    def parallel(self, entry: ParallelEntry, where: str, types: TypeFlow) -> Node:
        if entry.wait not in ("first", "all"):
            raise GraphError(f"{where}: wait={entry.wait!r} must be 'first' or 'all'")
        made = [self.step(thing, f"{where}[{n}]", inside=where) for n, thing in enumerate(_items(entry.things, where))]
        for step in made:
            types.goes_into(step.input, step.node.path)
        types.becomes(None if any(step.is_processor for step in made) else dict, where)
        return Parallel(tuple(Arm(step.key, (step.node,)) for step in made), where, entry.wait)

    def branch(self, entry: BranchEntry, where: str, types: TypeFlow) -> Node:
        arms: list[Arm] = []
        for number, pair in enumerate(_items(entry.arms, where)):
            if not isinstance(pair, tuple | list) or len(cast("tuple[object, ...]", pair)) != 2:
                raise GraphError(f"{where}: arm {number} is not a pair; give (condition, step)")
            condition, thing = cast("tuple[object, object]", pair)
            made = self.step(thing, f"{where}[{number}]", inside=where)
            types.goes_into(made.input, made.node.path)
            asked = _function(condition, f"{where}: the condition of arm {number}")
            arms.append(Arm(made.key, (made.node,), asked))
        default = None
        if entry.default is not None:
            made = self.step(entry.default, f"{where}[default]", inside=where)
            types.goes_into(made.input, made.node.path)
            default = Arm(made.key, (made.node,))
        types.becomes(None, where)
        return Choice(tuple(arms), default, where)

    def map(self, entry: MapEntry, where: str, before: Entry | None, types: TypeFlow) -> Node:
        how = entry.how
        picked = merge.pick(how) if isinstance(how, str) else how
        types.becomes(None, where)
        if not isinstance(picked, Merge):
            return Map(_function(picked, where), where)
        there = self.keys_before(before)
        if isinstance(before, ParallelEntry | BranchEntry):
            for key in picked.keys:
                if key not in there:
                    raise GraphError(f"{where}: {picked!r}: no branch has the key {key!r}; {_offer(key, there)}")
        elif not picked.keys:
            raise GraphError(f"{where}: {picked!r} merges branches, but no parallel or branch stands before it")
        return Map(picked, where)

    def keys_before(self, before: Entry | None) -> list[str]:
        things: list[object] = []
        if isinstance(before, ParallelEntry):
            things = list(cast("tuple[object, ...]", before.things))
        elif isinstance(before, BranchEntry):
            things = [pair[1] for pair in cast("tuple[tuple[object, object], ...]", before.arms)]
            things += [before.default] if before.default is not None else []
        return [_key_of(thing) for thing in things]

    def foreach(self, entry: ForEachEntry, where: str, types: TypeFlow) -> Node:
        limit = entry.concurrency
        if isinstance(limit, int):
            if limit < 1:
                raise GraphError(f"{where}: concurrency={limit} must be 1 or more")
        else:
            limit = _function(limit, f"{where}: concurrency")
        made = self.step(entry.thing, where, inside=where)
        types.goes_into(None if made.is_processor else list, where, fix="give it a list; map the data to one before it")
        types.becomes(None if made.is_processor else list, where)
        return ForEach((made.node,), limit, where)

    def loop(self, entry: LoopEntry, where: str, types: TypeFlow) -> Node:
        if not isinstance(entry.max_iterations, int) or entry.max_iterations < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphError(f"{where}: max_iterations={entry.max_iterations!r} must be a whole number from 1")
        made = self.step(entry.thing, where, inside=where)
        types.goes_into(made.input, made.node.path)
        types.becomes(made.output, made.node.path)
        types.goes_into(made.input, f"{made.node.path} (again)")
        condition = _function(entry.condition, f"{where}: the condition")
        return Loop((made.node,), condition, entry.until, where, entry.max_iterations)

    def sleep(self, entry: SleepEntry, where: str) -> Node:
        seconds = cast("object", entry.seconds)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
            raise GraphError(f"{where}: {seconds!r} is no number of seconds from 0")
        return Sleep(float(seconds), where)

    def step(self, thing: object, where: str, *, inside: str) -> _Made:
        """Compile one step that stands inside of a path."""
        inner, name, options = named(thing)
        definition = _definition_of(inner)
        made = self.call(thing, where, inside) if definition is None else self.sub(definition, name, options, inside)
        if "›" in made.key:
            raise GraphError(f"{where}: the id {made.key!r} has a '›' in it, which parts the steps of a path")
        known = self.seen.setdefault(made.key, made.node.path)
        if known is not made.node.path:
            raise GraphError(
                f"{made.node.path}: the id {made.key!r} is there already ({known}); "
                "give one of the two another: step(…, id='…')"
            )
        return made

    def call(self, thing: object, where: str, inside: str) -> _Made:
        step, kind, options = as_step(thing, where, inside=inside)
        path = f"{inside} › {step.key}"
        call = Call(step, path, options, opaque=kind in ("agent", "tool"))
        if isinstance(step, ProcessorStep):
            self.processors[path] = step.processor
            return _Made(step.key, call, is_processor=True)
        declared = (getattr(step, "input", None), getattr(step, "output", None))
        given, returned = (check.declared if check is not None else None for check in declared)
        return _Made(step.key, call, given, returned)

    def sub(self, definition: Definition, name: str | None, options: StepOptions, inside: str) -> _Made:
        key = name or definition.id
        path = f"{inside} › {key}"
        if definition.id in self.above:
            chain = " › ".join(self.above)
            raise GraphError(
                f"{path}: workflow {definition.id!r} stands inside of itself ({chain}); "
                "use do_until to repeat it, or give one of the two another id"
            )
        if len(self.above) > _DEEPEST:
            raise GraphError(f"{definition.id}: workflows stand inside of each other more than {_DEEPEST} deep")
        if options.hooks is not None or options.thread:
            raise GraphError(f"{path}: hooks= and thread= are for single steps, not for a workflow")
        scope = _Scope(definition, path, (*self.above, definition.id))
        plan = scope.plan()
        self.processors.update(scope.processors)
        types = definition.types
        return _Made(
            key,
            Sub(key, plan, path, options),
            types.input,
            types.output,
            bool(scope.processors),
        )


def _definition_of(thing: object) -> Definition | None:
    definition = getattr(thing, "definition", None)
    return definition if isinstance(definition, Definition) else None


def _key_of(thing: object) -> str:
    inner, name, _ = named(thing)
    definition = _definition_of(inner)
    if definition is not None:
        return name or definition.id
    return as_step(thing, "", inside="")[0].key


def _items(given: object, where: str) -> tuple[object, ...]:
    if not isinstance(given, tuple):
        raise GraphError(f"{where}: takes a list of steps, not {type(given).__name__}; write […]")
    items = cast("tuple[object, ...]", given)
    if not items:
        raise GraphError(f"{where}: is empty; give at least one, or leave the entry out")
    return items


def _function(given: object, where: str) -> Callable[[Any, Any], Any]:
    if not callable(given) or isinstance(given, type):
        raise GraphError(f"{where}: {given!r} is not a function of (data) or (data, ctx)")
    return with_context(given)


def _offer(key: str, there: list[str]) -> str:
    near = [name for name in there if name == f"processor:{key}" or name.rsplit(":", 1)[-1] == key]
    if near:
        return f"write {near[0]!r}"
    return f"there are {', '.join(map(repr, there))}"
