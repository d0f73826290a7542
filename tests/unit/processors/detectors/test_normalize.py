"""Unicode normalisation."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.processors.detectors import normalize_text

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
