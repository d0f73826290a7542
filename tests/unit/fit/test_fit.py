"""How the weights of signs are fitted: what is learnt, from which windows, and that the rules weigh the same signs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from sluiceway.processors.detectors._concepts import Concepts, lower_case
from sluiceway.processors.detectors._injection import meanings_of
from sluiceway.processors.detectors._weighing import LIGHT
from sluiceway.processors.detectors._weights import weights
from tests.fit.__main__ import report, table
from tests.fit.documents import passages
from tests.fit.places import PLACES, place
from tests.fit.regression import Regression
from tests.fit.texts import FOLDERS, Text, _lines


def text(author: str, label: str, *windows: str) -> Text:
    return Text(author, "en", (label,) if label else (), tuple(frozenset(window.split()) for window in windows))


TEXTS = [
    text("ann", "jailbreak", "@drop a b"),
    text("ann", "injection", "@drop @own a", "@topic b"),
    text("ann", "", "@topic a"),
    text("ben", "injection", "@own a c"),
    text("ben", "jailbreak", "@drop c", "@topic a"),
    text("ben", "", "@topic b c"),
    text("ordinary-0", "", "a b c"),
]


def test_what_stands_in_attacks_weighs_more_than_what_stands_in_reports() -> None:
    regression = Regression(TEXTS, fewest=1)
    model = regression.fit(np.ones(len(TEXTS), dtype=bool))
    weight = dict(zip(regression.signs, model.coef_[0], strict=True))
    assert weight["@drop"] > 0.1 > 0 > weight["@topic"]
    points = regression.points(model)
    assert points[[0, 1, 3, 4]].min() > points[[2, 5, 6]].max()


def test_of_an_attack_only_the_window_counts_that_weighs_most() -> None:
    """Or else what stands around an attack would be learnt as one."""
    regression = Regression(TEXTS, fewest=1)
    chosen = regression._heaviest(regression.table @ np.array([sign == "@drop" for sign in regression.signs], float))
    assert [int(owner) for owner in regression.owners[chosen]] == list(range(len(TEXTS)))
    (row,) = np.flatnonzero(chosen & (regression.owners == 4))
    assert {regression.signs[at] for at in regression.table[[row]].indices} == {"@drop", "c"}


def test_texts_of_an_author_are_weighed_by_what_others_taught() -> None:
    alone = [*TEXTS, text("cyn", "injection", "@new")]
    points = Regression(alone, fewest=1).points_if_unknown(["cyn"])
    assert np.isneginf(points[:-1]).all()
    known = Regression(alone, fewest=1)
    assert points[-1] < known.points(known.fit(np.ones(len(alone), dtype=bool)))[-1]


def test_rare_signs_have_no_weight_and_the_table_names_kinds() -> None:
    assert "@new" not in Regression([*TEXTS, text("cyn", "injection", "@new")], fewest=2).signs
    lines = list(table(Regression([*TEXTS, text("cyn", "role-manipulation", "@new a")], fewest=1), 0.5))
    assert lines[0].endswith("\t")
    assert {"@@injection@", "@@jailbreak@", "@@jailbreak@drop", "@@role-manipulation@new"} <= {
        line.partition("\t")[2] for line in lines
    }


def test_the_report_says_what_is_found() -> None:
    regression = Regression(TEXTS, fewest=1)
    points = np.array([3.0, 3.0, 1.0, 3.0, 0.0, -1.0, 5.0])
    measured = regression.author != "ordinary-0"
    lines = list(report(regression, points, measured, 2.0))
    assert lines[-2:] == ["chosen: 75.0% of 4, 0 of 2", "  en: 75.0% of 4, 0 of 2"]


@pytest.mark.parametrize("put", {one.__name__: one for one in PLACES}.values(), ids=lambda put: put.__name__)
def test_a_text_stands_whole_in_each_place_among_others(put: Callable[..., str]) -> None:
    text = 'say "yes" at once,\nnobody asks'
    for seed in range(20):
        placed = put(text, lambda: "All lines of the file are shown.", Random(seed))
        assert any(shown in placed for shown in (text, json.dumps(text)[1:-1], text.replace('"', '""')))
        assert len(placed) > len(text)
    assert place(text, ["Hi."], Random(text)) == place(text, ["Hi."], Random(text))


def test_documents_are_read_as_passages(tmp_path: Path) -> None:
    (tmp_path / "man1").mkdir()
    (tmp_path / "man1" / "x.1.gz").write_bytes(
        gzip.compress(b".TH X 1\n.PP\nPrints \\fBall\\fR lines of a file there.\n")
    )
    (tmp_path / "page.html").write_text("<h1>no</h1><p>All <b>lines</b> of the file are shown.</p>", "utf-8")
    (tmp_path / "code.py").write_text('x = 1\n"""All lines of a file, as a list of strings."""\n', "utf-8")
    (tmp_path / "README.md").write_text("# Short\n\nThe lines of a file are read one by one.\n", "utf-8")
    (tmp_path / "picture.png").write_bytes(b"All lines of a picture that is no text.")
    assert sorted(one for _, one in passages([tmp_path])) == [
        "All lines of a file, as a list of strings.",
        "All lines of the file are shown.",
        "Prints all lines of a file there.",
        "The lines of a file are read one by one.",
    ]


@pytest.mark.parametrize("name", ["injection", "benign_injection"])
def test_rules_weigh_what_was_learnt(name: str) -> None:
    """The same signs in the same windows, or the weights would be of something else."""
    learnt = weights()
    for line in list(_lines(FOLDERS[0], name))[::40]:
        for view, concepts in meanings_of(line["text"]):
            sums = [learnt[""] + sum(learnt.get(sign, 0) for sign in signs) for signs in concepts.signs(view.trick)]
            weighed = Concepts(lower_case(view.text)).weigh(view.trick)
            assert len(sums) == len(weighed)
            exact = [(one.points, total) for one, total in zip(weighed, sums, strict=True) if one.points >= LIGHT]
            assert all(points == total for points, total in exact)


def test_texts_to_practise_on_are_none_that_are_measured() -> None:
    measured = {line["text"] for part in ("tuning", "held_out") for line in _both(FOLDERS[0].parent / part)}
    practised = [line["text"] for line in _both(FOLDERS[1])]
    assert len(set(practised)) == len(practised)
    assert measured.isdisjoint(practised)


def _both(folder: Path) -> list[dict[str, str]]:
    return [line for name in ("injection", "benign_injection") for line in _lines(folder, name)]
