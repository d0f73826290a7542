"""Laws of parallel branches: the outcome depends on list order, never on timing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st

from sluiceway.engine import Arm, Call, Map, Parallel, Plan, calls, merge, prune, run_plan
from sluiceway.errors import MergeConflict, StepError, TripWire
from tests.support.workflows import Board, Named

SCOPE = SimpleNamespace(run_id="r")
BACKENDS = st.sampled_from(["asyncio", "trio"])

edits = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2), max_size=3)
delays = st.integers(0, 3)


async def after(turns: int) -> None:
    """Let others go first, so many times."""
    for _ in range(turns):
        await anyio.lowlevel.checkpoint()


class Editor(Named):
    """Sets fields after a while, and then aborts or fails if it is to."""

    def __init__(self, name: str, fields: dict[str, int], turns: int, end: str = "") -> None:
        super().__init__(name, None)
        self.fields = fields
        self.turns = turns
        self.end = end

    async def run(self, data: Board, scope: Any) -> Board:
        await after(self.turns)
        data.fields.update(self.fields)
        if self.end == "trip":
            raise TripWire(self.id, processor_id=self.id)
        if self.end == "fail":
            raise ValueError(self.id)
        return data


def plan_of(branches: list[tuple[dict[str, int], int]], how: Any = None) -> Plan:
    arms = tuple(
        Arm(f"b{n}", (Call(Editor(f"b{n}", fields, turns), f"b{n}"),)) for n, (fields, turns) in enumerate(branches)
    )
    return (Parallel(arms, "p"), *((Map(how, "m"),) if how else ()))


def outcome(backend: str, plan: Plan, **fields: int) -> Any:
    async def run() -> Any:
        try:
            return (await run_plan(plan, Board(**fields), SCOPE)).fields
        except MergeConflict as conflict:
            return conflict.keys
        except TripWire as trip:
            return (trip.processor_id, [other.processor_id for other in trip.others])
        except StepError as error:
            return str(error.__cause__)

    return anyio.run(run, backend=backend)


def expected(branches: list[dict[str, int]], base: dict[str, int]) -> Any:
    """Merge the way a reader would: branch by branch, in list order."""
    merged: dict[str, tuple[int, str]] = {}
    for number, fields in enumerate(branches):
        for name, value in fields.items():
            if base.get(name) == value:
                continue
            if name in merged and merged[name][0] != value:
                return (merged[name][1], f"b{number}")
            merged[name] = (value, f"b{number}")
    return base | {name: value for name, (value, _) in merged.items()}


@given(BACKENDS, st.lists(st.tuples(edits, delays), min_size=1, max_size=5), edits)
def test_a_merge_does_not_depend_on_timing(
    backend: str, branches: list[tuple[dict[str, int], int]], base: dict[str, int]
) -> None:
    wanted = expected([fields for fields, _ in branches], base)
    got = outcome(backend, plan_of(branches), **base)
    if isinstance(wanted, tuple):
        assert isinstance(got, tuple), "a conflict stays a conflict"
    else:
        assert got == wanted


@given(BACKENDS, st.lists(st.tuples(edits, delays), min_size=1, max_size=5), edits, st.data())
def test_a_picked_branch_is_all_that_goes_on(
    backend: str, branches: list[tuple[dict[str, int], int]], base: dict[str, int], data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, len(branches) - 1))
    got = outcome(backend, plan_of(branches, merge.pick(f"b{number}")), **base)
    assert got == base | branches[number][0]


@given(BACKENDS, st.lists(st.tuples(st.sampled_from(["", "trip", "fail"]), delays), min_size=1, max_size=5))
def test_of_all_that_end_badly_the_first_in_list_order_is_told(backend: str, ends: list[tuple[str, int]]) -> None:
    """A tripwire before any error, if all may finish."""
    arms = tuple(Arm(f"b{n}", (Call(Editor(f"b{n}", {}, turns, end), f"b{n}"),)) for n, (end, turns) in enumerate(ends))
    got = outcome(backend, (Parallel(arms, "p", wait="all"),))
    trips = [f"b{n}" for n, (end, _) in enumerate(ends) if end == "trip"]
    fails = [f"b{n}" for n, (end, _) in enumerate(ends) if end == "fail"]
    assert got == ((trips[0], trips[1:]) if trips else fails[0] if fails else {})


@given(BACKENDS, st.lists(st.tuples(st.sampled_from(["", "trip", "fail"]), delays), min_size=1, max_size=5))
def test_a_group_that_ends_early_ends_badly_and_with_one_of_its_own(backend: str, ends: list[tuple[str, int]]) -> None:
    arms = tuple(Arm(f"b{n}", (Call(Editor(f"b{n}", {}, turns, end), f"b{n}"),)) for n, (end, turns) in enumerate(ends))
    got = outcome(backend, (Parallel(arms, "p"),))
    bad = {f"b{n}": end for n, (end, _) in enumerate(ends) if end}
    if not bad:
        assert got == {}
    elif isinstance(got, tuple):
        assert bad[got[0]] == "trip"
    else:
        assert bad[got] == "fail"


@st.composite
def plans(draw: st.DrawFn, names: Any = None, depth: int = 2) -> Plan:
    """A plan of editors of one field each, that never conflict."""
    names = names if names is not None else iter(f"s{n}" for n in range(1000))
    made: list[Any] = []
    for _ in range(draw(st.integers(0 if depth < 2 else 1, 3))):
        if depth and draw(st.booleans()):
            arms = tuple(Arm(f"arm{n}", draw(plans(names, depth - 1))) for n in range(draw(st.integers(1, 3))))
            made.append(Parallel(arms, next(names)))
        else:
            name = next(names)
            made.append(Call(Editor(name, {name: 1}, draw(delays)), name))
    return tuple(made)


@given(BACKENDS, plans(), st.data())
def test_a_pruned_plan_does_what_the_kept_steps_do(backend: str, plan: Plan, data: st.DataObject) -> None:
    steps = [call.step.id for call in calls(plan)]
    kept = set(data.draw(st.lists(st.sampled_from(steps), unique=True))) if steps else set()
    assert outcome(backend, prune(plan, lambda step: step.id in kept)) == dict.fromkeys(kept, 1)
