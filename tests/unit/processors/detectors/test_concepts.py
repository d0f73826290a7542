"""The lower case that meanings are looked up in."""

from __future__ import annotations

import pytest

from sluiceway.processors.detectors._concepts import lower_case


@pytest.mark.parametrize(
    ("text", "lowered"),
    [("IGNORE Ärger", "ignore ärger"), ("\u0130GNORE", "\u0130gnore"), ("A\u0130B\u0130", "a\u0130b\u0130")],
)
def test_lower_case_leaves_each_character_in_its_place(text: str, lowered: str) -> None:
    """One that is two in lower case stays as it is, or all behind it would be found elsewhere."""
    assert lower_case(text) == lowered
