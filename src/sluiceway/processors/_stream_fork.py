"""From the plan of the stream hooks to what runs it: lanes, forks and choices."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from sluiceway.engine import Call, Choice, Map, Parallel, Plan
from sluiceway.errors import GraphError
from sluiceway.messages import Chunk, MessageList
from sluiceway.processors._branch import Branch
from sluiceway.processors._call import HookCall
from sluiceway.processors._choice import ArmChoice, RunnerChoice
from sluiceway.processors._fork import Fork
from sluiceway.processors._lane import Lane, Slot, function_lane, processor_lane
from sluiceway.processors._scope import HookScope
from sluiceway.processors._station import Relay, Station
from sluiceway.processors._step import ProcessorStep
from sluiceway.processors._stream import StreamRunner
from sluiceway.processors._stream_call import StreamCall
from sluiceway.processors._stream_map import mapped, with_parts

__all__ = ["build_stream", "check_stream"]


def build_stream(plan: Plan, scope: HookScope, messages: MessageList) -> StreamRunner:
    """Return the runner of a stream plan for one attempt.

    Args:
        plan: The entries with a stream hook.
        scope: The state of the run.
        messages: The run's list.
    """
    return _runner(plan, scope, HookCall("process_output_stream", messages))


def check_stream(plan: Plan) -> None:
    """Refuse what cannot run in the stream hook.

    Raises:
        GraphError: A loop, `foreach` or `sleep`.
    """
    for node in plan:
        if isinstance(node, (Call, Map)):
            continue
        if isinstance(node, Parallel):
            for arm in node.branches:
                check_stream(arm.plan)
            continue
        if isinstance(node, Choice):
            for arm in (*node.arms, *((node.default,) if node.default else ())):
                check_stream(arm.plan)
            continue
        raise GraphError(
            f"{node.path}: a {type(node).__name__.lower()} cannot run in the stream hook, where every chunk passes "
            "once; put it in a workflow for another hook, or use step(..., hooks=[...]) inside it"
        )


def _runner(plan: Plan, scope: HookScope, base: HookCall) -> StreamRunner:
    return StreamRunner(_lanes(plan, scope, base), scope)


def _entries(plan: Plan) -> list[tuple[Any, Map | None]]:
    """Return the nodes, a fork or choice with the map behind it."""
    entries: list[tuple[Any, Map | None]] = []
    for node in plan:
        if isinstance(node, Map) and entries and isinstance(entries[-1][0], (Parallel, Choice)) and not entries[-1][1]:
            entries[-1] = (entries[-1][0], node)
        else:
            entries.append((node, None))
    return entries


def _lanes(plan: Plan, scope: HookScope, base: HookCall) -> list[Lane]:
    return [_lane(node, follows, scope, base) for node, follows in _entries(plan)]


def _lane(node: Any, follows: Map | None, scope: HookScope, base: HookCall) -> Lane:
    if isinstance(node, Call):
        step = node.step
        if isinstance(step, ProcessorStep):
            return processor_lane(step, scope, base)
        return function_lane(node, scope, base)
    if isinstance(node, Parallel):
        fork = _fork(node, follows, scope, base)
        return Lane(fork.feed, fork.slot, finish=fork.finish, flush=fork.flush, drop=fork.drop)
    if isinstance(node, Choice):
        choice = RunnerChoice(node, follows, scope, base, lambda inner: _runner(inner, scope, base))
        return Lane(choice.feed, choice.slot, finish=choice.finish, flush=choice.flush, drop=choice.drop)
    return Lane(_mapping(cast("Map", node), scope, base), Slot())


def _mapping(node: Map, scope: HookScope, base: HookCall) -> Any:
    async def fn(ctx: Any) -> list[Chunk]:
        return list((await mapped(node, with_parts(base, (ctx.part,)), scope)).parts)

    return fn


def _fork(node: Parallel, follows: Map | None, scope: HookScope, base: HookCall, *, tracked: bool = False) -> Fork:
    asked: list[str] = []
    calls = [StreamCall(base, arm.key, asked) for arm in node.branches]
    branches = [_branch(arm.plan, scope, call) for arm, call in zip(node.branches, calls, strict=True)]
    return Fork(node, follows, scope, base, branches, calls=calls, asked=asked, tracked=tracked)


def _branch(plan: Plan, scope: HookScope, base: HookCall) -> Branch:
    return Branch([_station(node, follows, scope, base) for node, follows in _entries(plan)])


def _station(node: Any, follows: Map | None, scope: HookScope, base: HookCall) -> Station | Relay:
    if isinstance(node, Parallel):
        return Relay(_fork(node, follows, scope, base, tracked=True))
    if isinstance(node, Choice):
        build = partial(_branch, scope=scope, base=base)
        return Relay(ArmChoice(node, follows, scope, base, build))
    lane = _lane(node, follows, scope, base)
    return Station(StreamRunner([lane], scope), lane.ctx)
