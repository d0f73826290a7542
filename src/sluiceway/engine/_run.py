"""Running a plan over data that can fork and merge: what a workflow in a hook is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from inspect import isawaitable
from typing import cast

from sluiceway.engine._clock import clock
from sluiceway.engine._fan import fan_out, raise_first
from sluiceway.engine._merge import Merge, merge
from sluiceway.engine._plan import (
    Arm,
    Call,
    Choice,
    Condition,
    ForEach,
    Loop,
    Map,
    Node,
    Parallel,
    Plan,
    Sleep,
    Sub,
)
from sluiceway.engine._retry import guarded, located
from sluiceway.engine._step import AnyScope, Data, Forkable, can_fork
from sluiceway.errors import LimitExceeded, MergeConflict, ModelError, RunError, StepError, StorageError

__all__ = ["choose", "run_node", "run_plan"]

_ALL = merge.all()
_PASS = (RunError, ModelError, StorageError)
"""Errors that say what is wrong and where already."""


class _Branched:
    """What came out of a `Parallel` or `Choice`, until it is known whether a map follows."""

    __slots__ = ("base", "node", "outputs")

    def __init__(self, node: Parallel | Choice, base: Data, outputs: Mapping[str, Data]) -> None:
        self.node = node
        self.base = base
        self.outputs = outputs


async def run_plan(plan: Plan, data: Data, scope: AnyScope) -> Data:
    """Run the nodes of a plan one after the other and return what the last one gives.

    After a `Parallel` the branches are merged, or handed to the map that follows it; after a
    `Choice` the output of its arm goes on, or `{key: output}` to the map.

    Args:
        plan: The nodes.
        data: What goes in. Data that can fork and join (see `Forkable`) is forked per branch.
        scope: What every step gets beside the data; has a `run_id`.

    Raises:
        TripWire: A step aborted.
        MergeConflict: Branches changed the same thing and no map says which one holds.
        StepTimeoutError: A step took longer than its timeout.
        LimitExceeded: A loop did not end.
        StepError: A map, a condition or a step raised something that is no `RunError`.
    """
    branched: _Branched | None = None
    for node in plan:
        try:
            if type(node) is Call and node.bare and branched is None:
                output = await node.step.run(data, scope)
                if output is not data and not node.opaque:
                    _same_kind(data, output, node, scope)
                data = output
            elif type(node) is Map:
                data = await _map(node, data, branched, scope)
                branched = None
            else:
                if branched is not None:
                    data = _settle(branched)
                    branched = None
                data, branched = await _entry(node, data, scope)
        except _PASS:
            raise
        except Exception as error:
            raise located(error, path=node.path, step_id=_id_of(node), run_id=scope.run_id) from error
    return data if branched is None else _settle(branched)


async def _entry(node: Node, data: Data, scope: AnyScope) -> tuple[Data, _Branched | None]:
    """Run a node that is neither a map nor a call without options."""
    if type(node) is Parallel:
        return data, _Branched(node, data, await _parallel(node, data, scope))
    if type(node) is Choice:
        arm = await choose(node, data, scope)
        outputs = {} if arm is None else {arm.key: await run_plan(arm.plan, data, scope)}
        return data, _Branched(node, data, outputs)
    return await run_node(node, data, scope), None


def _same_kind(data: Data, output: Data, node: Call | Map, scope: AnyScope) -> None:
    """See to it that what a map or function returns can go on where the data could.

    Raises:
        StepError: It returned something else.
    """
    if not can_fork(data) or can_fork(output):
        return
    wanted = type(data).__name__
    raise StepError(
        f"{node.path}: gives {type(output).__name__}, not {wanted}; return the {wanted}",
        step_id=_id_of(node),
        run_id=scope.run_id,
        path=node.path,
        retryable=False,
    )


def _id_of(node: Node) -> str:
    return node.step.id if isinstance(node, Call) else node.path.rpartition(" › ")[2]


async def run_node(node: Node, data: Data, scope: AnyScope) -> Data:
    """Run one node by itself. See `run_plan`.

    Args:
        node: The node.
        data: What goes in.
        scope: The run.
    """
    match node:
        case Call():
            return await _call(node, data, scope)
        case Sleep(seconds=seconds):
            await clock().sleep(seconds)
            return data
        case Loop():
            return await _loop(node, data, scope)
        case ForEach():
            return await _for_each(node, data, scope)
        case Sub():
            return await run_plan(node.plan, data, scope)
        case _:
            return await run_plan((node,), data, scope)


async def choose(node: Choice, data: Data, scope: AnyScope) -> Arm | None:
    """Return the arm that runs: the first whose condition holds, else the default, else None.

    Args:
        node: The choice.
        data: What the conditions are asked about.
        scope: The run.
    """
    for arm in node.arms:
        if arm.condition is None or await _ask(arm.condition, data, scope):
            return arm
    return node.default


async def _ask(condition: Condition, data: Data, scope: AnyScope) -> bool:
    answer = condition(data, scope)
    if isawaitable(answer):
        answer = await answer
    return bool(answer)


async def _call(node: Call, data: Data, scope: AnyScope) -> Data:
    if node.bare:
        return await node.step.run(data, scope)
    options = node.options
    # A try that fails may have written already; what it wrote goes with its fork.
    isolated = can_fork(data) and (options.retries > 0 or options.on_error == "continue")

    async def attempt(number: int) -> Data:
        del number
        output = await node.step.run(data.fork() if isolated else data, scope)
        return _adopt(data, node.step.key, output) if isolated else output

    return await guarded(attempt, options, path=node.path, run_id=scope.run_id, unchanged=data)


async def _parallel(node: Parallel, data: Data, scope: AnyScope) -> Mapping[str, Data]:
    forks = can_fork(data)
    outcomes = await fan_out(
        [partial(run_plan, arm.plan, data.fork() if forks else data, scope) for arm in node.branches],
        wait=node.wait,
    )
    raise_first(outcomes, [arm.key for arm in node.branches])
    return {arm.key: outcome.value for arm, outcome in zip(node.branches, outcomes, strict=True)}


async def _map(node: Map, data: Data, branched: _Branched | None, scope: AnyScope) -> Data:
    if branched is None:
        output = await _apply(node, data, scope)
        _same_kind(data, output, node, scope)
        return output
    if not branched.outputs:
        return branched.base
    try:
        if isinstance(node.fn, Merge):
            base = branched.base if isinstance(branched.node, Parallel) else None
            return node.fn.merge(base, branched.outputs)
        output = await _apply(node, branched.outputs, scope)
        _same_kind(branched.base, output, node, scope)
        if isinstance(branched.node, Parallel):
            return _adopt(branched.base, _key_of(branched.outputs, output, node.path), output)
    except MergeConflict as conflict:
        conflict.path = conflict.path or node.path
        raise
    return output


async def _apply(node: Map, data: Data, scope: AnyScope) -> Data:
    output = node.fn(data, scope)
    return await output if isawaitable(output) else output


def _key_of(outputs: Mapping[str, Data], output: Data, default: str) -> str:
    return next((key for key, value in outputs.items() if value is output), default)


def _adopt(base: Data, key: str, output: Data) -> Data:
    """Bring a fork back into the data it was forked from, so that forks never pile up."""
    if output is base or type(output) is not type(base) or not can_fork(base):
        return output
    return base.join({key: output})


def _settle(branched: _Branched) -> Data:
    node, base, outputs = branched.node, branched.base, branched.outputs
    if isinstance(node, Choice):
        return next(iter(outputs.values())) if outputs else base
    if not can_fork(base):
        return outputs
    try:
        return _ALL.merge(base, outputs)
    except MergeConflict as conflict:
        conflict.path = conflict.path or node.path
        raise


async def _loop(node: Loop, data: Data, scope: AnyScope) -> Data:
    for _ in range(node.max_iterations):
        data = await run_plan(node.body, data, scope)
        if await _ask(node.condition, data, scope) == node.until:
            return data
    message = f"{node.path}: has not ended after {node.max_iterations} iterations (max_iterations)"
    raise LimitExceeded(message, run_id=scope.run_id, path=node.path)


async def _for_each(node: ForEach, data: Data, scope: AnyScope) -> Data:
    """Run the body per item: per item of a list, or per message of data that can be parted."""
    parts = getattr(data, "each", None)
    if parts is None and not isinstance(data, list | tuple):
        message = f"{node.path}: foreach takes a list, not {type(data).__name__}"
        raise StepError(message, step_id="foreach", run_id=scope.run_id, path=node.path, retryable=False)
    items = list(cast("list[Data]", data if parts is None else parts()))
    names = [f"{node.path}[{index}]" for index in range(len(items))]
    limit = node.concurrency
    if not isinstance(limit, int):
        limit = limit(data, scope)
        limit = int(await limit if isawaitable(limit) else limit)
    outcomes = await fan_out([partial(run_plan, node.body, item, scope) for item in items], limit=limit)
    raise_first(outcomes, names)
    outputs = [outcome.value for outcome in outcomes]
    if parts is None:
        return outputs
    return cast("Forkable", data).join(dict(zip(names, outputs, strict=True)))
