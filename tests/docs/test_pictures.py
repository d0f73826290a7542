"""The pictures of the pages are those that the library draws today, and the examples are clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluiceway.cli._load import _module, load
from sluiceway.graphs import Drawn, check, to_svg
from sluiceway.memory import HashEmbedder, InMemoryStore, InMemoryVectors, Memory

ROOT = Path(__file__).resolve().parents[2]
PICTURES = {
    "guarded-agent.svg": "examples/guarded_agent.py:agent",
    "loop.svg": "tests/docs/pictured.py:loop",
    "side-by-side.svg": "tests/docs/pictured.py:side_by_side",
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_up_to_date(name: str) -> None:
    """Else: `sluiceway graph FILE:NAME --format svg -o docs/pictures/…`."""
    drawn = to_svg(load(str(ROOT / PICTURES[name])))
    assert (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8") == drawn


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_nothing_is_found_in_the_examples(path: Path) -> None:
    """What stands in the module, and what its functions for agents make."""
    names = vars(_module(path))
    drawn = [value for value in names.values() if isinstance(value, Drawn)]
    memory = Memory(
        InMemoryStore(), working_memory=True, semantic_recall=True, vector=InMemoryVectors(), embedder=HashEmbedder()
    )
    drawn += [make("echo/echo", memory) for name, make in names.items() if name == "chat_agent"]
    assert drawn
    assert [finding for thing in drawn for finding in check(thing)] == []
