"""A run, put on the graph that it went through."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from sluiceway.engine import AuditEntry, Result, StepRecord, Tripped, WorkflowResult
from sluiceway.errors import ConfigurationError
from sluiceway.graphs._observed import Observed, of_audit, of_event, of_record, of_trip
from sluiceway.graphs._sketch import Group, Node, NodeRun, Sketch
from sluiceway.processors import HOOKS_OF, HookEvent

__all__ = ["RunLike", "overlaid"]

RunLike: TypeAlias = "Result | WorkflowResult | Iterable[Any] | str | PathLike[str]"
"""A result; what an observer got (`HookEvent`s), or records of steps; or a saved run: the path of
a file of JSON lines, or the objects in them."""

_WORST: Final = ("passed", "edited", "cancelled", "suspended", "error", "tripwire")


def overlaid(sketch: Sketch, run: RunLike) -> Sketch:
    """Return a graph with what became of its nodes in a run.

    Args:
        sketch: The graph.
        run: See `RunLike`.

    Raises:
        ConfigurationError: A file that cannot be read, or a run that nothing in this graph had
            a part in.
    """
    seen = _observed(run)
    places = _Places(sketch)
    by_node: defaultdict[str, list[Observed]] = defaultdict(list)
    for one in seen.found:
        place = places.find(one)
        if place is not None:
            by_node[place].append(one)
    if not by_node and seen.found:
        raise ConfigurationError(
            f"nothing of this run belongs to the graph of {sketch.id!r}: it names {seen.found[0].name}"
        )
    whole = seen.whole and bool(by_node)
    nodes = {
        node.id: replace(
            node,
            run=_node_run(
                node,
                by_node.get(node.id),
                whole=whole and (seen.tools or sketch.parent(node.id).kind != "tools"),
            ),
        )
        for node in sketch.nodes.values()
    }
    done = replace(sketch, nodes=nodes)
    groups = {group.id: replace(group, run=_group_run(done, group, by_node)) for group in sketch.groups.values()}
    return replace(done, groups=groups)


@dataclass(slots=True)
class _Seen:
    """What is known of a run.

    Args:
        found: What it says.
        whole: Whether a step that it does not name has not run.
        tools: Whether a tool that it does not name was not called: hooks say nothing of tools.
    """

    found: list[Observed]
    whole: bool
    tools: bool = False


def _observed(run: RunLike) -> _Seen:
    if isinstance(run, Result):
        return _Seen(
            _of_result(run.audit, run.tripwire, [call.tool_name for s in run.steps for call in s.tool_calls]),
            whole=False,
        )
    if isinstance(run, WorkflowResult):
        return _Seen([of_record(record) for record in run.steps.values()], whole=True)
    if isinstance(run, (str, PathLike)):
        return _lines(_read(Path(run)))
    return _lines(run)


def _of_result(audit: Iterable[AuditEntry], trip: Tripped | None, tools: Sequence[str]) -> list[Observed]:
    found = [of_audit(entry.processor_id, entry.hook, entry.status) for entry in audit]
    if trip is not None:
        found.append(of_trip(trip.processor_id, trip.path, trip.reason))
    return [*found, *(Observed(name, None, "tool") for name in tools)]


def _read(path: Path) -> list[Any]:
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise ConfigurationError(f"{path}: the run cannot be read: {error.strerror}") from error
    found: list[Any] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise ConfigurationError(f"{path}:{number}: not a line of JSON: {error}") from error
    return found


def _lines(items: Iterable[Any]) -> _Seen:
    found: list[Observed] = []
    whole = tools = False
    for number, item in enumerate(items, start=1):
        if isinstance(item, HookEvent):
            found.append(of_event(item))
            whole = True
        elif isinstance(item, StepRecord):
            found.append(of_record(item))
            whole = True
        elif isinstance(item, Mapping):
            line = cast("Mapping[str, Any]", item)
            try:
                found += _of_line(line)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise ConfigurationError(
                    f"object {number} of the run is not what a run writes: {type(error).__name__}: {error}"
                ) from error
            whole = whole or "hook" in line or "step" in line
            tools = tools or "result" in line
    if not found:
        raise ConfigurationError("there is nothing of a run in this: no hook, no step, no result")
    return _Seen(found, whole, tools)


def _of_line(line: Mapping[str, Any]) -> list[Observed]:
    """Read one saved line: `{"hook": …}`, `{"step": …}` or `{"result": …}`; others tell nothing here."""
    hook, step, result = line.get("hook"), line.get("step"), line.get("result")
    if isinstance(hook, Mapping):
        return [of_event(cast("Mapping[str, Any]", hook))]
    if isinstance(step, Mapping):
        return [of_record(cast("Mapping[str, Any]", step))]
    if isinstance(result, Mapping):
        given = cast("Mapping[str, Any]", result)
        trip = cast("Mapping[str, Any] | None", given.get("tripwire"))
        tools = [call["tool_name"] for s in given.get("steps") or () for call in s.get("tool_calls") or ()]
        found = [Observed(name, None, "tool") for name in tools]
        if trip:
            found.append(of_trip(trip.get("processor_id"), trip.get("path"), trip.get("reason") or ""))
        return found
    return []


class _Places:
    """Finds the node that an observation belongs to."""

    def __init__(self, sketch: Sketch) -> None:
        self._paths: dict[tuple[str, str], str] = {}
        self._ids: dict[tuple[str, str], str] = {}
        self._tools: dict[str, str] = {}
        self._made: dict[str, str] = {}
        """The nodes of lists and tools that are made anew for each request."""
        for node in sketch.nodes.values():
            listed = next((g.list for g in sketch.above(node.id) if g.kind == "list"), "")
            if node.kind == "dynamic":
                self._made[listed or "tools"] = node.id
            elif node.kind == "tool" and sketch.parent(node.id).kind == "tools":
                self._tools[node.label] = node.id
            elif node.step_id is not None or node.kind == "sleep":
                path = node.id.removeprefix(f"{listed} › ") if listed else node.id
                self._paths.setdefault((listed, path), node.id)
                self._ids.setdefault((listed, node.step_id or ""), node.id)
        for group in sketch.groups.values():
            if group.kind == "workflow":
                listed = next((g.list for g in sketch.above(group.id) if g.kind == "list"), "")
                path = group.id.removeprefix(f"{listed} › ") if listed else group.id
                self._paths.setdefault((listed, path), group.id)

    def find(self, one: Observed) -> str | None:
        if one.hook == "tool":
            return self._tools.get(one.name, self._made.get("tools"))
        kinds = [kind for kind in ("error", "input", "output") if one.hook is None or one.hook in HOOKS_OF[kind]]
        for kind in ("", *kinds):
            if one.path is not None and (kind, one.path) in self._paths:
                return self._paths[kind, one.path]
        if one.path is None or one.hook is not None:
            ids = [self._ids[kind, one.name] for kind in ("", *kinds) if (kind, one.name) in self._ids]
            made = [self._made[kind] for kind in kinds if kind in self._made] if one.hook is not None else []
            return next(iter([*ids, *made]), None)
        return None


def _node_run(node: Node, found: list[Observed] | None, *, whole: bool) -> NodeRun | None:
    if found is None:
        counts = node.step_id is not None or node.kind == "sleep"
        return NodeRun("skipped") if whole and counts else None
    times = [one.ms for one in found if one.ms is not None]
    total = sum(times) if times else None
    return NodeRun(
        max((one.status for one in found), key=_WORST.index),
        calls=sum(one.calls for one in found),
        total_ms=total,
        own_ms=total,
        edits=sum(one.edits for one in found),
        warnings=sum(one.warnings for one in found),
        reason=next((one.reason for one in found if one.reason), ""),
    )


def _group_run(sketch: Sketch, group: Group, by_node: Mapping[str, list[Observed]]) -> NodeRun | None:
    """Return how a workflow or list went: what was recorded of it, else all that is in it together."""
    if group.kind not in ("workflow", "list"):
        return None
    nodes = list(sketch.inside(group.id))
    if group.id in by_node:
        mine = by_node[group.id]
        total = sum(one.ms or 0.0 for one in mine)
        spans = [one.span for node in nodes for one in by_node.get(node.id, ()) if one.span is not None]
        status = max((one.status for one in mine), key=_WORST.index)
        return NodeRun(status, sum(one.calls for one in mine), total, max(0.0, total - _covered(spans)))
    inside = [node.run for node in nodes if node.run is not None]
    ran = [run for run in inside if run.status != "skipped"]
    if not ran:
        return NodeRun("skipped") if inside else None
    times = [run.total_ms for run in ran if run.total_ms is not None]
    return NodeRun(
        max((run.status for run in ran), key=_WORST.index),
        total_ms=sum(times) if times else None,
        edits=sum(run.edits for run in ran),
        warnings=sum(run.warnings for run in ran),
    )


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """Return how many milliseconds at least one of some spans covers."""
    total, until = 0.0, -math.inf
    for start, end in sorted(spans):
        if end > until:
            total += end - max(start, until)
            until = end
    return total * 1000
