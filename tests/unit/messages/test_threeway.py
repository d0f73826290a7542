"""Three-way merges of texts and plain values."""

from typing import Any

import pytest

from sluiceway.errors import MergeConflict
from sluiceway.messages import Hunk, merge_text, merge_value


def redact(start: int, end: int, text: str = "[X]") -> Hunk:
    return Hunk(start, end, text, redact=True)


BASE = "0123456789"


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        ([Hunk(0, 2, "a")], [Hunk(5, 6, "b")], "a234b6789"),
        ([Hunk(0, 2, "a")], [Hunk(2, 4, "b")], "ab456789"),
        ([Hunk(2, 2, "a")], [Hunk(2, 4, "b")], "01ab456789"),
        ([Hunk(4, 4, "a")], [Hunk(2, 4, "b")], "01ba456789"),
        ([Hunk(2, 4, "a")], [Hunk(2, 4, "a")], "01a456789"),
        ([Hunk(2, 2, "a")], [Hunk(2, 2, "a")], "01a23456789"),
        ([redact(2, 5)], [redact(4, 8, "[Y]")], "01[X]89"),
        ([redact(4, 8, "[Y]")], [redact(2, 5)], "01[Y]89"),
        ([redact(2, 4), redact(6, 8)], [redact(3, 7, "[Y]")], "01[X]89"),
        ([redact(2, 8)], [redact(2, 8)], "01[X]89"),
    ],
)
def test_edits_of_two_branches(one: list[Hunk], other: list[Hunk], merged: str) -> None:
    assert merge_text(BASE, [("a", one), ("b", other)]) == merged


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([Hunk(2, 5, "a")], [Hunk(4, 8, "b")]),
        ([Hunk(2, 2, "a")], [Hunk(2, 2, "b")]),
        ([Hunk(3, 3, "a")], [Hunk(2, 5, "b")]),
        ([redact(2, 5)], [Hunk(4, 8, "b")]),
        ([redact(2, 5)], [Hunk(4, 8, "b", redact=True, exact=False)]),
        ([Hunk(2, 5, "")], [redact(3, 4)]),
    ],
)
def test_edits_that_disagree_name_both(one: list[Hunk], other: list[Hunk]) -> None:
    with pytest.raises(MergeConflict, match=r"'a' and 'c' changed a text at \d:\d") as caught:
        merge_text(BASE, [("a", one), ("b", []), ("c", other)])
    assert caught.value.keys == ("a", "c")
    assert merge_text(BASE, [("a", one)]) == merge_text(BASE, [("a", one), ("b", [])])


def test_a_preferred_branch_wins_where_it_disagrees() -> None:
    versions = [("a", [Hunk(0, 1, "a"), Hunk(2, 5, "A")]), ("b", [Hunk(4, 8, "B"), Hunk(9, 10, "b")])]
    assert merge_text(BASE, versions, prefer="b") == "a123B8b"
    assert merge_text(BASE, versions, prefer="a") == "a1A5678b"
    with pytest.raises(MergeConflict):
        merge_text(BASE, versions, prefer="c")


def test_what_another_branch_redacted_does_not_come_back_through_prefer() -> None:
    versions = [("a", [redact(0, 10)]), ("b", [Hunk(5, 6, "-")])]
    assert merge_text(BASE, versions, prefer="b") == "-"


def test_texts_are_compared_with_the_base() -> None:
    assert merge_text("the cat sat", [("a", "the dog sat"), ("b", "the cat sat down")]) == "the dog sat down"


def test_plain_values_merge_by_key_index_and_text() -> None:
    base = {"to": "bob", "cc": ["a", "b"], "n": 1, "gone": 1, "body": "call bob at noon"}
    one = {"to": "[X]", "cc": ["a", "[Y]"], "n": 1, "gone": 1, "body": "call [X] at noon"}
    other = {"to": "bob", "cc": ["[Z]", "b"], "n": 2, "body": "call bob at [T]", "new": True}
    assert merge_value(base, [("a", one), ("b", other)]) == {
        "to": "[X]",
        "cc": ["[Z]", "[Y]"],
        "n": 2,
        "body": "call [X] at [T]",
        "new": True,
    }


@pytest.mark.parametrize(
    ("base", "one", "other"),
    [
        ({"n": 1}, {"n": 2}, {"n": 3}),
        ([1], [1, 2], [1, 3]),
        ({"k": 1}, {}, {"k": 2}),
        (1, 2, "x"),
        ({}, {"k": 1}, {"k": 2}),
    ],
)
def test_values_that_disagree_name_both(base: Any, one: Any, other: Any) -> None:
    with pytest.raises(MergeConflict) as caught:
        merge_value(base, [("a", one), ("b", other)], where="the args")
    assert caught.value.keys == ("a", "b")
    assert "the args" in str(caught.value)
    assert merge_value(base, [("a", one), ("b", other)], prefer="b") == other
    assert merge_value(base, [("a", one), ("b", one)]) == one


def test_true_is_not_one() -> None:
    assert merge_value({"k": 1}, [("a", {"k": True}), ("b", {"k": 1})]) == {"k": True}
    merged = merge_value({"k": 1}, [("a", {"k": True})])
    assert merged["k"] is True


def test_a_merged_value_is_nobodys() -> None:
    one = {"k": [1]}
    merged = merge_value({}, [("a", one)])
    merged["k"].append(2)
    assert one == {"k": [1]}


def test_a_preferred_branch_wins_in_a_text_inside_of_a_value() -> None:
    versions = [("a", {"k": ["one"]}), ("b", {"k": ["two"]})]
    assert merge_value({"k": ["base"]}, versions, prefer="b") == {"k": ["two"]}
    with pytest.raises(MergeConflict):
        merge_value({"k": ["base"]}, versions)


@pytest.mark.parametrize(("where", "said"), [({}, "a value"), ({"where": "the state"}, "the state")])
def test_values_that_are_nested_too_deep_to_merge_say_what_they_are(where: dict[str, str], said: str) -> None:
    def nested(leaf: int) -> Any:
        value: Any = leaf
        for _ in range(600):
            value = {"k": value}
        return value

    with pytest.raises(MergeConflict, match=f"'a' and 'b' changed {said} in different ways"):
        merge_value(nested(0), [("a", nested(1)), ("b", nested(2))], **where)
