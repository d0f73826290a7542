"""Orders: which agree, which differ, on what, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.processors import Effects, PIIDetector, Processor
from sluiceway.testing import OrderReport, behaving, permutations_of, tell_orders
from sluiceway.testing._permutations import cases_of_a_pair
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


def test_a_report_comes_back_from_json(report: OrderReport) -> None:
    assert OrderReport.from_json(report.to_json()) == report


def test_several_reports_are_one_page(report: OrderReport) -> None:
    page = tell_orders([report, report], "html")
    assert (page.count("<!doctype html>"), page.count("<h1>"), page.count("</html>")) == (1, 2, 1)
    assert len(json.loads(tell_orders([report, report], "json"))) == 2
    assert tell_orders([report], "text") == report.to_text()


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


def passing(count: int) -> list[Processor]:
    return [behaving("pass", id=f"p{number}") for number in range(count)]


def test_of_more_orders_than_can_be_tried_a_sample_is() -> None:
    """Every swap of two neighbours, the whole list turned round, and others at random; the same ones each time."""
    report = permutations_of(passing(6), ["x"], examples=2)
    (tried,) = report.groups
    own, swaps = tried[0], tried[1:6]
    assert own == ("p0", "p1", "p2", "p3", "p4", "p5")
    assert swaps == tuple(_swapped(own, place) for place in range(5))
    assert own[::-1] in tried
    assert (len(tried), len(set(tried)), report.possible, report.is_sample) == (120, 120, 720, True)
    agree = "all 120 orders that were tried of 720 agree, a sample with every swap of neighbours"
    assert report.summary.endswith(f"{agree} (15 pairs, up to 2 cases each)")
    assert permutations_of(passing(6), ["x"], examples=2) == report
    assert not permutations_of(passing(5), ["x"], examples=2).is_sample


def _swapped(order: tuple[str, ...], place: int) -> tuple[str, ...]:
    return (*order[:place], order[place + 1], order[place], *order[place + 2 :])


def test_a_sample_finds_what_two_neighbours_do_to_each_other() -> None:
    """Alone the two commute: what stands before them makes the difference."""

    def only_marked(change: Callable[[str], str]) -> Callable[[Any], None]:
        def process_input(ctx: Any) -> None:
            part = ctx.messages[-1].parts[0]
            if part.text.endswith("!"):
                part.text = change(part.text)

        return process_input

    items = [
        Processor.of("mark", process_input=lambda ctx: _add(ctx, "!")),
        Processor.of("a", process_input=only_marked(lambda text: text[:-1] + "a!")),
        Processor.of("b", process_input=only_marked(lambda text: text[:-1] + "b!")),
        *passing(4),
    ]
    report = permutations_of(items, ["x"], examples=5)
    assert {(pair.first, pair.second) for pair in report.pairs if not pair.commutes} == {("mark", "a"), ("mark", "b")}
    assert all(order.index("a") < order.index("b") for order in report.groups[0])
    assert len(report.groups) == 5
    assert "orders that were tried agree with it, a sample of 5040" in report.summary


def _add(ctx: Any, text: str) -> None:
    ctx.messages[-1].parts[0].text += text


def test_how_many_orders_are_tried_can_be_said() -> None:
    report = permutations_of(passing(4), ["x"], examples=2, orders=6)
    assert (len(report.groups[0]), report.possible) == (6, 24)
    with pytest.raises(ConfigurationError, match="orders=1 is not allowed"):
        permutations_of(passing(4), ["x"], orders=1)


def test_of_a_long_list_each_pair_gets_fewer_cases_and_the_report_says_so() -> None:
    assert [cases_of_a_pair(100, pairs) for pairs in (1, 30, 60, 435)] == [100, 100, 50, 10]
    report = permutations_of(passing(7), ["x"], examples=200, orders=2)
    assert (len(report.pairs), report.cases) == (21, 142)
    agree = "all 2 orders that were tried of 5040 agree, a sample"
    assert report.summary.endswith(f"{agree} (21 pairs, up to 142 cases each)")


def test_only_the_first_orders_of_a_group_are_written_out() -> None:
    text = permutations_of([broken.lower(), broken.title(), *passing(3)], ["agent 7"], examples=20).to_text()
    assert text.count("\n  … and 50 more\n") == 2


def test_one_entry_has_no_order() -> None:
    with pytest.raises(ConfigurationError, match="two entries or more"):
        permutations_of([behaving("pass")])
    with pytest.raises(ConfigurationError, match="ids of their own"):
        permutations_of([behaving("pass"), behaving("pass")])
