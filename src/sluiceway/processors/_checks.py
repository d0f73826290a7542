"""Checks that write nothing, run side by side with the outcome of list order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import anyio

from sluiceway.engine import Call, Map, Merge, Node, Parallel, Plan, calls, nodes, run_plan, unwrapped
from sluiceway.processors._call import HookCall
from sluiceway.processors._declared import effects_of
from sluiceway.processors._protocols import HookName
from sluiceway.processors._scope import HookScope, Kept
from sluiceway.processors._step import ProcessorStep

__all__ = ["Check", "CheckGroup", "group_of", "grouped", "is_check", "run_checks"]


class Check:
    """An entry of a list that writes nothing, with its own view of the run.

    Args:
        plan: The entry.
        call: The call as of its place in the list.
        scope: The run.
    """

    __slots__ = ("_call", "_plan", "error", "scope")

    def __init__(self, plan: Plan, call: HookCall, scope: HookScope) -> None:
        self._plan = plan
        self._call = call.fork()
        self.scope = scope.beside()
        self.error: BaseException | None = None
        """What it raised."""

    async def run(self) -> None:
        """Run it; what it raises is kept in `error`, and a cancellation goes up as well."""
        try:
            await run_plan(self._plan, self._call, self.scope)
        except anyio.get_cancelled_exc_class() as error:
            self.error = error  # a check that was cut off has not passed, whoever did it
            raise
        except BaseException as error:  # noqa: BLE001 - raised when those before it have passed
            self.error = unwrapped(error)

    def take(self) -> Kept:
        """Take what its hooks did to the run."""
        return self.scope.take()


async def run_checks(checks: Sequence[Check]) -> None:
    """Run checks side by side. One that raises cancels those after it, and waits for those before it.

    Args:
        checks: In list order.
    """
    if len(checks) == 1:
        await checks[0].run()
        return
    scopes = [anyio.CancelScope() for _ in checks]
    # trio starts tasks in any order, so that a task takes the next check, not one of its own.
    waiting = iter(range(len(checks)))
    failed = len(checks)

    async def run() -> None:
        nonlocal failed
        index = next(waiting)
        if index > failed:
            return
        try:
            with scopes[index]:
                await checks[index].run()
        finally:
            if checks[index].error is not None and index < failed:
                failed = index
                for later in scopes[index + 1 :]:
                    later.cancel()

    async with anyio.create_task_group() as group:
        for _ in checks:
            group.start_soon(run)


class CheckGroup:
    """Neighbours in a list that wait and write nothing, as one step of a plan.

    Args:
        members: They, in list order.
    """

    __slots__ = ("id", "key", "members")

    def __init__(self, members: Sequence[Call]) -> None:
        self.members = tuple(members)
        self.id = self.key = " + ".join(member.step.key for member in members)

    def checks(self, data: HookCall, scope: HookScope) -> list[Check]:
        """Return them, ready to run."""
        return [Check((member,), data, scope) for member in self.members]

    async def run(self, data: HookCall, scope: HookScope) -> HookCall:
        """Run them side by side, then put into effect what they did, in list order."""
        checks = self.checks(data, scope)
        await run_checks(checks)
        for check in checks:
            await scope.commit(check.take())
            if check.error is not None:
                raise check.error
        return data


def grouped(plan: Plan, hook: HookName) -> Plan:
    """Return the plan of a hook with neighbours side by side that wait and write nothing."""
    out: list[Node] = []
    group: list[Call] = []
    for node in plan:
        if isinstance(node, Call) and _waits(node, hook):
            group.append(node)
            continue
        out.extend(_closed(group))
        group = []
        out.append(node)
    return (*out, *_closed(group))


def _closed(group: Sequence[Call]) -> Iterable[Node]:
    return group if len(group) < 2 else (Call(CheckGroup(group), group[0].path),)


def _waits(node: Call, hook: HookName) -> bool:
    if not isinstance(node.step, ProcessorStep) or not _is_silent(node, hook):
        return False
    effects = effects_of(node.step.processor, hook)
    return effects is not None and effects.external


def _is_silent(node: Call, hook: HookName) -> bool:
    return isinstance(node.step, ProcessorStep) and hook in node.step.silent


def group_of(entry: Plan) -> CheckGroup | None:
    """Return the group that an entry is, or None.

    Args:
        entry: An entry of a chain.
    """
    node = entry[0]
    return node.step if isinstance(node, Call) and isinstance(node.step, CheckGroup) else None


def is_check(entry: Plan, hook: HookName) -> bool:
    """Whether nothing in an entry writes anything in that hook, so that it can be put off.

    Args:
        entry: An entry of a chain.
        hook: The hook.
    """
    return all(
        isinstance(node, (Call, Parallel)) or (isinstance(node, Map) and isinstance(node.fn, Merge))
        for node in nodes(entry)
    ) and all(_is_silent(call, hook) for call in calls(entry))
