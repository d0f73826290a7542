"""The law of the hold-back: any cut of a text gives the redaction of the whole text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from sluiceway.processors.detectors._custom import custom_rule
from sluiceway.processors.detectors._holdback import HoldBack, HoldExceeded
from sluiceway.processors.detectors._mask import replacement
from sluiceway.processors.detectors._overlap import unite
from sluiceway.processors.detectors._pii import pii_rules
from sluiceway.processors.detectors._rule import Rule, find
from tests.support.pii_texts import cuts, pieces, texts

RULES = pii_rules()
UNCHECKED = pii_rules(checksums=False)
CUSTOM = tuple(
    custom_rule(f"custom-{index}", definition, option="detection_types")
    for index, definition in enumerate(
        [
            r"tok-[a-z0-9]{10,}",
            r"\bEMP-\d{3}\b",
            r"(?i)project\s+falcon\b",
            r"(?<=id[:=]\s?)\d+",
            r"a+b|b+a$",
            r"(?m)^call.{0,6}$",
            r"(\w)\1{2}",
            r"x(?!y)\B",
            ["Falcon", "C++", "new york"],
        ]
    )
)

OWN = [
    "tok-",
    "abc123def4567",
    "EMP-123",
    "EMP-",
    "project",
    "Falcon",
    "id: 77",
    "aaab",
    "bba",
    "xx",
    "call",
    "EMP-1234",
    "falcons",
]


def redacted(text: str, rules: Sequence[Rule]) -> str:
    """What the whole text becomes; the plain way, with nothing held."""
    out, position = "", 0
    for finding in unite(find(rules, text)):
        value = text[finding.start : finding.end]
        out += text[position : finding.start] + replacement(finding, value, method="placeholder")
        position = finding.end
    return out + text[position:]


def streamed(parts: Sequence[str], rules: Sequence[Rule]) -> list[str]:
    """What is released after each piece, and at the end."""
    window, out = HoldBack(rules), list[str]()
    for release in itertools.chain((window.feed(part) for part in parts), (window.flush() for _ in "1")):
        shown, position = "", 0
        for finding in release.findings:
            value = release.text[finding.start : finding.end]
            shown += release.text[position : finding.start]
            shown += replacement(finding, value, method="placeholder")
            position = finding.end
        out.append(shown + release.text[position:])
    assert window.held == 0
    return out


@given(texts(), st.data())
def test_any_cut_gives_the_redaction_of_the_whole_text(text: str, data: st.DataObject) -> None:
    parts = pieces(text, data.draw(cuts(text)))
    assert "".join(streamed(parts, RULES)) == redacted(text, RULES)


@given(texts())
def test_one_character_at_a_time_gives_the_redaction_of_the_whole_text(text: str) -> None:
    assert "".join(streamed(list(text), RULES)) == redacted(text, RULES)


@given(texts(), st.data())
def test_any_cut_without_checksums(text: str, data: st.DataObject) -> None:
    parts = pieces(text, data.draw(cuts(text)))
    assert "".join(streamed(parts, UNCHECKED)) == redacted(text, UNCHECKED)


@given(texts(OWN), st.data())
def test_any_cut_with_patterns_of_the_users_own(text: str, data: st.DataObject) -> None:
    rules = [*RULES, *CUSTOM]
    parts = pieces(text, data.draw(cuts(text)))
    assert "".join(streamed(parts, rules)) == redacted(text, rules)


@given(texts(), st.data())
def test_what_was_released_is_always_a_prefix_of_the_outcome(text: str, data: st.DataObject) -> None:
    """So no character of a match is ever seen."""
    parts = pieces(text, data.draw(cuts(text)))
    whole, seen = redacted(text, RULES), ""
    for shown in streamed(parts, RULES):
        seen += shown
        assert whole.startswith(seen)


@given(texts(), st.data())
def test_findings_are_reported_at_their_place_in_the_block(text: str, data: st.DataObject) -> None:
    window, spans = HoldBack(RULES), list[tuple[int, int, str]]()
    parts = pieces(text, data.draw(cuts(text)))
    for release in [*map(window.feed, parts), window.flush()]:
        spans += [(release.offset + f.start, release.offset + f.end, f.type) for f in release.findings]
    assert spans == [(f.start, f.end, f.type) for f in unite(find(RULES, text))]


SMALL = ["abc", "ab{1,2}c", "a[bc]{2}a", "(?:ab)+c", "a|bb", "c.?a"]


@pytest.mark.parametrize("pattern", SMALL)
def test_holds_the_shortest_tail_that_could_still_become_part_of_a_match(pattern: str) -> None:
    """Against brute force: every text over a, b, c up to 5 letters, every way to go on up to 4."""
    rules = [custom_rule("x", pattern, option="o")]
    plain = regex.compile(pattern)
    ways = ["".join(way) for n in range(5) for way in itertools.product("abc", repeat=n)]
    for text in ("".join(t) for n in range(1, 6) for t in itertools.product("abc", repeat=n)):
        window = HoldBack(rules)
        window.feed(text)
        crossing = [
            match.start()
            for way in ways
            for match in plain.finditer(text + way)
            if match.start() < len(text) < match.end()
        ]
        assert (text, window.held) == (text, len(text) - min(crossing, default=len(text)))


@given(st.integers(440, 620), st.sampled_from(["b", "c", "c ", ""]), st.data())
def test_outgrowing_the_limit_does_not_hang_on_the_cut(run: int, end: str, data: st.DataObject) -> None:
    text = data.draw(st.text("x ", max_size=60)) + "x" + "ab" * run + "aa" + end
    rules = [custom_rule("x", "x(?:ab)+a+c", option="o")]

    def outcome(parts: Sequence[str]) -> str:
        try:
            return "".join(streamed(parts, rules))
        except HoldExceeded as exceeded:
            return str(exceeded)

    whole = outcome([text])
    assert outcome(pieces(text, data.draw(cuts(text)))) == whole
    assert outcome(list(text)) == whole
