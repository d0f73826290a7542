"""Hunks reproduce a text from its base, whatever the order of the edits."""

from sluiceway.messages import Hunk, TextPart
from sluiceway.messages._hunks import apply_hunks, changed_span, diff


def tracked(text: str) -> TextPart:
    part = TextPart(text)
    part.rebase()
    return part


def test_changed_span_is_what_lies_between_common_prefix_and_suffix() -> None:
    assert changed_span("one two three", "one 2 three") == (4, 7, 5)
    assert changed_span("aaa", "aaaa") == (3, 3, 4)
    assert changed_span("", "x") == (0, 0, 1)
    assert changed_span("x", "") == (0, 1, 0)


def test_diff_of_equal_texts_is_empty() -> None:
    assert diff("same", "same") == ()
    assert diff("same", "some") == (Hunk(1, 2, "o", exact=False),)


def test_hunks_are_in_coordinates_of_the_base() -> None:
    part = tracked("mail bob@a.test or eve@b.test")
    part.edit(5, 15, "[EMAIL]", redact=True)
    part.edit(16, 26, "[EMAIL]", redact=True)
    assert part.text == "mail [EMAIL] or [EMAIL]"
    assert part.hunks() == (Hunk(5, 15, "[EMAIL]", redact=True), Hunk(19, 29, "[EMAIL]", redact=True))


def test_an_edit_over_a_replacement_covers_both() -> None:
    part = tracked("0123456789")
    part.edit(2, 4, "ab")
    part.edit(3, 6, "X")
    assert part.text == "01aX6789"
    assert part.hunks() == (Hunk(2, 6, "aX"),)


def test_an_edit_inside_a_replacement_stays_one_hunk() -> None:
    part = tracked("0123456789")
    part.edit(2, 4, "[long text]", redact=True)
    part.edit(5, 6, "", redact=True)
    part.edit(8, 8, "!", redact=True)
    assert part.hunks() == (Hunk(2, 4, part.text[2:-6], redact=True),)


def test_redact_and_exact_hold_for_a_joined_hunk_only_if_for_both() -> None:
    part = tracked("0123456789")
    part.edit(2, 6, "xxxx", redact=True)
    part.edit(3, 5, "y")
    assert part.hunks() == (Hunk(2, 6, "xyx", redact=False),)
    part = tracked("0123456789")
    part.edit(2, 6, "xxxx")
    part.text = "01xzz456789"
    assert [hunk.exact for hunk in part.hunks()] == [False]


def test_two_inserts_at_one_point_are_one_hunk_in_text_order() -> None:
    part = tracked("ab")
    part.edit(1, 1, "X")
    part.edit(1, 1, "Y")
    part.edit(3, 3, "Z")
    assert part.text == "aYXZb"
    assert part.hunks() == (Hunk(1, 1, "YXZ"),)


def test_an_insert_beside_a_deletion_is_a_hunk_of_its_own() -> None:
    part = tracked("abcd")
    part.edit(1, 3, "", redact=True)
    part.edit(1, 1, "X")
    assert part.text == "aXd"
    assert part.hunks() == (Hunk(1, 1, "X"), Hunk(1, 3, "", redact=True))


def test_an_assignment_is_one_inexact_hunk() -> None:
    part = tracked("the cat sat")
    part.text = "the dog sat"
    assert part.hunks() == (Hunk(4, 7, "dog", exact=False),)


def test_a_replacement_by_the_same_text_is_no_hunk() -> None:
    part = tracked("abc")
    part.edit(0, 1, "a")
    assert part.hunks() == ()


def test_twenty_thousand_edits_replay_in_linear_time() -> None:
    """Both as a batch and one by one, ascending or descending: none makes a pass of its own."""
    part = tracked("x" * 40_000)
    part.edit_all([(i, i + 1, "yy") for i in range(0, 40_000, 2)])
    assert len(part.hunks()) == 20_000
    rising, falling = tracked("x" * 4_000), tracked("x" * 4_000)
    for i in range(2_000):
        rising.edit(i * 3, i * 3 + 1, "yy")
        falling.edit(3_998 - 2 * i, 3_999 - 2 * i, "yy")
    for one in (rising, falling):
        assert one._track is not None
        assert len(one._track._batches) == 1
        assert apply_hunks("x" * 4_000, one.hunks()) == one.text
