"""The texts that the weights are fitted to, and who wrote each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluiceway.processors.detectors._injection import meanings_of
from tests.fit.documents import passages
from tests.unit.processors.detectors import test_injection, test_injection_meanings

DATA = Path(__file__).parents[1] / "data"
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
    """

    author: str
    lang: str
    labels: tuple[str, ...]
    windows: tuple[frozenset[str], ...]


def all_texts(ordinary: Sequence[Path]) -> list[Text]:
    """Return every text there is to learn from, but for what is held out.

    Args:
        ordinary: Folders of documents in which nothing is an attack.
    """
    made: list[Text] = []
    for folder in FOLDERS:
        for name in ("injection", "benign_injection"):
            made += [
                _text(line["author"], line["text"], line.get("labels", ()), line["lang"])
                for line in _lines(folder, name)
            ]
    made += [_text(TESTED, text, [label]) for label, several in test_injection.ATTACKS.items() for text in several]
    for several in test_injection.LANGUAGES.values():
        made += [_text(TESTED, text, [kind]) for kind, text in zip(test_injection.KINDS, several, strict=True)]
    made += [_text(TESTED, text, [SOME]) for text in (*test_injection_meanings.ATTACKS, *test_injection_meanings.WEAK)]
    made += [_text(TESTED, text) for text in (*test_injection.BENIGN, *test_injection_meanings.ORDINARY)]
    for name in ("pii", "benign_pii"):
        made += [_text(ORDINARY, line["text"]) for line in _lines(FOLDERS[0], name)]
    made += [_text(f"{ORDINARY}-{third}", passage) for third, passage in passages(ordinary)]
    return made


def _text(author: str, text: str, labels: Sequence[str] = (), lang: str = "") -> Text:
    windows = [frozenset(signs) for view, concepts in meanings_of(text) for signs in concepts.signs(view.trick)]
    return Text(author, lang, tuple(labels), tuple(windows) or (frozenset(),))


def _lines(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
