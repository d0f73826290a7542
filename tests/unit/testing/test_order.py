"""Orders: which agree, which differ, on what, and how it is told."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.processors import Effects, PIIDetector, Processor
from sluiceway.testing import OrderReport, behaving, permutations_of
from tests.kit import broken


@pytest.fixture(scope="module")
def report() -> OrderReport:
    return permutations_of([broken.lower(), broken.title(), behaving("digits")], ["agent 7"], examples=40)


def test_the_pairs_that_do_not_commute_are_told_with_the_smallest_example(report: OrderReport) -> None:
    assert [(pair.first, pair.second, pair.commutes) for pair in report.pairs] == [
        ("lower", "title", False),
        ("lower", "digits", True),
        ("title", "digits", True),
    ]
    found = report.pairs[0].difference
    assert found is not None
    assert (found.hook, found.case, found.outcomes) == ("process_input", "'t'", ("['T']", "['t']"))


def test_orders_that_agree_stand_together(report: OrderReport) -> None:
    """Here only what stands last of the two counts."""
    first, second = report.groups
    assert first[0] == ("lower", "title", "digits")
    assert {order.index("lower") < order.index("title") for order in first} == {True}
    assert {order.index("lower") < order.index("title") for order in second} == {False}
    assert (len(first), len(second), report.commutes) == (3, 3, False)


def test_the_text(report: OrderReport) -> None:
    lines = report.to_text().splitlines()
    assert lines[:6] == [
        "lower, title, digits: 2 of 5 other orders agree with it (3 pairs, up to 40 cases each)",
        "lower / title: the order matters in process_input [no rule]",
        "  on 't'",
        "  lower first: ['T']",
        "  title first: ['t']",
        "lower / digits: either order",
    ]


def test_json_and_html_say_the_same(report: OrderReport) -> None:
    data = json.loads(report.to_json())
    assert (data["ids"], data["commutes"], len(data["groups"])) == (["lower", "title", "digits"], False, 2)
    page = _Text()
    page.feed(report.to_html())
    assert report.summary in page.text
    assert "lower / title" in page.text


class _Text(HTMLParser):
    text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


def test_what_was_found_cannot_write_into_the_page() -> None:
    evil = "<script>alert(1)</script>"
    shown = permutations_of([_writes(evil), _writes("x")], ["a"], examples=20).to_html()
    assert evil not in shown
    assert "&lt;script&gt;" in shown


def _writes(text: str) -> Processor:
    def process_input(ctx: object) -> None:
        ctx.messages[-1].parts[0].text = text  # type: ignore[attr-defined]

    return Processor.of(f"writes {text}", process_input=process_input)


def test_it_says_when_check_has_a_rule_for_it() -> None:
    judge = Processor.of("judge", process_input=lambda ctx: None, effects=Effects(("messages",), external=True))
    (pair,) = permutations_of([judge, PIIDetector()], ["x"], examples=5).pairs
    assert pair.rules == ("SW103",)


def test_more_orders_than_can_be_tried_are_not() -> None:
    report = permutations_of([behaving("pass", id=f"p{number}") for number in range(6)], ["x"], examples=2)
    assert (report.groups, len(report.pairs)) == ((), 15)
    assert "too many orders" in report.summary


def test_one_entry_has_no_order() -> None:
    with pytest.raises(ConfigurationError, match="two entries or more"):
        permutations_of([behaving("pass")])
    with pytest.raises(ConfigurationError, match="ids of their own"):
        permutations_of([behaving("pass"), behaving("pass")])
