"""The pages that are made are up to date, and what would be wrong with the site is seen.

The site itself is built and looked through by `make docs`.
"""

from __future__ import annotations

import json
import re
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluiceway import errors
from tests.docs import cli_page
from tests.docs.public import public_objects
from tests.docs.site import ROOT, faults, missing, public_names

GOOD = '<a href="b.html#there">b</a><img src="c.svg"><a href="https://example.org">out</a><p id="here"><a href="#here">'


def made(site: Path, *, page: str = GOOD, known: tuple[str, ...] = ("a.html", "b.html")) -> Path:
    """A site of two pages and a picture."""
    (site / "a.html").write_text(page)
    (site / "b.html").write_text('<h1 id="there">b</h1>')
    (site / "c.svg").write_text("<svg/>")
    (site / "search.json").write_text(json.dumps({"items": [{"location": f"{name}#x"} for name in known]}))
    return site


def listed(entries: list[Any]) -> Iterator[str]:
    """The pages of a navigation, in order."""
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from listed(value) if isinstance(value, list) else [value]


def test_a_good_site_has_no_faults(tmp_path: Path) -> None:
    assert list(faults(made(tmp_path))) == []


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="gone.html">', "a.html: gone.html: no such page"),
        ('<a href="b.html#gone">', "a.html: b.html#gone: no such place on the page"),
        ('<a href="#gone">', "a.html: #gone: no such place on the page"),
        ('<img src="gone.svg">', "a.html: gone.svg: no such page"),
        ('<script src="https://example.org/x.js">', "a.html: loads https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "a.html: loads //example.org/x.css"),
        ('<pre class="mermaid">', "a.html: a Mermaid graph loads a script from another host"),
    ],
)
def test_a_fault_of_a_page_is_seen(tmp_path: Path, page: str, fault: str) -> None:
    assert list(faults(made(tmp_path, page=page))) == [fault]


def test_a_page_that_cannot_be_searched_is_seen(tmp_path: Path) -> None:
    assert list(faults(made(tmp_path, known=("a.html",)))) == ["b.html: the search does not know it"]


def test_a_name_without_reference_is_seen(tmp_path: Path) -> None:
    listing = zlib.compress(b"pack.Here py:class 1 a.html#$ -\npack._in.There py:class 2 a.html#pack.There -\n")
    (tmp_path / "objects.inv").write_bytes(b"1\n2\n3\n4\n" + listing)
    names = {"pack.Here": "pack._in.Here", "pack.There": "pack._in.There", "pack.Gone": "pack._in.Gone"}
    assert missing(tmp_path, names) == ["pack.Gone"]


def test_the_public_names_are_those_of_all_packages() -> None:
    names = public_names()
    assert names["sluiceway.processors.PIIDetector"] == "sluiceway.processors.guardrails._pii_detector.PIIDetector"
    assert len(public_objects()) > 400


def test_every_public_name_is_in_the_reference() -> None:
    """By a directive of its own, or by one of its package; `make docs` looks whether it is really on the page."""
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "docs" / "reference" / "api").glob("*.md"))
    told = set(re.findall(r"^::: (\S+)$", pages, re.MULTILINE))
    names = public_names()
    covered = {where for path, where in names.items() if told & {path, path.rpartition(".")[0]}}
    assert sorted(path for path, where in names.items() if where not in covered) == []


def test_the_page_of_the_command_line_is_up_to_date() -> None:
    """Else: `python -m tests.docs.cli_page`."""
    assert cli_page.PAGE.read_text("utf-8") == cli_page.page()


def family(error: type, indent: str = "") -> Iterator[str]:
    """The errors of the library that are derived from one, as a tree."""
    children = [child for child in error.__subclasses__() if child.__module__ == errors.__name__]
    for child in children:
        last = child is children[-1]
        others = [base.__name__ for base in child.__bases__ if base.__module__ == "builtins"]
        yield f"{indent}{'└' if last else '├'}── {child.__name__}" + (f" ({others[0]})" if others else "")
        yield from family(child, indent + ("    " if last else "│   "))


def test_the_tree_of_errors_is_up_to_date() -> None:
    page = (ROOT / "docs/reference/api/errors.md").read_text("utf-8")
    tree = ["SluicewayError", *family(errors.SluicewayError), "TripWire (BaseException)"]
    assert page.partition("```text\n")[2].partition("\n```")[0].splitlines() == tree


def test_every_page_is_in_the_navigation_once() -> None:
    config = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))
    pages = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))
    assert sorted(listed(config["project"]["nav"])) == pages
