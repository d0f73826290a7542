"""Every Python block of the README, the documents and the docstrings runs as it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from sybil import Document, Example
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser as MarkdownBlocks
from sybil.parsers.markdown import SkipParser
from sybil.parsers.rest import DocTestParser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def page(path: Path) -> Document:
    return Document.parse(str(path), MarkdownBlocks(), SkipParser())


def docstrings(path: Path) -> Document:
    return PythonDocStringDocument.parse(str(path), MarkdownBlocks(), DocTestParser())


def documents() -> list[ParameterSet]:
    """Each document that shows code; the blocks of one share their names, as for a reader."""
    parsed = [(path, page(path)) for path in PAGES] + [(path, docstrings(path)) for path in SOURCES]
    return [
        pytest.param(list(document.examples()), id=str(path.relative_to(ROOT)))
        for path, document in parsed
        if list(document.examples())
    ]


@pytest.mark.parametrize("examples", documents())
def test_the_examples_run(examples: list[Example]) -> None:
    for example in examples:
        example.evaluate()


def test_the_readme_shows_code() -> None:
    assert len(list(page(ROOT / "README.md").examples())) >= 1
