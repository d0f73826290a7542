"""Plans: what a hook needs of them, and how nested workflows are laid out."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.engine import (
    Arm,
    Call,
    Choice,
    ForEach,
    Loop,
    Map,
    Parallel,
    Plan,
    Sleep,
    StepOptions,
    Sub,
    calls,
    flatten,
    merge,
    nodes,
    prune,
)
from sluiceway.errors import GraphError
from tests.support.workflows import Named


def call(name: str, *, opaque: bool = False, **options: Any) -> Call:
    return Call(Named(name, None), name, StepOptions(**options), opaque=opaque)


def arm(*names: str) -> Arm:
    return Arm(names[0], tuple(call(name) for name in names))


def keep(*names: str) -> Any:
    return lambda step: step.id in names


def first(data: Any, scope: Any) -> Any:
    return data


def shape(plan: Plan) -> list[Any]:
    """Return a plan as nested lists of names."""
    drawn: list[Any] = []
    for node in plan:
        match node:
            case Call():
                drawn.append(node.step.id)
            case Parallel():
                drawn.append({branch.key: shape(branch.plan) for branch in node.branches})
            case Choice():
                arms = {branch.key: shape(branch.plan) for branch in node.arms}
                drawn.append(("?", arms, shape(node.default.plan) if node.default else None))
            case Loop() | ForEach():
                drawn.append((type(node).__name__, shape(node.body)))
            case Sub():
                drawn.append((node.id, shape(node.plan)))
            case Map() | Sleep():
                drawn.append(type(node).__name__)
    return drawn


def test_steps_that_do_not_count_go() -> None:
    assert shape(prune((call("a"), call("b"), call("c")), keep("a", "c"))) == ["a", "c"]


def test_nothing_kept_is_an_empty_plan_maps_and_pauses_too() -> None:
    plan = (Map(first, "m0"), call("a"), Sleep(1, "s"), Parallel((arm("b"), arm("c")), "p"), Map(first, "m"))
    assert prune(plan, keep()) == ()


def test_every_branch_keeps_its_key_when_one_of_them_counts() -> None:
    plan = (Parallel((arm("a"), arm("b", "b2"), arm("c")), "p"), Map(first, "m"))
    assert shape(prune(plan, keep("b2"))) == [{"a": [], "b": ["b2"], "c": []}, "Map"]


def test_a_parallel_of_which_nothing_counts_takes_its_map_along() -> None:
    plan = (call("x"), Parallel((arm("a"), arm("b")), "p"), Map(first, "m"), call("y"))
    assert shape(prune(plan, keep("x", "y"))) == ["x", "y"]


def test_a_choice_keeps_its_arms_and_default() -> None:
    node = Choice((arm("a"), arm("b")), arm("d"), "c")
    assert shape(prune((node, Map(first, "m")), keep("d"))) == [("?", {"a": [], "b": []}, ["d"]), "Map"]
    assert shape(prune((call("x"), node, Map(first, "m")), keep("x"))) == ["x"]


def test_a_map_behind_a_processor_that_passes_stays() -> None:
    plan = (call("a"), Map(first, "m"), call("b"))
    assert shape(prune(plan, keep("b"))) == ["Map", "b"]


def test_a_map_behind_an_agent_that_does_not_run_goes() -> None:
    plan = (call("agent", opaque=True), Map(first, "m"), call("b"))
    assert shape(prune(plan, keep("b"))) == ["b"]
    assert shape(prune(plan, keep("agent"))) == ["agent", "Map"]


def test_loops_go_and_stay_with_their_bodies() -> None:
    loop = Loop((call("a"),), lambda data, scope: True, True, "l")
    each = ForEach((call("b"),), 1, "f")
    assert shape(prune((loop, each), keep("a"))) == [("Loop", ["a"])]


def test_nested_chains_are_flat() -> None:
    inner = Sub("inner", (call("a"), Sub("core", (call("b"),), "w › inner › core")), "w › inner")
    assert shape(flatten((inner, call("c")), merged=merge.all())) == ["a", "b", "c"]


@pytest.mark.parametrize("last", ["parallel", "branch"])
def test_a_map_behind_a_workflow_sees_its_output_not_its_branches(last: str) -> None:
    node = (
        Parallel((arm("a"), arm("b")), "p")
        if last == "parallel"
        else Choice((Arm("a", (call("a"),), lambda data, scope: True),), None, "p")
    )
    flat = flatten((Sub("inner", (node,), "w › inner"), Map(first, "m")), merged=merge.all())
    assert [type(n).__name__ for n in flat] == [type(node).__name__, "Map", "Map"]


def test_workflows_inside_of_branches_are_flat_too() -> None:
    inside = Arm("w2", (Sub("w2", (call("a"), call("b")), "w › w2"),))
    assert shape(flatten((Parallel((inside, arm("c")), "p"),), merged=merge.all())) == [{"w2": ["a", "b"], "c": ["c"]}]


def test_options_of_a_workflow_inside_are_refused_in_a_list() -> None:
    """Rather than not being heeded."""
    plan = (Sub("inner", (call("a"),), "w › inner", StepOptions(retries=1)),)
    with pytest.raises(GraphError, match=r"w › inner: timeout, retries and on_error of a workflow"):
        flatten(plan, merged=merge.all())


def test_all_calls_and_nodes_come_in_list_order() -> None:
    plan = (
        call("a"),
        Parallel((arm("b", "c"), arm("d")), "p"),
        Choice((arm("e"),), arm("f"), "q"),
        Loop((call("g"),), lambda data, scope: True, True, "l"),
        Sub("s", (call("h"),), "s"),
    )
    assert [c.step.id for c in calls(plan)] == list("abcdefgh")
    assert [node.path for node in nodes(plan)] == ["a", "p", "b", "c", "d", "q", "e", "f", "l", "g", "s", "h"]
