"""What the rules do on the labelled corpus: what is promised of them, and the figures in the documents."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import anyio
import pytest

from sluiceway.processors.detectors import InjectionRules, PIIRules
from sluiceway.testing import CorpusPart, MeasureOptions, Scores, Task, measure_detector, read_corpus

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "what-rules-miss.md"
ROWS = {"personal data and secrets": "pii", "prompt injection": "injection"}


@cache
def measured(part: str, task: Task) -> Scores:
    parts: dict[str, CorpusPart] = {one.name: one for one in read_corpus(ROOT / "tests" / "data" / "eval")}
    rules = PIIRules() if task == "pii" else InjectionRules()
    return anyio.run(measure_detector, rules, parts[part], task, MeasureOptions(rules_only=True))


@pytest.mark.parametrize("part", ["tuning", "held_out"])
def test_personal_data_that_rules_can_find_is_found(part: str) -> None:
    scores = measured(part, "pii")
    assert scores.total.precision is not None
    assert scores.total.recall is not None
    assert min(scores.total.precision, scores.total.recall) >= 0.97


def test_each_kind_of_personal_data_is_found_in_texts_that_no_rule_was_made_for() -> None:
    recalls = {kind: counts.recall for kind, counts in measured("held_out", "pii").kinds.items() if counts.expected}
    assert {kind: recall for kind, recall in recalls.items() if recall is None or recall < 0.95} == {}


def test_attacks_in_words_that_nobody_has_seen_are_found_and_look_alikes_left_alone() -> None:
    scores = measured("held_out", "injection")
    assert scores.total.recall is not None
    assert scores.total.recall >= 0.8
    assert scores.alarms <= 0.02 * scores.benign


def test_the_figures_in_the_documents_are_those_of_the_rules() -> None:
    told: dict[tuple[str, str], tuple[str, ...]] = {}
    for name, part, *figures in re.findall(
        r"^\| ([^|]+) \| (tuning|held out) \| (.+) \| (.+) \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    ):
        told[part.replace(" ", "_"), ROWS[name]] = tuple(figure.strip("*") for figure in figures)
    real: dict[tuple[str, str], tuple[str, ...]] = {}
    for part in ("tuning", "held_out"):
        for task in ("pii", "injection"):
            scores = measured(part, task)
            shares = (scores.total.precision or 0, scores.total.recall or 0)
            real[part, task] = (*(f"{share:.1%}" for share in shares), f"{scores.alarms} of {scores.benign}")
    assert told == real
