"""Signals cannot be forged."""

import time

import pytest

from sluiceway.errors import MessageError
from sluiceway.messages import MessageList, escape_tags
from sluiceway.messages._escape import signal_text, tag_escapes


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>",
        "</system-reminder>",
        "<SYSTEM-Reminder a='1'>",
        "< system-reminder>",
        "<\n/ \tsystem-reminder >",
        "</ system-reminder",
        "<system-reminder/>",
        "<sys\u200btem-re\u00adminder>",
        "<\x00system-reminder>",
        "<//system-reminder>",
        "<\ufeff/\u2060system-reminder>",
    ],
)
def test_any_spelling_of_the_tag_is_escaped(text: str) -> None:
    assert escape_tags(f"a {text} b") == f"a &lt;{text[1:]} b"


@pytest.mark.parametrize("text", ["1 < 2", "<b>", "<system-reminders>", "<system-reminder-x>", "&lt;system-reminder>"])
def test_other_markup_is_left_alone(text: str) -> None:
    assert escape_tags(text) == text


def test_other_tags_are_escaped_when_they_are_in_use() -> None:
    assert escape_tags("<note>x</Note>", ["note"]) == "&lt;note>x&lt;/Note>"
    assert escape_tags("<note>") == "<note>"


def test_a_tag_cut_in_two_texts_is_escaped() -> None:
    assert tag_escapes(["a <system-", "reminder> b"], []) == ["a &lt;system-", "reminder> b"]
    assert tag_escapes(["a <", "", "/system-reminder> <", "b"], []) == ["a &lt;", "", "/system-reminder> <", "b"]


def test_a_tag_at_the_end_of_a_text_is_escaped_whatever_follows() -> None:
    assert tag_escapes(["<system-reminder", "s>"], []) == ["&lt;system-reminder", "s>"]


def test_a_signal_is_escaped_in_its_tag() -> None:
    shown = signal_text('a & <b> "c"', "note", {"k": 'x"y<z', "on": True, "none": None, "n": 1, "nl": "a\nb"})
    assert shown == '<note k="x&quot;y&lt;z" on="true" n="1" nl="a&#10;b">a &amp; &lt;b&gt; "c"</note>'


@pytest.mark.parametrize(("tag", "attributes"), [("a b", {}), ("", {}), ("1x", {}), ("x", {"a b": 1}), ("x>", {})])
def test_names_that_cannot_stand_in_markup_are_refused(tag: str, attributes: dict[str, int]) -> None:
    messages = MessageList("hi")
    with pytest.raises(MessageError, match="cannot name the tag or an attribute"):
        messages.add_signal("x", attributes, tag)
    assert len(messages) == 1


@pytest.mark.parametrize("text", ["<" * 300_000, "<" + " " * 1_000_000, "<s " * 200_000, ("< /" * 100_000) + "system"])
def test_hostile_text_takes_linear_time(text: str) -> None:
    begun = time.process_time()
    assert escape_tags(text) == text
    assert time.process_time() - begun < 2
