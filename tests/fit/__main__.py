"""Fit what the signs of prompt injection weigh, and say what to expect of it; run it as `make weights`.

It is fitted once for each author without that author's texts, which says what it does on the words of people whom
it does not know, and once to all of them.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from sysconfig import get_path
from typing import Any

import numpy as np

from tests.fit.regression import Regression
from tests.fit.texts import ORDINARY, TESTED, all_texts

WEIGHTS = Path(__file__).parents[2] / "src" / "sluiceway" / "processors" / "detectors" / "injection_weights.txt"
HEAD = "# What each sign of prompt injection weighs: hundredths, a tab, the sign. Written by `make weights`."
LEAST_WEIGHT = 0.05
TOLERATED = 0.0125
"""The share of look-alikes of unknown authors, alone and placed in other texts, that may give a false alarm."""


def main() -> None:
    """Fit, report and write."""
    parser = ArgumentParser(prog="make weights", description=__doc__)
    parser.add_argument(
        "ordinary", type=Path, nargs="*", help="folders of documents without attacks; without one those of .venv"
    )
    regression = Regression(all_texts(parser.parse_args().ordinary or [Path(get_path("purelib"))]))
    measured = ~regression.ordinary & (regression.author != TESTED)
    authors = sorted(set(regression.author[measured]))
    sys.stdout.write(f"{len(regression.texts)} texts, {len(authors)} authors, {len(regression.signs)} signs\n")
    points = regression.points_if_unknown([*authors, f"{ORDINARY}-0"])
    alone, placed = (measured & (regression.placed == there) for there in (False, True))
    bound = bound_of(points[measured & ~regression.attack])
    sys.stdout.writelines(f"{line}\n" for line in report(regression, points, alone, bound))
    sys.stdout.writelines(f"placed in other texts: {line}\n" for line in report(regression, points, placed, bound))
    documents = points[regression.author == f"{ORDINARY}-0"] > bound
    sys.stdout.write(f"{documents.sum()} of {len(documents)} passages of documents that were not learnt alarm\n")
    lines = list(table(regression, bound))
    WEIGHTS.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(lines)} lines in {WEIGHTS.name}\n")


def bound_of(look_alikes: np.ndarray, share: float = TOLERATED) -> float:
    """Return what no more than a share of the look-alikes exceed."""
    return float(np.sort(look_alikes)[::-1][int(share * len(look_alikes))])


def report(regression: Regression, points: np.ndarray, measured: np.ndarray, bound: float) -> Iterator[str]:
    """Yield what to expect of the words of unknown authors."""
    attacks, look_alikes = measured & regression.attack, measured & ~regression.attack
    for share in (0.005, TOLERATED, 0.02, 0.03):
        found = (points[attacks] > bound_of(points[look_alikes], share)).mean()
        yield f"at {share:.1%} false alarms of unknown authors {found:.1%} are found"
    found, alarms = points[attacks] > bound, points[look_alikes] > bound
    yield f"chosen: {found.mean():.1%} of {len(found)}, {alarms.sum()} of {len(alarms)}"
    lang = np.array([text.lang for text in regression.texts])
    for code in sorted(set(lang[measured])):
        found = points[attacks & (lang == code)] > bound
        alarms = points[look_alikes & (lang == code)] > bound
        yield f"  {code}: {found.mean():.1%} of {len(found)}, {alarms.sum()} of {len(alarms)}"


def table(regression: Regression, bound: float) -> Iterator[str]:
    """Yield the lines of the table: what each sign weighs, then how much each meaning speaks for each kind."""
    model: Any = regression.fit(np.ones(len(regression.texts), dtype=bool))
    yield _line(model.intercept_[0] - bound, "")
    for weight, sign in zip(model.coef_[0], regression.signs, strict=True):
        if abs(weight) >= LEAST_WEIGHT:
            yield _line(weight, sign)
    kinds = regression.fit_kinds(model)
    for kind, common, row in zip(kinds.classes_, kinds.intercept_, kinds.coef_, strict=True):
        yield _line(common, f"@@{kind}@")
        yield from (
            _line(weight, f"@@{kind}{sign}") for weight, sign in zip(row, regression.signs, strict=True) if weight
        )


def _line(weight: float, sign: str) -> str:
    written = sign.replace("\n", "\\n")
    return f"{round(weight * 100)}\t{written}"


if __name__ == "__main__":
    main()
