"""What a guardrail has put into a text itself: nothing in it is found a second time.

A model repeats the `[SECRET]` that it was given, a tool returns it, the next turn has it in its
history, and a rule for the word would make `[[SECRET]]` of it. So what a guardrail puts in the
place of a finding is looked for along with its rules, and a finding inside of it is none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import regex

from sluiceway.processors.detectors import Finding, Release, Rule, find, opens_with, unite

__all__ = ["mark_rule", "mark_rule_for", "unmarked", "without_marks"]

_MARK: Final = ""
"""The type of what is no finding."""


def mark_rule(texts: Iterable[str], rules: Sequence[Rule] | None = None) -> Rule | None:
    """Return the rule for texts that a guardrail puts in; None if there are none to look out for.

    Args:
        texts: As they are put in.
        rules: What is looked for, if that is known: those in which they find nothing are left out.
    """
    some = {text for text in texts if text and (rules is None or _found_in(text, rules))}
    if not some:
        return None
    longest_first = sorted(some, key=lambda text: (-len(text), text))
    pattern = regex.compile("|".join(map(regex.escape, longest_first)))
    return Rule(_MARK, "mark", pattern, gate=opens_with(longest_first, edge=""), lookbehind_chars=0)


def _found_in(text: str, rules: Sequence[Rule]) -> bool:
    try:
        return bool(find(rules, text))
    except TimeoutError:
        return True


def mark_rule_for(pattern: str, known: Callable[[str], bool]) -> Rule:
    """Return the rule for what looks like a text that a guardrail puts in, and is known to be one.

    Args:
        pattern: Of bounded length; it begins with `[`.
        known: Whether a text is one.
    """

    def check(text: str, start: int, end: int) -> tuple[int, int] | None:
        return (start, end) if known(text[start:end]) else None

    return Rule(_MARK, "mark", regex.compile(pattern), check, gate=opens_with(["["], edge=""), lookbehind_chars=0)


def without_marks(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return findings without the spans that lie inside of marks, and without the marks.

    Args:
        findings: Of the rules and the rule for marks, united.
    """
    if not any(span.type == _MARK for finding in findings for span in finding.spans):
        return findings
    left: list[Finding] = []
    for finding in findings:
        marks = sorted((span.start, span.end) for span in finding.spans if span.type == _MARK)
        starts = [start for start, _ in marks]

        def outside(start: int, end: int, marks: list[tuple[int, int]] = marks, starts: list[int] = starts) -> bool:
            before = bisect_right(starts, start)
            return not before or marks[before - 1][1] < end

        left += unite(span for span in finding.spans if span.type != _MARK and outside(span.start, span.end))
    return left


def unmarked(release: Release) -> Release:
    """Return a release whose findings are without those inside of marks; see `without_marks`."""
    findings = without_marks(release.findings)
    if findings is release.findings:
        return release
    return Release(release.length, release.offset, release.text, tuple(findings))
