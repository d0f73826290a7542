"""Every block of the README, the documents and the docstrings runs as it is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from sybil import Document, Example
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser

from tests.docs.pages import PAGES, ROOT, Servers, document, untried

SOURCES = sorted((ROOT / "src").rglob("*.py"))


def docstrings(path: Path) -> Document:
    return PythonDocStringDocument.parse(str(path), PythonCodeBlockParser(), DocTestParser())


def with_examples(documents: list[tuple[Path, Document]]) -> list[ParameterSet]:
    """Each document that shows code; the blocks of one share their names, as for a reader."""
    return [
        pytest.param(list(parsed.examples()), id=str(path.relative_to(ROOT)))
        for path, parsed in documents
        if list(parsed.examples())
    ]


@pytest.mark.parametrize("examples", with_examples([(path, docstrings(path)) for path in SOURCES]))
def test_the_examples_of_a_docstring_run(examples: list[Example]) -> None:
    for example in examples:
        example.evaluate()


@pytest.mark.parametrize("examples", with_examples([(path, document(path)) for path in PAGES]))
def test_the_blocks_of_a_page_run(examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("examples", "docs", "src", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    servers = examples[0].document.namespace["__servers__"]
    assert isinstance(servers, Servers)
    try:
        for example in examples:
            example.evaluate()
    finally:
        servers.close()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_block_of_a_page_is_left_out(path: Path) -> None:
    """A block in a language that nobody tries, or one that is skipped, would rot."""
    assert untried(path.read_text("utf-8")) == []


def test_a_block_that_nobody_tries_is_found() -> None:
    page = '```python\n1\n```\n\n```python title="a.py"\n1\n```\n\n```ruby\n1\n```\n\n<!--- skip: next -->\n'
    assert untried(page) == ["ruby", "<!--- skip: next -->"]


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("```python\nassert 1 == 2\n```", AssertionError),
        ('```python title="a.py"\n1 +\n```', SyntaxError),
        ("```console\n$ sluiceway check gone.py\n```", AssertionError),
        ("```console\n$ sluiceway run examples/guarded_agent.py Hello\nother\n```", AssertionError),
        ("```console\n$ make gone\n```", AssertionError),
        ("```console\n$ rm -r gone\n```", AssertionError),
        ("```json\n{]\n```", ValueError),
        ("```toml\na = \n```", ValueError),
    ],
)
def test_a_block_that_is_wrong_is_noticed(
    block: str, said: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (example,) = document(tmp_path / "page.md", block).examples()
    with pytest.raises(said):
        example.evaluate()


def test_the_readme_fits_two_screens_with_code_and_a_picture() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 75
    assert "```python" in lines
    assert any(line.startswith("![") for line in lines)


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")), ids=lambda path: path.name)
def test_no_link_of_a_page_outside_of_the_site_is_dead(path: Path) -> None:
    """Those of the site are looked at by `make docs`."""
    links = re.findall(r"\]\(([^)#:]+)\)", path.read_text("utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []
