"""Builds the site and looks for faults: `python -m tests.docs.site`, which is `make docs`.

A fault is a warning of the build, a link or anchor that leads nowhere, something that would be
fetched from another host, a page that the search does not know, or a public name without reference.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.docs.public import public_objects

ROOT = Path(__file__).resolve().parents[2]
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "object": "data", "link": "href"}


class Page(HTMLParser):
    """What a page has and what it leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.has_mermaid = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the ids and the addresses of a tag."""
        given = {name: value for name, value in attrs if value is not None}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in _LOADED and _LOADED[tag] in given and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given[_LOADED[tag]])
        self.has_mermaid |= "mermaid" in given.get("class", "").split()


def build(root: Path) -> list[str]:
    """Build the site of a folder with a `zensical.toml`, and return what the build warns of."""
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    lines = _COLOURS.sub("", done.stdout + done.stderr).splitlines()
    warned = [line for line in lines if re.match(r"griffe:|warning|error", line.strip(), re.IGNORECASE)]
    if warned or done.returncode:
        return [line for line in lines if line.strip() and not line.startswith(("  File", "    ", "Traceback"))]
    return []


def faults(site: Path) -> Iterator[str]:
    """Say what is wrong with a site that was built."""
    pages = {path: _parsed(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        yield from (f"{name}: loads {url}" for url in page.loaded if urlsplit(url).netloc)
        if page.has_mermaid:
            yield f"{name}: a Mermaid graph loads a script from another host"
        for link in (*page.links, *page.loaded):
            if reason := _dead(path, link, pages):
                yield f"{name}: {link}: {reason}"
    items = json.loads((site / "search.json").read_text("utf-8"))["items"]
    searched = {item["location"].partition("#")[0] for item in items}
    for path in pages:
        name = path.relative_to(site).as_posix()
        if name not in searched and name != "404.html":
            yield f"{name}: the search does not know it"


def _parsed(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text("utf-8"))
    return page


def _dead(source: Path, link: str, pages: dict[Path, Page]) -> str | None:
    """Say why a link leads nowhere; one to another host is not followed."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or source.name == "404.html":
        return None
    target = (source.parent / unquote(parts.path)).resolve() if parts.path else source
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return "no such page"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return "no such place on the page"
    return None


def missing(site: Path, names: dict[str, str]) -> list[str]:
    """Return those of the names, each with the path of what it stands for, that the reference does not explain."""
    listing = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    explained = {line.split(" ", 1)[0] for line in listing.splitlines()}
    return sorted(name for name, path in names.items() if not {name, path} & explained)


def public_names() -> dict[str, str]:
    """Return every name of an `__all__` of the library, as `package.name`, with where it is defined."""
    return {path: value.canonical_path for path, value in public_objects().items()}


def main() -> int:
    """Build the site of the project and say what is wrong with it."""
    found = build(ROOT)
    if not found:
        found = [*faults(ROOT / "site"), *(f"no reference: {name}" for name in missing(ROOT / "site", public_names()))]
    sys.stdout.write("".join(f"{fault}\n" for fault in found) or "site/index.html: no faults\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
