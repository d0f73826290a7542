"""Every case is pinned by a test or waits for an issue; none is forgotten, none is both."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
TEST = re.compile(r"^\s*(?:async )?def test_(b\d{3})_\w+\(", re.MULTILINE)


def titles() -> dict[str, str]:
    """Return every case with what has to hold."""
    areas = tomllib.loads((HERE / "ids.toml").read_text(encoding="utf-8"))
    return {case: title for area in areas.values() for case, title in area.items()}


def waiting() -> dict[str, str]:
    """Return the cases that wait, each with the issue that brings it."""
    issues = tomllib.loads((HERE / "later.toml").read_text(encoding="utf-8"))
    listed = [(case, issue) for issue, entry in issues.items() for case in entry["cases"]]
    assert len(listed) == len(dict(listed)), "a case waits for one issue only"
    return dict(listed)


def pinned() -> dict[str, set[str]]:
    """Return the cases that have a test, each with the files it is in."""
    found: dict[str, set[str]] = {}
    for path in sorted(HERE.glob("test_area_*.py")):
        for case in TEST.findall(path.read_text(encoding="utf-8")):
            found.setdefault(case.upper(), set()).add(path.name)
    return found


def test_every_case_has_a_test_or_an_issue() -> None:
    assert sorted(titles().keys() - pinned().keys() - waiting().keys()) == []


def test_no_case_has_both() -> None:
    """A case leaves the list of those that wait when its test is written."""
    assert sorted(pinned().keys() & waiting().keys()) == []


def test_no_unknown_case_is_named() -> None:
    assert sorted((pinned().keys() | waiting().keys()) - titles().keys()) == []


def test_a_case_stands_in_the_file_of_its_area() -> None:
    areas = tomllib.loads((HERE / "ids.toml").read_text(encoding="utf-8"))
    home = {case: f"test_area_{area[0].lower()}" for area, cases in areas.items() for case in cases}
    misplaced = [
        f"{case} in {file}"
        for case, files in pinned().items()
        for file in files
        if not re.fullmatch(rf"{home.get(case, '')}(_\w+)?\.py", file)
    ]

    assert misplaced == []


def test_there_are_179_cases_in_areas_a_to_p() -> None:
    """So that none gets lost when the list is edited."""
    areas = tomllib.loads((HERE / "ids.toml").read_text(encoding="utf-8"))

    assert [area[0] for area in areas] == list("ABCDEFGHIJKLMNOP")
    assert len(titles()) == 179
