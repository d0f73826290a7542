"""How the parts of the tutorial hang together; their blocks are run like those of all pages."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PAGES = sorted((ROOT / "docs" / "tutorial").glob("[1-9]*.md"))
_TITLED = re.compile(r'^```\w+ title="([^"]+)"$', re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_file_is_named_before_it_is_shown(page: Path) -> None:
    """Not every place where a page is read shows the titles of blocks."""
    before, *told = re.split(_TITLED, page.read_text("utf-8"))
    texts = [before, *(text.partition("\n```\n")[2] for text in told[1::2])]
    assert told
    assert [title for text, title in zip(texts, told[::2], strict=False) if f"`{title}`" not in text] == []


def test_the_index_names_all_parts_and_each_part_the_next() -> None:
    index = (ROOT / "docs/tutorial/index.md").read_text("utf-8")
    assert [path.name for path in PAGES] == sorted(set(re.findall(r"\((\d-[\w-]+\.md)\)", index)))
    for page, following in pairwise(PAGES):
        assert f"({following.name})" in page.read_text("utf-8")
