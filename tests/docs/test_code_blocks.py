"""Every block of the README, the documents and the docstrings runs as it is shown."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from click import ClickException
from sybil import Document, Example
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser
from yaml import YAMLError

from tests.docs.pages import PAGES, ROOT, TREES, Servers, document, untried

SOURCES = sorted((ROOT / "src").rglob("*.py"))
EXTRAS = {"", *tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]}


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
    for drawn in tmp_path.glob("tutorial/*.svg"):  # what the reader has drawn is what the page shows
        assert drawn.read_text("utf-8") == (ROOT / f"docs/pictures/tutorial-{drawn.name}").read_text("utf-8")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_block_of_a_page_is_left_out(path: Path) -> None:
    """A block in a language that nobody tries, or one that is skipped, would rot."""
    assert [what for what in untried(path.read_text("utf-8")) if what != "text" or path not in TREES] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_extra_that_a_page_names_can_be_installed(path: Path) -> None:
    named = re.findall(r"sluiceway\[([\w,]+)\]|[Ee]xtra `(\w+)`", path.read_text("utf-8"))
    assert {extra for pair in named for extra in ",".join(pair).split(",")} - EXTRAS == set()


def test_a_block_that_nobody_tries_is_found() -> None:
    page = '```python\n1\n```\n\n```python title="a.py"\n1\n```\n\n```ruby\n1\n```\n\n<!--- skip: next -->\n'
    assert untried(page) == ["ruby", "<!--- skip: next -->"]
    assert untried("~~~python\n1\n~~~\n\n````python\n1\n````\n") == ["~~~python", "~~~", "````python", "````"]
    assert untried("So:\n\n    assert False\n\n- a\n\n    of the list\n") == ["    assert False"]


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("```python\nassert 1 == 2\n```", AssertionError),
        ('```python title="a.py"\n1 +\n```', SyntaxError),
        ("```console\n$ sluiceway check gone.py\n```", AssertionError),
        ("```console\n$ sluiceway run examples/guarded_agent.py Hello\nother\n```", AssertionError),
        ("```console\n$ make gone\n```", AssertionError),
        ("```console\n$ uvicorn app:make --gone\n```", ClickException),
        ('```dockerfile title="Dockerfile"\nCMD uvicorn app:make\n```', ValueError),
        ('```dockerfile title="Dockerfile"\nCMD ["uvicorn", "--gone"]\n```', ClickException),
        ('```yaml title="a.yaml"\na: [\n```', YAMLError),
        ("```py\n1 +\n```", SyntaxError),
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


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_can_be_read_as_a_file_too(path: Path) -> None:
    """No link leads nowhere, and none is of the kind that only the site knows; its anchors `make docs` looks at."""
    text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\((?!\w+:)([^)#\s]+)", text)
    assert [link for link in links if not (path.parent / link).exists()] == []
    assert re.findall(r"\]\[[\w.]+\]", text) == []
