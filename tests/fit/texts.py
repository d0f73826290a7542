"""The texts that the weights are fitted to, and who wrote each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from sluiceway.processors.detectors._injection import meanings_of
from tests.fit.documents import passages
from tests.fit.places import place
from tests.unit.processors.detectors import test_injection, test_injection_meanings

DATA = Path(__file__).parents[1] / "data"
NEIGHBOUR_CHARS = 400
FOLDERS = (DATA / "eval" / "tuning", DATA / "practice")
TESTED = "tests"
"""Who wrote the texts of the unit tests."""
ORDINARY = "ordinary"
"""How the name begins of who wrote documents, and texts with personal data."""
SOME = "some"
"""The label of attacks of which nobody said what sort they are."""


@dataclass(frozen=True, slots=True)
class Text:
    """One text.

    Args:
        author: Who wrote it.
        lang: The language; `""` where nobody said.
        labels: What sort of attack it is; none if it is none.
        windows: The signs in each of its windows; one without signs if it has none.
        placed: Whether it stands in another text here.
    """

    author: str
    lang: str
    labels: tuple[str, ...]
    windows: tuple[frozenset[str], ...]
    placed: bool = False


def all_texts(ordinary: Sequence[Path]) -> list[Text]:
    """Return every text there is to learn from, but for what is held out; those of the corpus also placed in others.

    Args:
        ordinary: Folders of documents in which nothing is an attack.
    """
    made: list[Text] = []
    documents = passages(ordinary)
    neighbours = [passage for third, passage in documents if third and len(passage) < NEIGHBOUR_CHARS] or [""]
    for folder in FOLDERS:
        for name in ("injection", "benign_injection"):
            for line in _lines(folder, name):
                about = line["author"], line.get("labels", ()), line["lang"]
                made.append(_text(line["text"], *about))
                placed = place(line["text"], neighbours, Random(line["text"]))
                made.append(_text(placed, *about, placed=True))
    for label, several in test_injection.ATTACKS.items():
        made += [_text(text, TESTED, [label]) for text in several]
    for several in test_injection.LANGUAGES.values():
        made += [_text(text, TESTED, [kind]) for kind, text in zip(test_injection.KINDS, several, strict=True)]
    made += [_text(text, TESTED, [SOME]) for text in (*test_injection_meanings.ATTACKS, *test_injection_meanings.WEAK)]
    made += [_text(text, TESTED) for text in (*test_injection.BENIGN, *test_injection_meanings.ORDINARY)]
    for name in ("pii", "benign_pii"):
        made += [_text(line["text"], ORDINARY) for line in _lines(FOLDERS[0], name)]
    made += [_text(passage, f"{ORDINARY}-{third}") for third, passage in documents]
    return made


def _text(text: str, author: str, labels: Sequence[str] = (), lang: str = "", *, placed: bool = False) -> Text:
    windows = [frozenset(signs) for view, concepts in meanings_of(text) for signs in concepts.signs(view.trick)]
    return Text(author, lang, tuple(labels), tuple(windows) or (frozenset(),), placed)


def _lines(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
