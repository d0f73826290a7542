"""Runs: splitting chunks by position, and composing what two processors did."""

from __future__ import annotations

from collections import deque
from typing import Any, TypeAlias

from sluiceway.messages import Chunk
from sluiceway.processors._stream_runs import Run, compose, split_chunks, width

Told: TypeAlias = "tuple[int, str, str]"
"""Positions in, the text that came out, and whether the run is `same`, `exact` or neither, with `+` for glue."""


def delta(text: str) -> Chunk:
    return Chunk("text-delta", {"id": "t", "text": text})


def end() -> Chunk:
    return Chunk("text-end", {"id": "t"})


def same(text: str) -> Run:
    return Run(len(text), [delta(text)], same=True)


def edit(n: int, text: str, *, exact: bool = True, glue: bool = False) -> Run:
    return Run(n, [delta(text)] if text else [], exact=exact, glue=glue)


def told(runs: Any) -> list[Told]:
    kinds = [("same" if run.same else "exact" if run.exact else "other") + "+" * run.glue for run in runs]
    return [
        (run.n_in, "".join(chunk.text for chunk in run.chunks), kind) for run, kind in zip(runs, kinds, strict=True)
    ]


def composed(first: list[Run], then: list[Run]) -> tuple[list[Told], list[Told], list[Told]]:
    """Return what was composed, and what is left of both sides."""
    left, right = deque(first), deque(then)
    out = compose(left, right)
    return told(out), told(left), told(right)


def test_a_delta_is_as_wide_as_its_text_and_any_other_chunk_is_one() -> None:
    assert [width(delta("four")), width(delta("")), width(end()), width(Chunk("x", {"text": "long"}))] == [4, 1, 1, 1]


def test_chunks_are_split_at_a_position() -> None:
    chunks = [delta("ab"), end(), delta("cd")]
    cuts = [split_chunks(chunks, n) for n in range(6)]
    assert [("".join(c.text or "." for c in left), "".join(c.text or "." for c in right)) for left, right in cuts] == [
        ("", "ab.cd"),
        ("a", "b.cd"),
        ("ab", ".cd"),
        ("ab.", "cd"),
        ("ab.c", "d"),
        ("ab.cd", ""),
    ]
    assert cuts[2][0][0] is chunks[0]


def test_unchanged_on_both_sides_stays_unchanged() -> None:
    assert composed([same("abcd")], [same("ab")]) == ([(2, "ab", "same")], [(2, "cd", "same")], [])


def test_an_edit_of_the_second_is_exact() -> None:
    assert composed([same("abcd")], [same("a"), edit(2, "X"), same("d")]) == (
        [(1, "a", "same"), (2, "X", "exact"), (1, "d", "same")],
        [],
        [],
    )


def test_an_edit_of_the_first_is_exact() -> None:
    assert composed([same("a"), edit(3, "XY"), same("e")], [same("aXYe")]) == (
        [(1, "a", "same"), (3, "XY", "exact"), (1, "e", "same")],
        [],
        [],
    )


def test_edits_that_touch_the_same_become_one_that_is_not_exact() -> None:
    assert composed([same("a"), edit(1, "XY"), same("c")], [edit(2, "Z"), same("Yc")]) == (
        [(2, "ZY", "other"), (1, "c", "same")],
        [],
        [],
    )


def test_an_edit_waits_until_all_of_what_it_covers_is_there() -> None:
    assert composed([edit(2, "XY")], [same("X")]) == ([], [(2, "XY", "exact")], [(1, "X", "same")])
    assert composed([same("ab")], [edit(3, "X")]) == ([], [(2, "ab", "same")], [(3, "X", "exact")])


def test_what_the_first_took_out_needs_nobody_after() -> None:
    assert composed([edit(2, "")], []) == ([(2, "", "exact")], [], [])


def test_an_insert_of_either_stands_for_nothing_that_came_in() -> None:
    assert composed([same("a"), Run(0, [delta("!")]), same("b")], [same("a!b")]) == (
        [(1, "a", "same"), (0, "!", "other"), (1, "b", "same")],
        [],
        [],
    )
    assert composed([same("ab")], [same("a"), Run(0, [delta("!")]), same("b")]) == (
        [(1, "a", "same"), (0, "!", "other"), (1, "b", "same")],
        [],
        [],
    )


def test_an_edit_over_two_chunks_stays_one() -> None:
    assert composed([edit(1, "", glue=True), edit(2, "X")], [same("X")]) == (
        [(1, "", "exact+"), (2, "X", "exact")],
        [],
        [],
    )
