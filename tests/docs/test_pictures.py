"""The pictures of the pages are those that the library draws today, and the examples are clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluiceway.cli._load import load
from sluiceway.graphs import check, to_svg

ROOT = Path(__file__).resolve().parents[2]
PICTURES = {"guarded-agent.svg": "examples/guarded_agent.py:agent"}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_up_to_date(name: str) -> None:
    """Else: `sluiceway graph FILE:NAME --format svg -o docs/pictures/…`."""
    drawn = to_svg(load(str(ROOT / PICTURES[name])))
    assert (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8") == drawn


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_nothing_is_found_in_the_examples(path: Path) -> None:
    assert check(load(str(path))) == []
