"""What is different between two graphs: added, removed, moved and changed nodes."""

from __future__ import annotations

from typing import get_args

from sluiceway import Workflow, step
from sluiceway.graphs import diff, diff_to_svg, graph_from_json, graph_to_json
from sluiceway.graphs._cards import option_words
from sluiceway.graphs._sketch import Change, Node


def a(data: object) -> object:
    return data


def b(data: object) -> object:
    return data


def c(data: object) -> object:
    return data


def flow(*steps: object) -> Workflow:
    made = Workflow("wf")
    for thing in steps:
        made = made.then(thing)
    return made


def test_the_same_graph_has_no_difference() -> None:
    same = diff(flow(a, b), flow(a, b))
    assert (bool(same), same.to_text()) == (False, "no differences\n")


def test_what_is_new_and_what_is_gone_is_named() -> None:
    found = diff(flow(a, b), flow(a, c))
    assert (found.added, found.removed, found.moved, found.changed) == (("wf › c",), ("wf › b",), (), ())
    assert found.to_text() == "+ wf › c\n- wf › b\n"


def test_a_number_that_shifts_in_a_path_is_no_difference() -> None:
    old = Workflow("wf").parallel([a, b]).map("a")
    new = Workflow("wf").then(c).parallel([a, b]).map("a")
    assert diff(old, new).to_text() == "+ wf › c\n"


def test_another_order_is_a_move() -> None:
    found = diff(flow(a, b, c), flow(c, a, b))
    assert found.to_text() == "> wf › c  (at another place in the order)\n"


def test_what_goes_into_a_branch_is_a_move() -> None:
    found = diff(flow(a, b), Workflow("wf").parallel([a, b]))
    assert found.moved == (("wf › b", "wf › parallel[0] › b"), ("wf › a", "wf › parallel[0] › a")) or found.moved == (
        ("wf › a", "wf › parallel[0] › a"),
        ("wf › b", "wf › parallel[0] › b"),
    )
    assert (found.added, found.removed) == (("wf › parallel[0]",), ())


def test_a_nested_workflow_moves_as_one() -> None:
    inner = Workflow("inner").then(a).then(b)
    found = diff(flow(inner, c), flow(c, inner))
    assert [change.path for change in found.changes] in (["wf › inner"], ["wf › c"])


def test_other_options_are_a_change() -> None:
    found = diff(flow(a, step(b, timeout=1)), flow(step(a, retries=2), step(b, timeout=2)))
    assert [(change.path, dict(change.fields or {})) for change in found.changes] == [
        ("wf › a", {"retries": (0, 2)}),
        ("wf › b", {"timeout_s": (1, 2)}),
    ]
    assert found.to_text() == "~ wf › a  retries: 0 → 2\n~ wf › b  timeout_s: 1 → 2\n"


def test_a_map_that_picks_something_else_is_a_change() -> None:
    old, new = (Workflow("wf").parallel([a, b]).map(key) for key in ("a", "b"))
    assert diff(old, new).changed == ("wf › map[1]",)


def test_a_stored_graph_can_be_compared() -> None:
    stored = graph_from_json(graph_to_json(flow(a, b)))
    assert diff(stored, flow(a)).removed == ("wf › b",)


def test_both_graphs_are_drawn_with_what_is_different() -> None:
    svg = diff_to_svg(diff(flow(a, b), flow(a, c)), theme="light")
    assert svg.count(">removed<") == svg.count(">added<") == 1
    assert "before · workflow" in svg
    assert "after · workflow" in svg


def test_the_word_for_a_change_has_the_colour_of_its_box() -> None:
    changes = get_args(Change)
    tones = {change: option_words(Node("n", "function", "n", change=change))[0][1] for change in changes}
    assert tones == {"added": "good", "removed": "bad", "moved": "info", "changed": "warn"}
