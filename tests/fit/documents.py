"""Passages of documents in which nothing is an attack: manual pages, web pages, read-me files, docstrings, sayings."""

from __future__ import annotations

import gzip
import html
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

MOST = 30_000
MOST_OF_A_FILE = 15
CHARS = 25, 1_500
PLAIN = frozenset((".md", ".rst", ".txt"))
DOCSTRING = re.compile(r'"""(.+?)"""', re.DOTALL)
PARAGRAPH = re.compile(r"<(p|li|dd|td)\b[^>]*>(.*?)</\1>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
MAN_REQUEST = re.compile(r"^[.'][A-Za-z\\].*$", re.MULTILINE)
MAN_BREAK = re.compile(r"\n\s*\n|\n\.(?:PP|TP|IP|SH|LP).*")
MAN_ESCAPE = re.compile(r"\\f(?:[A-Z]|\[\w*\])|\\\(..|\\[&|c]|\\")
BLANKS = re.compile(r"\s+")
THIRDS = 3


def passages(folders: Sequence[Path]) -> list[tuple[int, str]]:
    """Return passages with the third that their file belongs to; the same ones each time.

    Args:
        folders: Where the documents are: those of Python packages, unpacked packages of a distribution.
    """
    found: dict[str, int] = {}
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        least, most = CHARS
        fit = [one for part in _parts(path) if least < len(one := part.strip()) < most]
        for one in random.Random(path.name).sample(fit, min(len(fit), MOST_OF_A_FILE)):
            found.setdefault(one, crc32(path.name.encode()) % THIRDS)
    drawn = sorted((one, third) for one, third in found.items())
    random.Random(1).shuffle(drawn)
    return [(third, one) for one, third in drawn[:MOST]]


def _parts(path: Path) -> Iterator[str]:
    name = path.name.removesuffix(".gz")
    suffix = Path(name).suffix
    manual = path.suffix == ".gz" and path.parent.name.startswith("man")
    sayings = path.parent.name == "fortunes" or "fortunes" in path.parts[:-1]
    if not (manual or suffix in {*PLAIN, ".html", ".py"} or name == "METADATA" or (sayings and not suffix)):
        return
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "ignore")
    if manual:
        for part in MAN_BREAK.split(text):
            yield BLANKS.sub(" ", MAN_ESCAPE.sub("", MAN_REQUEST.sub("", part)))
    elif suffix == ".html":
        for match in PARAGRAPH.finditer(text):
            yield html.unescape(BLANKS.sub(" ", TAG.sub("", match[2])))
    elif suffix == ".py":
        yield from DOCSTRING.findall(text)
    else:
        yield from text.split("\n%\n" if sayings else "\n\n")
