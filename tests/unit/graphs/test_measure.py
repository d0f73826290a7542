"""Texts fit the room they are given, and hold nothing that breaks a document."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluiceway.graphs._measure import Text, fit, visible, width_of


@given(st.text(st.characters(), max_size=200), st.floats(20, 400), st.booleans())
def test_a_text_is_never_wider_than_its_room(text: str, room: float, bold: bool) -> None:
    made = fit(text, 13, room, bold=bold)
    assert made.width <= max(room, 13)
    assert made.whole == (made.text == visible(text))


@given(st.text(st.characters(), max_size=100))
def test_nothing_is_left_that_xml_forbids_or_that_turns_the_text(text: str) -> None:
    shown = visible(text)
    assert "\n" not in shown
    assert [
        c for c in shown if unicodedata.category(c) in {"Cc", "Cs"} or unicodedata.bidirectional(c) in {"RLO", "LRO"}
    ] == []
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb", "a⏎b"),
        ("\x00", "␀"),
        ("\ud800", "\ufffd"),
        ("\u202eabc", "\ufffdabc"),
        ("e" + "\u0301" * 9, "e" + "\u0301" * 3),
        ("  plain ", "plain"),
    ],
)
def test_what_cannot_be_seen_gets_a_sign(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_text_is_cut_between_characters_as_readers_see_them() -> None:
    family = "👩‍👩‍👧‍👦"
    made = fit(family * 10, 10, 40)
    assert made == Text(family * 2 + "…", 36.0, exact=False, whole=False)


def test_what_fonts_agree_on_is_exact() -> None:
    assert [fit(t, 10, 500).exact for t in ("plain", "café", "a · b…", "日本", "שלום", "👍")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    assert width_of("iii", 10) < width_of("iii", 10, bold=True) < width_of("WWW", 10, bold=True)
