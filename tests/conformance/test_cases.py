"""Every case agrees with its outcome, but for those listed in `expected_failures.txt`."""

from __future__ import annotations

import pytest

from tests.conformance.load import CASES, Case, expected_failures, load_cases
from tests.conformance.run import BACKENDS, ENTRIES, faults_of

ALL = load_cases(CASES)
LISTED = expected_failures()


@pytest.mark.parametrize("case", [case for case in ALL if case.id not in LISTED], ids=lambda case: case.id)
def test_case_agrees_on_both_entry_points_and_backends(case: Case) -> None:
    faults = {f"{entry} {backend}": faults_of(case, entry, backend) for backend in BACKENDS for entry in ENTRIES}

    assert faults == {run: [] for run in faults}


def test_listed_cases_still_fail() -> None:
    """One that passes has to leave the list."""
    listed = [case for case in ALL if case.id in LISTED]
    passing = [case.id for case in listed if not any(faults_of(case, entry, "asyncio") for entry in ENTRIES)]

    assert passing == []


def test_the_list_names_existing_cases_only() -> None:
    assert LISTED.keys() - {case.id for case in ALL} == set()


def test_each_case_is_named_like_its_file() -> None:
    assert {case.id for case in ALL} == {path.stem for path in CASES.glob("*.json")}
