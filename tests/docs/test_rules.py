"""The page of each rule of `check` shows one thing that is reported and one that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluiceway.graphs import check
from sluiceway.graphs.rules import RULES
from tests.docs.pages import ROOT, document

FOLDER = ROOT / "docs" / "reference" / "rules"


@pytest.mark.parametrize("page", sorted(FOLDER.glob("SW*.md")), ids=lambda page: page.stem)
def test_what_a_page_calls_wrong_is_reported_and_what_it_calls_right_is_not(page: Path) -> None:
    shown = document(page)
    for example in shown.examples():
        example.evaluate()
    assert [finding.rule for finding in check(shown.namespace["wrong"])] == [page.stem]
    assert check(shown.namespace["right"]) == []


def test_the_table_has_every_rule_as_it_is() -> None:
    table = [line for line in (FOLDER / "README.md").read_text("utf-8").splitlines() if line.startswith("| [")]
    assert table == [f"| [{r.id}]({r.id}.md) | {r.name} | {r.severity} | {r.summary} |" for r in RULES]
