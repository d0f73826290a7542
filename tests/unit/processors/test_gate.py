"""The gate: where it cuts, and what it hands out."""

from __future__ import annotations

from sluiceway.messages import Chunk
from sluiceway.processors._gate import Gate
from sluiceway.processors._segment import Segment
from sluiceway.processors._stream_runs import Run


def delta(text: str) -> Chunk:
    return Chunk("text-delta", {"id": "t", "text": text})


def same(text: str) -> Run:
    return Run(len(text), [delta(text)], same=True)


def edit(n: int, text: str, *, glue: bool = False) -> Run:
    return Run(n, [delta(text)] if text else [], exact=True, glue=glue)


def gate(*chunks: str) -> Gate:
    made = Gate(["a", "b"])
    for chunk in chunks:
        made.enter(delta(chunk))
    return made


def told(segment: Segment | None) -> tuple[str, str, str] | None:
    """Return the text of a segment as it came in and as each branch made it."""
    if segment is None:
        return None
    return (_text(segment.base), _text(segment.parts("a")), _text(segment.parts("b")))


def _text(chunks: object) -> str:
    return "".join(chunk.text for chunk in chunks)  # type: ignore[attr-defined]


def test_nothing_goes_out_before_all_have_cleared_it() -> None:
    held = gate("abcd")
    held.clear(0, [same("abcd")])
    assert told(held.take()) is None
    held.clear(1, [same("ab")])
    assert told(held.take()) == ("ab", "ab", "ab")
    assert held.empty is False
    held.clear(1, [same("cd")])
    assert told(held.take()) == ("cd", "cd", "cd")
    assert held.empty is True


def test_a_cut_lies_inside_no_edit_of_any_branch() -> None:
    held = gate("abcdef")
    held.clear(0, [same("a"), edit(4, "X"), same("f")])
    held.clear(1, [same("abc")])
    assert told(held.take()) == ("a", "a", "a")
    held.clear(1, [same("def")])
    assert told(held.take()) == ("bcdef", "Xf", "bcdef")


def test_an_edit_of_one_branch_lowers_the_cut_into_one_of_another() -> None:
    held = gate("abcdef")
    held.clear(0, [same("a"), edit(3, "X"), same("ef")])
    held.clear(1, [same("abc"), edit(2, "Y")])
    assert told(held.take()) == ("abcde", "aXe", "abcY")


def test_the_cut_falls_until_it_suits_all() -> None:
    held = gate("abcdefg")
    held.clear(0, [same("ab"), edit(3, "X"), same("fg")])
    held.clear(1, [edit(3, "Y"), same("d")])
    assert told(held.take()) is None
    held.clear(1, [same("efg")])
    assert told(held.take()) == ("abcdefg", "abXfg", "Ydefg")


def test_an_edit_over_two_chunks_is_not_parted() -> None:
    held = gate("ab", "cd")
    held.clear(0, [same("a"), edit(1, "", glue=True), edit(1, "X"), same("d")])
    held.clear(1, [same("ab")])
    assert told(held.take()) == ("a", "a", "a")
    held.clear(1, [same("cd")])
    assert told(held.take()) == ("bcd", "Xd", "bcd")


def test_an_edit_whose_end_is_not_known_yet_is_held_whole() -> None:
    held = gate("ab")
    held.clear(0, [same("a"), edit(1, "", glue=True)])
    held.clear(1, [same("ab")])
    assert told(held.take()) == ("a", "a", "a")


def test_what_stands_between_the_pieces_of_an_edit_does_not_hold_the_rest() -> None:
    held = gate("a", "-", "b")
    held.clear(0, [edit(1, "", glue=True), same("-"), edit(1, "X")])
    held.clear(1, [same("a-")])
    assert told(held.take()) == ("a-", "-", "a-")


def test_an_insert_goes_out_with_what_is_in_front_of_it() -> None:
    held = gate("ab")
    held.clear(0, [same("a"), Run(0, [delta("!")]), same("b")])
    held.clear(1, [same("a")])
    assert told(held.take()) == ("a", "a!", "a")


def test_an_insert_alone_goes_out_where_nothing_is_cleared() -> None:
    held = gate("ab")
    held.clear(0, [Run(0, [delta("!")])])
    assert told(held.take()) == ("", "!", "")


def test_unchanged_chunks_go_out_as_the_same_objects() -> None:
    first, second = delta("ab"), delta("cd")
    held = Gate(["a"])
    for chunk in (first, second):
        held.enter(chunk)
    held.clear(0, [Run(2, [first], same=True), Run(2, [second], same=True)])
    segment = held.take()
    assert segment is not None
    assert [id(chunk) for chunk in segment.base] == [id(first), id(second)]
