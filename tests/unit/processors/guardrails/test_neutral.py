"""What goes along with a finding, so that a second look finds nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sluiceway.processors.detectors import Finding, Span, unite
from sluiceway.processors.guardrails._neutral import NEUTRAL, neutralised


def finds(pattern: str) -> Callable[[str], Sequence[Span]]:
    return lambda text: [Span(*match.span(), "x") for match in re.finditer(pattern, text)]


def places(text: str, first: str, then: str) -> list[tuple[int, int]]:
    found = neutralised(text, unite(finds(first)(text)), finds(then))
    return [(finding.start, finding.end) for finding in found]


def test_where_nothing_more_is_found_the_findings_stay_as_they_are() -> None:
    assert places("bad, good, bad", "bad", "bad") == [(0, 3), (11, 14)]


def test_what_is_found_around_what_went_goes_along_with_it() -> None:
    """Its place is told in the text as it was, and one over what went is one with it."""
    text = "see bad and worse, then bad alone"
    assert places(text, "bad", r"\] and worse") == [(4, 17), (24, 27)]
    assert places(text, "bad", "worse") == [(4, 7), (12, 17), (24, 27)]
    assert places("bad bad", "bad", r"\] \[") == [(0, 7)]


def test_a_finding_as_long_as_what_stands_in_its_place_is_whole() -> None:
    text = "x" * len(NEUTRAL) + "yz"
    assert places(text, "x+", r"\]y") == [(0, len(NEUTRAL) + 1)]


def test_where_something_is_found_again_and_again_all_of_the_text_goes() -> None:
    looks: list[str] = []

    def find(text: str) -> Sequence[Span]:
        looks.append(text)
        return [Span(0, 1, "y", 0.8, "again")]

    (whole,) = neutralised("some bad text", [Finding(5, 8, (Span(5, 8, "x", 0.9, "first"),))], find)
    assert (whole.start, whole.end, whole.type, whole.whole) == (0, 13, "x", True)
    assert 1 < len(looks) < 10
