"""`merge`: what goes on behind branches."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.engine import merge
from sluiceway.errors import GraphError, MergeConflict
from tests.support.workflows import Board


def forks(base: Board, **edits: dict[str, Any]) -> dict[str, Board]:
    made = {key: base.fork() for key in edits}
    for key, fields in edits.items():
        made[key].fields.update(fields)
    return made


def test_pick_brings_back_one_branch() -> None:
    base = Board(x=0)
    merged = merge.pick("b").merge(base, forks(base, a={"x": 1}, b={"x": 2}))
    assert (merged is base, merged.fields) == (True, {"x": 2})


@pytest.mark.parametrize("value", [0, "", None, False, [], {}])
def test_first_takes_the_first_that_ran_falsy_or_not(value: Any) -> None:
    assert merge.first(["x", "a", "b"]).merge("base", {"a": value, "b": 1}) == value


def test_a_branch_that_has_not_run_is_an_error_that_lists_those_that_have() -> None:
    with pytest.raises(GraphError, match=r"merge\.pick\('x'\): no branch 'x' has run; there are 'a', 'b'"):
        merge.pick("x").merge(None, {"a": 1, "b": 2})


@pytest.mark.parametrize("keys", ["text", []])
def test_first_takes_a_list(keys: Any) -> None:
    with pytest.raises(GraphError, match=r"merge\.first takes a list"):
        merge.first(keys)


def test_all_takes_the_edits_together() -> None:
    base = Board(x=0)
    assert merge.all().merge(base, forks(base, a={"y": 1}, b={"z": 2})).fields == {"x": 0, "y": 1, "z": 2}


def test_prefer_settles_a_conflict() -> None:
    base = Board(x=0)
    made = forks(base, a={"x": 1, "y": 1}, b={"x": 2})
    assert merge.prefer("b").merge(base, made).fields == {"x": 2, "y": 1}


@pytest.mark.parametrize(
    ("outputs", "merged"),
    [({"a": 1, "b": 1}, 1), ({"a": 2, "b": 1}, 2), ({"a": 1, "b": 3}, 3), ({"a": 4, "b": 4, "c": 1}, 4)],
)
def test_plain_data_that_one_branch_changed_is_that(outputs: dict[str, int], merged: int) -> None:
    assert merge.all().merge(1, outputs) == merged


def test_plain_data_that_two_changed_is_a_conflict_unless_one_is_preferred() -> None:
    outputs = {"a": 2, "b": 3}
    with pytest.raises(MergeConflict) as caught:
        merge.all().merge(1, outputs)
    assert caught.value.keys == ("a", "b")
    assert merge.prefer("b").merge(1, outputs) == 3


def test_a_merge_shows_how_it_is_written() -> None:
    shown = [merge.pick("a"), merge.first(["a", "b"]), merge.all(), merge.prefer("a")]
    assert list(map(repr, shown)) == [
        "merge.pick('a')",
        "merge.first(['a', 'b'])",
        "merge.all()",
        "merge.prefer('a')",
    ]
