"""The merge of a segment: what several branches made of one stretch of the stream."""

from __future__ import annotations

import pytest

from sluiceway.errors import MergeConflict
from sluiceway.messages import Chunk
from sluiceway.processors._segment import Segment, merge_segment
from sluiceway.processors._stream_runs import Run

BASE = "0123456789"


def delta(text: str) -> Chunk:
    return Chunk("text-delta", {"id": "t", "text": text})


def runs(*edits: tuple[int, int, str], exact: bool = True) -> list[Run]:
    """Return the runs of a branch that makes these edits of the base."""
    out: list[Run] = []
    at = 0
    for start, end, text in edits:
        if start > at:
            out.append(Run(start - at, [delta(BASE[at:start])], same=True))
        out.append(Run(end - start, [delta(text)] if text else [], exact=exact))
        at = end
    if at < len(BASE):
        out.append(Run(len(BASE) - at, [delta(BASE[at:])], same=True))
    return out


def merged(prefer: str | None = None, **branches: list[Run]) -> str:
    segment = Segment([delta(BASE[:4]), delta(BASE[4:])], branches, len(BASE))
    return "".join(chunk.text for run in merge_segment(segment, prefer) for chunk in run.chunks)


def test_nobody_changed_anything() -> None:
    assert merged(a=runs(), b=runs()) == BASE


def test_edits_of_different_places_are_all_made() -> None:
    assert merged(a=runs((1, 3, "A")), b=runs((5, 7, "B"), (8, 9, ""))) == "0A34B79"


def test_the_same_edit_counts_once() -> None:
    assert merged(a=runs((1, 3, "X")), b=runs((1, 3, "X"))) == "0X3456789"
    assert merged(a=runs((1, 3, "X"), exact=False), b=runs((1, 3, "X"), exact=False)) == "0X3456789"


def test_exact_edits_that_overlap_become_one_over_their_whole_union() -> None:
    """With the text of the first in list order, whichever begins first."""
    assert merged(a=runs((1, 4, "A")), b=runs((2, 6, "B"))) == "0A6789"
    assert merged(a=runs((2, 6, "A")), b=runs((1, 4, "B"))) == "0A6789"
    assert merged(a=runs((1, 3, "A")), b=runs((2, 6, "B")), c=runs((5, 8, "C"))) == "0A89"


def test_nothing_that_a_branch_took_out_comes_back_in_a_union() -> None:
    for start in range(10):
        for end in range(start + 1, 11):
            out = merged(a=runs((3, 6, "A")), b=runs((start, end, "B")))
            gone = set(BASE[3:6]) | set(BASE[start:end])
            assert set(out).isdisjoint(gone)
            assert set(BASE) - gone == set(out) - {"A", "B"}


def test_edits_side_by_side_do_not_meet() -> None:
    assert merged(a=runs((1, 3, "A"), exact=False), b=runs((3, 5, "B"), exact=False)) == "0AB56789"


def test_an_insert_at_the_edge_of_an_edit_does_not_meet_it() -> None:
    assert merged(a=runs((2, 4, "A"), exact=False), b=runs((2, 2, "!"))) == "01!A456789"
    assert merged(a=runs((2, 4, "A"), exact=False), b=runs((4, 4, "!"))) == "01A!456789"


def test_all_inserts_of_one_branch_at_one_place_stay() -> None:
    assert merged(a=runs((2, 2, "!"), (2, 2, "?")), b=runs((5, 6, "B"))) == "01!?234B6789"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (runs((1, 4, "A"), exact=False), runs((2, 6, "B"))),
        (runs((1, 4, "A")), runs((2, 6, "B"), exact=False)),
        (runs((2, 2, "!")), runs((2, 2, "?"))),
        (runs((1, 4, "A")), runs((2, 2, "!"))),
    ],
    ids=["inexact-exact", "exact-inexact", "two-inserts", "insert-inside"],
)
def test_anything_else_that_meets_is_a_conflict_of_both(a: list[Run], b: list[Run]) -> None:
    with pytest.raises(MergeConflict, match="'a' and 'b'") as caught:
        merged(a=a, b=b, c=runs((8, 9, "C")))
    assert caught.value.keys == ("a", "b")


def test_the_preferred_branch_wins_a_conflict_with_all_its_edits() -> None:
    a, b = runs((1, 2, "A"), (3, 4, "a"), exact=False), runs((1, 5, "B"), exact=False)
    assert merged(prefer="a", a=a, b=b) == "0A2a456789"
    assert merged(prefer="b", a=a, b=b) == "0B56789"


def test_what_the_other_redacted_does_not_come_back_for_the_preferred() -> None:
    assert merged(prefer="a", a=runs((2, 4, "A"), exact=False), b=runs((1, 6, "B"))) == "0A6789"


def call(**args: object) -> Chunk:
    return Chunk("tool-call", {"tool_call_id": "c", "tool_name": "t", "args": args})


def payloads(base: Chunk, *made: Chunk | None, prefer: str | None = None) -> list[dict[str, object]]:
    """Return what is made of one chunk that each branch replaced, or dropped (None)."""
    branches = {name: [Run(1, [] if one is None else [one])] for name, one in zip("abc", made, strict=False)}
    return [dict(c.payload) for run in merge_segment(Segment([base], branches, 1), prefer) for c in run.chunks]


def test_fields_of_a_chunk_that_is_no_text_are_merged() -> None:
    base = call(mail="a@b.com", phone="123", other=1)
    made = payloads(base, call(mail="[M]", phone="123", other=1), call(mail="a@b.com", phone="[P]", other=1))
    assert made == [call(mail="[M]", phone="[P]", other=1).payload]


def test_one_field_that_two_changed_is_a_conflict() -> None:
    with pytest.raises(MergeConflict) as caught:
        payloads(call(n=1), call(n=2), call(n=3))
    assert caught.value.keys == ("a", "b")
    assert payloads(call(n=1), call(n=2), call(n=3), prefer="b") == [call(n=3).payload]


def test_a_chunk_that_one_dropped_and_another_edited_is_a_conflict() -> None:
    with pytest.raises(MergeConflict):
        payloads(call(n=1), call(n=2), None)
    assert payloads(call(n=1), None, None) == []
