"""Unicode normalisation."""

from __future__ import annotations

import unicodedata
from time import thread_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluiceway.processors.detectors import normalize_text
from sluiceway.processors.detectors._normalize import COMPATIBILITY, Compatibility

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


@pytest.mark.parametrize(
    ("text", "expected", "options"),
    [
        ("bob\u200b@corp.test", "bob@corp.test", {}),
        ("ｂｏｂ＠ｃｏｒｐ．ｔｅｓｔ", "bob@corp.test", {}),
        ("bo\u00adb", "bob", {}),
        ("𝐁𝐨𝐛 ①② ﬁ Ⅷ", "Bob 12 fi VIII", {}),
        ("e\u0301", "é", {}),
        ("x² ½ ㎏ ℃ µ …", "x² ½ ㎏ ℃ µ …", {}),
        ("x² ½", "x2 1⁄2", {"compatibility": "full"}),
        ("ｘ e\u0301\u200b", "ｘ é", {"compatibility": "none"}),
        ("def f():\n    return 1\n\n\n# x²", "def f():\n    return 1\n\n\n# x²", {}),
        ("a   b\n   c\t d  ", "a b\n   c\t d", {}),
        ("a   b ", "a   b ", {"collapse_whitespace": False, "trim": False}),
        ("  a\n", "  a\n", {"trim": False}),
        (f"{FAMILY} 🇩🇪 👍🏽 1\ufe0f\u20e3 {SCOTLAND}", f"{FAMILY} 🇩🇪 👍🏽 1\ufe0f\u20e3 {SCOTLAND}", {}),
        (f"{SCOTLAND}", f"{SCOTLAND}", {"strip_control_chars": True}),
        (FAMILY, FAMILY.replace("\u200d", ""), {"preserve_emojis": False}),
        ("Ⓜ\ufe0f Ⓜ", "Ⓜ\ufe0f M", {}),
        ("a\x00b\x07\tc\r\n\u202ed\U000e0061", "a\x00b\x07\tc\r\n\u202ed\U000e0061", {}),
        ("a\x00b\x07\tc\r\n\u202ed\U000e0061", "ab\tc\r\nd", {"strip_control_chars": True}),
        ("a\x00b", "ab", {"strip_control_chars": True}),
        ("4111\u00a01111", "4111 1111", {}),
        ("\ud800x", "\ud800x", {}),
        ("", "", {}),
    ],
)
def test_normal_forms(text: str, expected: str, options: dict[str, Any]) -> None:
    assert normalize_text(text, **options) == expected


@given(st.lists(st.tuples(st.sampled_from("aé\u1ea5가"), st.text("\u0301\u0323\u0327\u0344\u05b0\u0651", max_size=80))))
def test_marks_are_put_into_the_order_that_unicode_gives_them(letters: list[tuple[str, str]]) -> None:
    """Also a run of them that is sorted before it is normalised."""
    text = "".join(letter + marks for letter, marks in letters)
    assert normalize_text(text, compatibility="none") == unicodedata.normalize("NFC", text)
    assert normalize_text(text, compatibility="full") == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("compatibility", COMPATIBILITY)
def test_a_million_marks_on_a_letter_are_only_long(compatibility: Compatibility) -> None:
    started = thread_time()
    normalize_text("a" + "\u0301\u0323" * 500_000, compatibility=compatibility)
    assert thread_time() - started < 10  # they would take CPython a minute and more
