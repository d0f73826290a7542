"""Where in a text words of a meaning stand: all meanings in one pass."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from sluiceway.processors.detectors._normalize import without_accents
from sluiceway.processors.detectors._phrases_concepts import CONCEPTS
from sluiceway.processors.detectors._phrases_shapes import (
    ATTENTION,
    HELPER,
    NOTE,
    OBJECT,
    OPENER,
    SHAPES,
    TOWARDS,
    VAGUE,
    VOCATIVE,
)
from sluiceway.processors.detectors._phrases_signals import SIGNALS
from sluiceway.processors.detectors._written import JOINED

__all__ = ["Place", "meanings_in"]

Place: TypeAlias = "tuple[int, int]"

_WORD: Final = re.compile(r"[^\W_]+")
_UNPARTED: Final = re.compile(f"[{JOINED}\u0600-\u06ff\u0900-\u097f]")
_MOST_BETWEEN: Final = 4
_HEAD_CHARS: Final = 3
_OPENER_CHARS: Final = 60

_Entry: TypeAlias = "tuple[str, Sequence[str], str]"
"""How its first word begins, if that is all there is to it; its other words; the meaning."""


class _Begun(NamedTuple):
    """What a word may be the first one of: meanings that it has alone, and further words by their first letter."""

    alone: Sequence[str]
    tails: Mapping[str, Sequence[tuple[Sequence[str], str]]]


class _Table:
    """The words of all meanings, by how they begin."""

    def __init__(self) -> None:
        self.whole: dict[str, list[_Entry]] = defaultdict(list)
        self.stems: dict[str, list[_Entry]] = defaultdict(list)
        self.unparted: dict[str, list[str]] = defaultdict(list)
        for name, table in chain(CONCEPTS.items(), SIGNALS.items()):
            entries = [entry for line in table.splitlines() for entry in map(str.strip, line.split("|")) if entry]
            for entry in dict.fromkeys(entries):
                if _UNPARTED.search(entry):
                    self.unparted[entry.rstrip("*")].append(name)
                else:
                    first, *tail = without_accents(entry).split()
                    if first[-1] == "*":
                        self.stems[first[:_HEAD_CHARS].rstrip("*")].append((first[:-1], tail, name))
                    else:
                        self.whole[first].append(("", tail, name))
        lengths: dict[str, set[int]] = defaultdict(set)
        for entry in self.unparted:
            lengths[entry[0]].add(len(entry))
        self.lengths = {first: sorted(several) for first, several in lengths.items()}
        self.firsts = re.compile(f"[{''.join(map(re.escape, sorted(lengths)))}]")

    def beginning_with(self, said: str) -> _Begun:
        """Return the entries whose first word is `said`, or begins it."""
        stems = self.stems.get(said[:_HEAD_CHARS], ())
        entries = [*self.whole.get(said, ()), *(entry for entry in stems if said.startswith(entry[0]))]
        tails: dict[str, list[tuple[Sequence[str], str]]] = {}
        for _, tail, name in entries:
            if tail:
                tails.setdefault(tail[0][0], []).append((tail, name))
        return _Begun([name for _, tail, name in entries if not tail], tails)


@cache
def _table() -> _Table:
    """Return the words; made at first use, since importing shall cost little."""
    return _Table()


def _fits(said: str, word: str) -> bool:
    return said.startswith(word[:-1]) if word[-1] == "*" else said == word


def meanings_in(text: str) -> dict[str, list[Place]]:
    """Return the places of each meaning that stands in a text in lower case, in text order."""
    found: dict[str, list[Place]] = defaultdict(list)
    table = _table()
    bare = without_accents(text)
    words = [(match.start(), match.end()) for match in _WORD.finditer(bare)]
    known: dict[str, _Begun] = {}
    for at, (start, end) in enumerate(words):
        said = bare[start:end]
        entries = known.get(said)
        if entries is None:
            entries = known[said] = table.beginning_with(said)
        for name in entries.alone:
            found[name].append((start, end))
        if entries.tails and at + 1 < len(words):
            for tail, name in entries.tails.get(bare[words[at + 1][0]], ()):
                stop = _tail_end(bare, words, at, tail)
                if stop is not None:
                    found[name].append((start, stop))
    for name, pattern in SHAPES.items():
        found[name].extend(match.span() for match in pattern.finditer(text))
    if _UNPARTED.search(text):
        _add_unparted(text, table, found)
    models = found.get("ai", ())
    found["aisure"].extend(place for place in models if not VAGUE.match(text[slice(*place)]))
    found["aihard"].extend(place for place in found["aisure"] if not HELPER.match(text[slice(*place)]))
    found["ownorders"].extend(place for place in found.get("orders", ()) if not OBJECT.match(text, place[1]))
    found["ownsafety"].extend(place for place in found.get("safety", ()) if not OBJECT.match(text, place[1]))
    for name, place in _addressed(text, models):
        found[name].append(place)
    return {name: sorted(places) for name, places in found.items() if places}


def _tail_end(text: str, words: list[Place], at: int, tail: Sequence[str]) -> int | None:
    """Return where an entry ends whose first word is the one at `at`; None if the others do not follow."""
    end = words[at][1]
    for word in tail:
        at += 1
        if at == len(words) or words[at][0] - end > _MOST_BETWEEN or not _fits(text[slice(*words[at])], word):
            return None
        end = words[at][1]
    return end


def _add_unparted(text: str, table: _Table, found: dict[str, list[Place]]) -> None:
    for match in table.firsts.finditer(text):
        start = match.start()
        for n in table.lengths[match.group()]:
            # At the end of a text a longer slice is what is left of it, and that may be a shorter entry.
            for name in table.unparted.get(text[start : start + n], ()) if start + n <= len(text) else ():
                found[name].append((start, start + n))


def _addressed(text: str, models: Sequence[Place]) -> Iterator[tuple[str, Place]]:
    """Yield where somebody speaks to a model, and where a note is left for one."""
    for start, end in models:
        called = VOCATIVE.match(text, end)
        if called is None or "_" in text[start:end]:
            continue
        first, last = max(0, start - _OPENER_CHARS), text[called.end() - 1]
        sure = not VAGUE.match(text[start:end])
        towards = not HELPER.match(text[start:end]) and TOWARDS.search(text, first, start) is not None
        if towards or ((sure or last in ":!\uff1a") and OPENER.search(text, first, start)):
            yield "addressed" if sure else "hailed", (start, called.end())
        if sure and last in ":\uff1a" and (NOTE.search(text, first, start) or ATTENTION.match(text, end)):
            yield "noted", (start, called.end())
