"""Text parts: spans, revisions, growth."""

import pytest

from sluiceway.errors import MessageError
from sluiceway.messages import Hunk, ReasoningPart, TextPart


@pytest.mark.parametrize("span", [(-1, 2), (3, 2), (0, 6), (6, 6)])
def test_a_span_outside_the_text_is_refused(span: tuple[int, int]) -> None:
    part = TextPart("hello")
    with pytest.raises(MessageError, match=f"The span {span[0]}:{span[1]} does not lie inside a text of 5"):
        part.edit(*span, "x")
    assert part.text == "hello"


def test_edit_all_takes_spans_of_the_current_text_in_any_order() -> None:
    part = TextPart("one two three")
    part.edit_all([(8, 13, "3"), (0, 3, "1")])
    assert part.text == "1 two 3"
    assert part._log == [("text", 8, 13, 1), ("text", 0, 3, 1)]


def test_edit_all_refuses_overlapping_spans_and_changes_nothing() -> None:
    part = TextPart("one two")
    with pytest.raises(MessageError, match="overlaps another"):
        part.edit_all([(0, 4, "a"), (3, 5, "b")])
    assert part.text == "one two"
    assert part.revision == 0


def test_every_change_counts_and_no_change_does_not() -> None:
    part = TextPart("a")
    seen = [part.revision]
    part.text = "a"
    seen.append(part.revision)
    part.text = "b"
    seen.append(part.revision)
    part.edit(0, 0, "c")
    seen.append(part.revision)
    part.append("d")
    seen.append(part.revision)
    part.provider_metadata["openai"] = {"id": "x"}
    seen.append(part.revision)
    assert seen == [0, 0, 1, 2, 3, 4]


def test_growing_is_no_edit() -> None:
    part = TextPart("a")
    part.append("b")
    part.append("c")
    assert part.text == "abc"
    assert part._log is None
    assert part.hunks() == ()


def test_a_copy_shares_nothing_and_keeps_its_type() -> None:
    part = ReasoningPart("why", id="r1", provider_metadata={"p": {"signature": "s"}})
    copy = part.copy()
    copy.text = "because"
    copy.provider_metadata["p"]["signature"] = "t"
    assert type(copy) is ReasoningPart
    assert (part.text, part.id, part.provider_metadata) == ("why", "r1", {"p": {"signature": "s"}})


def test_a_copy_of_a_tracked_part_goes_on_from_its_edits() -> None:
    part = TextPart("abc")
    part.rebase()
    part.edit(0, 1, "x")
    copy = part.copy()
    copy.edit(2, 3, "z")
    assert part.hunks() == (Hunk(0, 1, "x"),)
    assert copy.hunks() == (Hunk(0, 1, "x"), Hunk(2, 3, "z"))


def test_a_part_that_was_never_forked_keeps_no_old_text() -> None:
    """So that nothing can be read back from a part after a redaction."""
    part = TextPart("card 4111111111111111")
    part.edit(5, 21, "[CARD]", redact=True)
    assert "4111" not in repr([getattr(part, name) for cls in TextPart.__mro__[:-1] for name in cls.__slots__])


@pytest.mark.parametrize("value", [None, 1, b"x", ["x"]])
def test_text_is_a_str(value: object) -> None:
    with pytest.raises(MessageError, match="The text of a text part is a str"):
        TextPart(value)  # pyright: ignore[reportArgumentType]
    part = TextPart("x")
    with pytest.raises(MessageError, match="The text of a text part is a str"):
        part.text = value  # pyright: ignore[reportAttributeAccessIssue]


def test_edits_at_one_place_stand_in_the_order_they_were_given() -> None:
    part = TextPart("ad")
    part.edit_all([(1, 1, "c"), (1, 1, "b")])
    assert part.text == "acbd"
