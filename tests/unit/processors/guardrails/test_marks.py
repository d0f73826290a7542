"""What a guardrail has put in itself: findings inside of it are none."""

from __future__ import annotations

import time

import pytest

from sluiceway.processors.detectors import Release, custom_rule, find, unite
from sluiceway.processors.guardrails._marks import mark_rule, mark_rule_for, unmarked, without_marks

WORD = custom_rule("word", "(?i)secret[a-z]*", option="rules")
MARK = mark_rule(["[SECRET]", "[SECRET_TOO]", ""], [WORD])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[SECRET]", []),
        ("[SECRET_TOO] secret", ["secret"]),
        ("[secret]", ["secret"]),
        ("[SECRETS]", ["SECRETS"]),
        ("[SECRET][SECRET]secret", ["secret"]),
        ("[SECRET", ["SECRET"]),
    ],
)
def test_what_lies_inside_of_a_mark_is_no_finding(text: str, left: list[str]) -> None:
    assert MARK is not None
    findings = without_marks(unite(find([WORD, MARK], text)))
    assert [text[finding.start : finding.end] for finding in findings] == left
    release = unmarked(Release(len(text), 0, text, tuple(unite(find([WORD, MARK], text)))))
    assert (release.text, list(release.findings)) == (text, list(findings))


def test_what_goes_over_the_end_of_a_mark_is_a_finding_without_it() -> None:
    over = custom_rule("over", r"SECRET\] x", option="rules")
    assert MARK is not None
    assert [f.spans for f in without_marks(unite(find([WORD, over, MARK], "[SECRET] x")))] == [
        tuple(find([over], "[SECRET] x"))
    ]


def test_where_rules_find_nothing_in_what_is_put_in_there_is_no_rule() -> None:
    assert mark_rule(["[EMAIL]", ""], [WORD]) is None
    assert mark_rule([]) is None
    assert mark_rule(["[EMAIL]"]) is not None


def test_only_what_is_known_is_a_mark() -> None:
    rule = mark_rule_for(r"\[[A-Z]+\]", {"[SECRET]"}.__contains__)
    text = "[SECRET] [SECRETS]"
    left = without_marks(unite(find([WORD, rule], text)))
    assert [text[finding.start : finding.end] for finding in left] == ["SECRETS"]


def test_time_is_linear() -> None:
    """One finding over very many marks, with as many inside of them."""
    text = "[SECRET]" * 20_000
    over = custom_rule("over", r"\A(?:\[SECRET\])+\z", option="rules")
    assert MARK is not None
    findings = unite(find([WORD, over, MARK], text))
    begun = time.perf_counter()
    assert [finding.end for finding in without_marks(findings)] == [len(text)]
    assert time.perf_counter() - begun < 5
