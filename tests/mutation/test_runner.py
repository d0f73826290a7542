"""The runner of mutants, on a small project with faults whose fate is known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation._mutants import mutants_of, sample, sources_of

ROOT = Path(__file__).resolve().parents[2]

CODE = '''\
"""Planted."""

import logging
from typing import cast

log = logging.getLogger("planted")
TABLE = {"n": 1}


def older(age: int) -> int:
    log.info("asked", age)
    return age + 1


def allowed(age: int, limit: int = 18) -> bool:
    return age >= limit


def unasked(age: int) -> bool:
    return age == 3


def first_even(numbers: list[int]) -> int:
    place = 0
    while numbers[place] % 2:
        place += 1
    return numbers[place]


def named(value: object) -> str:
    return cast("str", value)


def _half(number: int) -> int:
    return number // 2


HALF = _half(9)
'''

TESTS = """\
import planted


def test_older():
    assert planted.older(3) == 4


def test_allowed():
    assert planted.allowed(40)
    assert not planted.allowed(4)


def test_first_even():
    assert planted.first_even([1, 3, 4, 6]) == 4


def test_half():
    assert planted.HALF == 4
    assert planted._half(1) == 0
"""

RUN = """\
import json, sys
from pathlib import Path
from tests.mutation._run import Area, Settings, run
root = Path(sys.argv[1])
settings = Settings(root, root / "out", 1000, only=frozenset(sys.argv[2:]), limit_s=1.0)
mutants, results = run(Area("src/planted", ("tests",)), settings)
print(json.dumps([[r.mutant.function, r.mutant.before, r.mutant.after, r.kind, r.test] for r in results]))
"""


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """The root of a project with one module and its tests."""
    root = tmp_path.resolve()
    (root / "src" / "planted").mkdir(parents=True)
    (root / "src" / "planted" / "__init__.py").write_text(CODE, encoding="utf-8")
    # pytest imports its plugins in a way of its own, and a package may be one and be tested.
    (root / "pytest.ini").write_text("[pytest]\naddopts = -p planted\n", encoding="utf-8")
    (root / "tests").mkdir()
    (root / "tests" / "test_planted.py").write_text(TESTS, encoding="utf-8")
    return root


def run_on(root: Path, *only: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, str(root), *only],
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_each_mutant_meets_its_fate(planted: Path) -> None:
    """What the tests notice, what they miss, what never ends, what no test runs. Logs and types are left out."""
    done = run_on(planted)
    assert done.returncode == 0, done.stderr + (planted / "out" / "log").read_text(encoding="utf-8")
    tests = "tests/test_planted.py::"
    fates = {(function, before, after): (kind, test) for function, before, after, kind, test in json.loads(done.stdout)}
    assert fates == {
        ("older", "age + 1", "age - 1"): ("killed", f"{tests}test_older"),
        ("older", "1", "2"): ("killed", f"{tests}test_older"),
        ("allowed", ">= limit", "> limit"): ("survived", None),
        # A default is computed while the module is imported.
        ("allowed", "18", "19"): ("survived", None),
        ("unasked", "== 3", "!= 3"): ("no test", None),
        ("unasked", "3", "4"): ("no test", None),
        ("first_even", "place = 0", "place = None"): ("killed", f"{tests}test_first_even"),
        ("first_even", "0", "1"): ("survived", None),
        ("first_even", "numbers[place] % 2", "numbers[place] / 2"): ("killed", f"{tests}test_first_even"),
        ("first_even", "2", "3"): ("killed", f"{tests}test_first_even"),
        ("first_even", "place += 1", "place -= 1"): ("killed", f"{tests}test_first_even"),
        ("first_even", "place += 1", "place = 1"): ("timeout", f"{tests}test_first_even"),
        ("first_even", "1", "2"): ("survived", None),
        ("named", 'cast("str", value)', 'cast("str", None)'): ("no test", None),
        ("named", 'cast("str", value)', "cast(value)"): ("no test", None),
        ("named", 'cast("str", value)', 'cast("str", )'): ("no test", None),
        # This one has done its work when the tests begin, so the fault has to be there at the import.
        ("_half", "number // 2", "number / 2"): ("killed", f"{tests}test_half"),
        ("_half", "2", "3"): ("killed", f"{tests}test_half"),
    }


def test_a_test_that_fails_anyway_kills_nothing(planted: Path) -> None:
    with (planted / "tests" / "test_planted.py").open("a", encoding="utf-8") as tests:
        tests.write("\n\ndef test_broken():\n    assert planted.unasked(3) is None\n")
    (mutant,) = [one for one in mutants_of(planted / "src" / "planted", planted) if one.after == "!= 3"]
    done = run_on(planted, mutant.id)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["unasked", "== 3", "!= 3", "no test", None]]


def test_a_sample_is_the_same_each_time_and_an_edit_elsewhere_leaves_it_alone(planted: Path) -> None:
    package = planted / "src" / "planted"
    before = mutants_of(package, planted)
    assert sample(mutants_of(package, planted), 5) == sample(before, 5)
    (package / "__init__.py").write_text(CODE.replace("age == 3", "(age + 1) == 4"), encoding="utf-8")
    after = {mutant.id for mutant in mutants_of(package, planted)}
    assert {mutant.id for mutant in before if mutant.function != "unasked"} <= after
    assert {mutant.id for mutant in before if mutant.function == "unasked"}.isdisjoint(after)


def test_a_mutant_changes_one_thing(planted: Path) -> None:
    mutants = mutants_of(planted / "src" / "planted", planted)
    sources = sources_of(mutants)
    (changed,) = [sources[mutant.id] for mutant in mutants if (mutant.before, mutant.after) == (">= limit", "> limit")]
    assert changed == CODE.replace("age >= limit", "age > limit")
