r"""Escapes of JSON in a text: `ann\u0040example.org` is an address, for any cut of a stream."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway.processors.detectors import EscapedHold, escaped, find, read_escapes, replacement, unite
from sluiceway.processors.detectors._custom import custom_rule
from sluiceway.processors.detectors._pii import pii_rules
from tests.support.pii_texts import cuts, pieces

RULES = pii_rules()
OPEN = (*RULES, custom_rule("tok", r"tok-[a-z0-9@]{4,}", option="detection_types"))
PIECES = st.sampled_from(
    [
        r"ann\u0040example.org",
        r"\u0061nn@example\u002eorg",
        r"bob\\u0040x.org",
        r"\u0034111 1111\u00201111 1111",
        r"tok-\u0061bcd",
        "eve@x.org",
        "\\",
        "\\\\\\",
        r"\u",
        r"\u00",
        r"\ud83d\ude00",
        r"\uD83D",
        r"\\\ude00",
        r"\n",
        "u0040",
        "ann",
        "@",
        "x.org",
        "tok-",
        " ",
    ]
)
TEXTS = st.lists(PIECES, max_size=7).map("".join)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (r"ann\u0040x.org", "ann@x.org"),
        (r"\u0041\u0042", "AB"),
        (r"a\\u0040b", "a@b"),  # as in JSON inside of JSON
        ("\\" * 10 + "u0040", "\\\\@"),
        (r"a\u004", None),
        (r"C:\new\table", None),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\uD83D\\\uDE00!", "\U0001f600!"),
        (r"\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        (r"\ud83d" + "\\" * 9 + "ude00", "\ufffd\\\ufffd"),
        ("plain", None),
    ],
)
def test_what_a_text_means(text: str, meant: str | None) -> None:
    read = read_escapes(text)
    assert (None if read is None else read[0]) == meant


def meaning(escape: str) -> str:
    """What an escape means, as the reader of JSON says."""
    one: str = json.loads('"' + re.sub(r"\\+", r"\\", escape) + '"')
    return "\ufffd" if one.encode("utf-8", "replace") == b"?" else one


@given(TEXTS)
def test_each_character_of_what_is_meant_stands_where_the_offsets_say(text: str) -> None:
    read = read_escapes(text)
    if read is None:
        return
    shown, at = read
    places = [at(offset) for offset in range(len(shown) + 1)]
    assert (places[0], places[-1]) == (0, len(text))
    for character, (start, end) in zip(shown, itertools.pairwise(places), strict=True):
        written = text[start:end]
        assert written == character or meaning(written) == character


def whole(text: str, rules: Sequence[object]) -> str:
    """What a whole text becomes, in the plain way."""
    read = read_escapes(text)
    findings = unite(find(rules, text if read is None else read[0]))  # type: ignore[arg-type]
    out, position = "", 0
    for finding in findings if read is None else map(read[1].finding, findings):
        out += text[position : finding.start] + replacement(finding, "", method="placeholder")
        position = finding.end
    return out + text[position:]


@pytest.mark.parametrize("rules", [RULES, OPEN], ids=["bounded", "open"])
@given(TEXTS, st.data())
@settings(max_examples=100)
def test_any_cut_gives_the_redaction_of_the_whole(rules: Sequence[object], text: str, data: st.DataObject) -> None:
    window, out, offset = EscapedHold(rules), "", 0  # type: ignore[arg-type]
    taken = 0
    for piece in [*pieces(text, data.draw(cuts(text))), None]:
        release = window.flush() if piece is None else window.feed(piece)
        taken += len(piece or "")
        if release.length:
            assert (release.offset, release.text) == (offset, text[offset : offset + release.length])
        offset += release.length
        assert window.held == taken - offset
        position = 0
        for finding in release.findings:
            out += release.text[position : finding.start] + replacement(finding, "", method="placeholder")
            position = finding.end
        out += release.text[position:]
        assert whole(text, rules).startswith(out)
    assert out == whole(text, rules)


def test_no_more_is_held_than_what_may_become_an_escape() -> None:
    window = EscapedHold(RULES)
    held: list[int] = []
    for piece in ("see C:", "\\", "u", "00", "4", "1 and ", "\\new "):
        window.feed(piece)
        held.append(window.held)
    assert held == [2, 3, 4, 6, 7, 0, 0]


def test_what_is_written_in_json() -> None:
    assert escaped('a"b\n*é') == 'a\\"b\\n*é'


@pytest.mark.parametrize("text", ["\\" * 300_000, r"\u005c" * 50_000, r"\u004" * 60_000, "\\" * 8 + "u"])
def test_time_is_linear(text: str) -> None:
    """A square of it would take minutes."""
    read_escapes(text)
    window = EscapedHold(RULES)
    for start in range(0, len(text), 1000):
        window.feed(text[start : start + 1000])
    window.flush()
    assert window.held == 0
