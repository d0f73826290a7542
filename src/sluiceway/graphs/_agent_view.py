"""From an agent to a `Sketch`: its loop, with the lists in their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from sluiceway.engine import Call, Plan, Sub
from sluiceway.graphs._sketch import ROOT, Node, Sketch
from sluiceway.graphs._view import SketchBuilder
from sluiceway.processors import ListKind, ProcessorStep
from sluiceway.steps import named

__all__ = ["AgentParts", "agent_graph", "list_plan", "sketch_list"]


@dataclass(frozen=True, slots=True)
class AgentParts:
    """What of an agent is drawn and checked.

    Args:
        id: The agent's id.
        description: For people.
        lists: `input`, `output` and `error` to processors and workflows, those of its memory
            included; None for a list that is made anew for each request.
        models: Names of the models, the first choice first; None: decided for each request.
        tools: Name to description; None: decided for each request.
        max_steps: How many steps a call may take.
        max_processor_retries: How often a step may be tried again, or None: never.
    """

    id: str
    description: str = ""
    lists: Mapping[ListKind, Sequence[object] | None] = field(
        default_factory=dict["ListKind", "Sequence[object] | None"]
    )
    models: Sequence[str] | None = None
    tools: Mapping[str, str] | None = None
    max_steps: int = 5
    max_processor_retries: int | None = None


def list_plan(items: Iterable[object]) -> Plan:
    """Return the plan of a list, with its workflows whole."""
    nodes: list[Call | Sub] = []
    for given in items:
        item, name, options = named(given)
        if hasattr(item, "commit"):
            item = cast("Any", item).commit()
        plan = getattr(item, "plan", None)
        identity = name or cast("str", cast("Any", item).id)
        if isinstance(plan, tuple):
            nodes.append(Sub(identity, cast("Plan", plan), identity, options))
        else:
            nodes.append(Call(ProcessorStep(item, id=name, hooks=options.hooks), f"processor:{identity}", options))
    return tuple(nodes)


def sketch_list(items: Iterable[object], identity: str = "list") -> Sketch:
    """Return the graph of a list of processors and workflows."""
    made = SketchBuilder(identity, in_hooks=True)
    made.open(ROOT, "root", identity)
    last = made.node(f"{identity} › [start]", "start", "start", None)
    last = made.plan(list_plan(items), last)
    made.node(f"{identity} › [end]", "end", "end", last)
    made.close()
    return made.done()


def agent_graph(parts: AgentParts) -> Sketch:
    """Return the graph of an agent.

    Args:
        parts: What the agent is made of.
    """
    made = SketchBuilder(parts.id, in_hooks=True)
    made.open(ROOT, "agent", parts.id)
    last = made.node("[start]", "start", "start", None, description=parts.description)
    last = _step(made, parts, last)
    made.node("[end]", "end", "end", last)
    made.close()
    return made.done()


def _step(made: SketchBuilder, parts: AgentParts, before: str) -> str:
    words = ["each step", f"at most {parts.max_steps}"]
    facts: list[str] = []
    if parts.max_processor_retries is not None:
        words.append(f"tried again {parts.max_processor_retries}× at most")
        facts.append("budget")
    group = made.open("step", "loop", " · ".join(words))
    made.refine(replace(group, facts=tuple(facts)))
    last = _list(made, parts, "input", before)
    entry = made.first_after(before)
    model = made.put(_model(parts), last)
    entry = entry or model
    last = _list(made, parts, "output", model)
    has_tools = parts.tools is None or bool(parts.tools)
    if has_tools:
        last = made.node("step › more", "loop", "tool calls?", last)
        _tools(made, parts, last, entry)
    _errors(made, parts, model, entry)
    made.close()
    return last


def _model(parts: AgentParts) -> Node:
    if parts.models is None:
        return Node("model", "model", "model", description="chosen for each request")
    first, *others = parts.models
    told = f"falls back to {', '.join(others)}" if others else ""
    return Node("model", "model", first, description=told)


def _list(made: SketchBuilder, parts: AgentParts, kind: ListKind, last: str) -> str:
    items = parts.lists.get(kind, ())
    if items is not None and not items:
        return last
    group = made.open(kind, "list", f"{kind} processors")
    made.refine(replace(group, list=kind))
    if items is None:
        last = made.node(f"{kind} › [per request]", "dynamic", "a function of the request", last)
    else:
        made.prefix = f"{kind} › "
        last = made.plan(list_plan(items), last)
        made.prefix = ""
    made.close()
    return last


def _tools(made: SketchBuilder, parts: AgentParts, source: str, entry: str) -> None:
    made.open("tools", "tools", "tools")
    if parts.tools is None:
        tools = [made.node("tools › [per request]", "dynamic", "a function of the request", None)]
    else:
        tools = [
            made.put(Node(f"tools › {name}", "tool", name, step_id=name, description=told), None)
            for name, told in parts.tools.items()
        ]
    for tool in tools:
        made.edge(source, tool, "back", "calls")
        made.edge(tool, entry, "back", "next")
    made.close()


def _errors(made: SketchBuilder, parts: AgentParts, model: str, entry: str) -> None:
    items = parts.lists.get("error", ())
    if items is not None and not items:
        return
    mark = made.edges()
    last = _list(made, parts, "error", model)
    made.turn(mark, "error", "failed")
    made.edge(last, entry, "back", "retry")
