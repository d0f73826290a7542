"""The tutorial, followed to the letter: the files it has one make, the commands it gives, what they print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.shell import Said, shell

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "tutorial").glob("[1-9]*.md"))
PICTURES = {
    "tutorial/first.svg": "tutorial-guarded-agent.svg",
    "tutorial/checks.svg": "tutorial-parallel-checks.svg",
}
"""What the reader draws, and the picture of it on the page."""

_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_VARIES = [
    (re.compile(r"\d+\.\d\d ms"), "0.00 ms"),
    (re.compile(r": \d\.\d s$", re.MULTILINE), ": 0.0 s"),
    (re.compile(r" in \d+\.\d\ds$", re.MULTILINE), " in 0.00s"),
    (re.compile(r"msg_[0-9a-f]+"), "msg_0"),
    (re.compile(r"\.py:\d+:"), ".py:0:"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
]


class Made(NamedTuple):
    """A file that the reader makes."""

    name: str
    text: str


class Given(NamedTuple):
    """A command, and what the page says that it prints."""

    line: str
    prints: str


def steps(page: str) -> Iterator[Made | Given]:
    """Give what a page has its reader do, in order; blocks of Python without a title are for the other test."""
    for language, title, text in _BLOCK.findall(page):
        if title:
            yield Made(title, text)
        elif language == "console":
            for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, prints = command.partition("\n")
                yield Given(line, prints)


def follow(page: str, folder: Path) -> Iterator[tuple[Given, Said]]:
    """Do what a page says in a folder, and give each command with what it said."""
    for step in steps(page):
        if isinstance(step, Made):
            path = folder / step.name
            path.parent.mkdir(exist_ok=True)
            path.write_text(step.text, "utf-8")
        else:
            yield step, shell(step.line, folder)


def same_each_time(text: str, folder: Path) -> str:
    """Return a text without what no two runs have in common."""
    text = text.replace(f"{folder}/", "…/").replace(f"{ROOT}/", "…/")
    for pattern, stands_for in _VARIES:
        text = pattern.sub(stands_for, text)
    return text


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_part_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    done = list(follow(page.read_text("utf-8"), tmp_path))
    assert len(done) > 3
    for given, said in done:
        assert same_each_time(said.text, tmp_path) == same_each_time(given.prints, tmp_path), given.line
    for drawn, picture in PICTURES.items():
        if (tmp_path / drawn).exists():
            assert f"../pictures/{picture})" in page.read_text("utf-8")
            assert (ROOT / "docs/pictures" / picture).read_text("utf-8") == (tmp_path / drawn).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_file_is_named_before_it_is_shown(page: Path) -> None:
    """Not every place where a page is read shows the titles of blocks."""
    told = re.split(_BLOCK, page.read_text("utf-8"))
    unnamed = [
        title for before, title in zip(told[::4], told[2::4], strict=False) if title and f"`{title}`" not in before
    ]
    assert unnamed == []


def test_the_index_names_all_parts_and_each_part_the_next() -> None:
    index = (ROOT / "docs/tutorial/index.md").read_text("utf-8")
    assert [path.name for path in PAGES] == sorted(set(re.findall(r"\((\d-[\w-]+\.md)\)", index)))
    for page, following in pairwise(PAGES):
        assert f"({following.name})" in page.read_text("utf-8")
