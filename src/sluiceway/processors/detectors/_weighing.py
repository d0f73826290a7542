"""The signs of prompt injection in a stretch of text, weighed together: what the rules know beside phrases.

A phrase has one wording. An attack that is worded in a new way still has much of an attack in it: it
speaks to the model, of what it was told, of something to be kept quiet. A sign is a word, two words in
a row, a meaning, two meanings near each other, or the shape of the text. Each has a weight, fitted to
texts of which it is known whether they are attacks; what speaks for a report, a manual or a file of
settings weighs against.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from sluiceway.processors.detectors._meanings import Place
from sluiceway.processors.detectors._normalize import without_accents
from sluiceway.processors.detectors._weights import GROUPS, kinds, weights

__all__ = ["LIGHT", "Weighed", "signs_in", "weigh"]

_Hit: TypeAlias = "tuple[int, int, str]"

_WINDOW_CHARS: Final = 400
_STEP_CHARS: Final = 200
_NEAR_CHARS: Final = 60
_FEWEST_MEANINGS: Final = 3
_WORD_CHARS: Final = 24
_STEM_CHARS: Final = 5
LIGHT: Final = -300
"""What weighs less is no attack, whatever a phrase says."""

# A character of Chinese or Japanese is a word, and so is what ends or parts sentences.
_WORD: Final = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff]|[^\\W_\u3040-\u30ff\u3400-\u9fff]+|[?!:.;,\\n\u3001\u3002\uff01\uff1f\u0964]"
)
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{2,200}\"|“[^“”]{2,300}”|„[^„“”]{2,300}[“”]|«[^«»]{2,300}»|»[^«»]{2,300}«|「[^「」]{2,300}」|『[^『』]{2,300}』"
    r"|```[^`]{2,400}```|`[^`\n]{2,200}`|(?<!\w)'[^'\n]{8,200}'(?!\w)"
)
_MOSTLY: Final = 0.85
_CARRIERS: Final = frozenset(("carrier", "comment"))
"""Meanings of what an attack is carried in: the marks of a comment, of markup, of JSON; they are no part of it."""
_DECODED: Final = frozenset(
    (
        "base64",
        "base32",
        "hex",
        "binary",
        "decimal",
        "morse",
        "rot13",
        "backwards",
        "tag-characters",
        "variation-selectors",
    )
)
_DISGUISED: Final = frozenset(
    ("spaced-letters", "leetspeak", "look-alikes", "hidden-characters", "quoted-parts", "comments")
)
_SHAPES: Final[Mapping[str, re.Pattern[str]]] = {
    "=quoted": re.compile(r"[\"“„«»「『`]"),
    "=asked": re.compile(r"[?？؟]"),
    "=settings": re.compile(
        r"(?:^|\n)[ \t-]{0,8}[\w-]{2,20}: [\w.-]{1,20}\n(?:[^\n]{0,80}\n){0,2}?"
        r"[ \t-]{0,8}[\w-]{2,20}: [\w.-]{1,20}(?:\n|\Z)"
        r"|\"\w{2,20}\":\"\w{0,20}\",\"\w{2,20}\":\"\w{0,20}\""
    ),
    "=code": re.compile(
        r"[\w\])] ?(?:===?|!=|\+=) ?[\w\"'\[{]|\b\w{1,30} = [\"'\[{\w]|\w\([^)\n]{0,60}\)[:;]"
        r"|\bdef \w|\{\.\.\.|; {0,3}(?:\n|\Z)"
    ),
}


class Weighed(NamedTuple):
    """A window of a text, and what it weighs: an attack from 0 on.

    Args:
        window: Where it is.
        points: What it weighs, in hundredths.
        stretch: Where the signs stand that speak for an attack; of one that is none, the window.
        type: The kind of attack that most signs are of; `""` of one that is none.
        name: The meaning that speaks loudest for it; `""` of one that is none.
    """

    window: Place
    points: int
    stretch: Place
    type: str = ""
    name: str = ""


class _Step:
    """What stands in one step of a text; two steps are a window."""

    __slots__ = ("hits", "signs")

    def __init__(self) -> None:
        self.hits: list[_Hit] = []
        self.signs: set[str] = set()


@cache
def _groups() -> Mapping[str, str]:
    """Return which group a meaning belongs to."""
    return {name: group for group, names in GROUPS.items() for name in names.split("|")}


@cache
def _most_of_shapes() -> int:
    """Return what shapes can add at most."""
    table = weights()
    return sum(max(0, table.get(name, 0)) for name in (*_SHAPES, "=quoted example"))


def _steps(text: str, found: Mapping[str, Sequence[Place]]) -> Mapping[int, _Step]:
    """Return the signs of each step of a reading, but for shapes; what is quoted counts as that, too."""
    steps: dict[int, _Step] = defaultdict(_Step)
    hits = sorted((start, end, name) for name, places in found.items() for start, end in places)
    for hit in hits:
        steps[hit[0] // _STEP_CHARS].hits.append(hit)
    quotes = _quotes(text)
    for signs in (_meanings(hits), _words(text)):
        at = 0
        for start, sign in signs:
            step = steps[start // _STEP_CHARS].signs
            step.add(sign)
            while at < len(quotes) and quotes[at][1] <= start:
                at += 1
            if at < len(quotes) and quotes[at][0] <= start:
                step.add(f'"{sign}')
    return steps


def _quotes(text: str) -> Sequence[Place]:
    """Return what is quoted in a text; nothing where that is all of it, as in a file of strings."""
    quotes = [match.span() for match in _QUOTED.finditer(text)]
    return () if sum(end - start for start, end in quotes) > _MOSTLY * len(text) else quotes


def _words(text: str) -> Iterator[tuple[int, str]]:
    """Yield each word, and each two in a row by how they begin."""
    stem = ""
    for match in _WORD.finditer(without_accents(text)):
        word = match.group()[:_WORD_CHARS]
        before, stem = stem, word[:_STEM_CHARS]
        yield match.start(), word
        yield match.start(), f"{before} {stem}"


def _meanings(hits: Sequence[_Hit]) -> Iterator[tuple[int, str]]:
    """Yield the meanings, and each two near each other: as they stand, and by their groups; where the first stands."""
    groups = _groups()
    for at, (start, end, name) in enumerate(hits):
        group = groups.get(name)
        yield start, f"@{name}"
        for other in range(at + 1, len(hits)):
            begins, _, second = hits[other]
            if begins - end > _NEAR_CHARS:
                break
            if name != second and begins >= end:
                yield start, f"@{name}>{second}"
            near = groups.get(second)
            if group and near and group != near:
                yield start, f"@{group}+{near}" if group < near else f"@{near}+{group}"


def _windows(steps: Mapping[int, _Step], trick: str) -> Iterator[tuple[list[_Hit], set[str]]]:
    """Yield the meanings and the signs of each window that has several meanings, in text order."""
    made = set[str]()
    if trick in _DECODED:
        made.add("=decoded")
    elif trick in _DISGUISED:
        made.add("=disguised")
    nothing = _Step()
    for at in sorted(steps):
        first, second = steps[at], steps.get(at + 1, nothing)
        if len(first.hits) + len(second.hits) >= _FEWEST_MEANINGS:
            yield first.hits + second.hits, first.signs | second.signs | made


def _shapes(text: str, hits: Sequence[_Hit], signs: set[str]) -> set[str]:
    """Return the signs of a window that are no words."""
    start, end = hits[0][0], max(hit[1] for hit in hits)
    stretch = text[max(0, start - _NEAR_CHARS) : end + _NEAR_CHARS]
    shapes = {name for name, shape in _SHAPES.items() if shape.search(stretch)}
    if "=quoted" in shapes and not signs.isdisjoint(("@topic", "@meta")):
        shapes.add("=quoted example")
    return shapes


def signs_in(text: str, found: Mapping[str, Sequence[Place]], trick: str) -> Iterator[set[str]]:
    """Yield the signs in each window of a reading; for fitting the weights.

    Args:
        text: The reading in lower case.
        found: The places of its meanings.
        trick: How the reading was made; `""` for the text itself.
    """
    for hits, signs in _windows(_steps(text, found), trick):
        yield signs | _shapes(text, hits, signs)


def weigh(text: str, found: Mapping[str, Sequence[Place]], trick: str) -> Iterator[Weighed]:
    """Yield what each window of a reading weighs that has several meanings, in text order.

    Args:
        text: The reading in lower case.
        found: The places of its meanings.
        trick: How the reading was made; `""` for the text itself.
    """
    table = weights()
    for hits, signs in _windows(_steps(text, found), trick):
        window = hits[0][0], max(hit[1] for hit in hits)
        points = table[""] + sum(table[sign] for sign in signs if sign in table)
        if points + _most_of_shapes() >= LIGHT:
            points += sum(table.get(name, 0) for name in _shapes(text, hits, signs))
        yield Weighed(window, points, window) if points < 0 else _attack(window, points, hits, signs)


def _attack(window: Place, points: int, hits: Sequence[_Hit], signs: set[str]) -> Weighed:
    """Return where the meanings stand that speak for an attack, the kind that they are of, and the loudest."""
    table, groups = weights(), _groups()
    loud: dict[str, int] = defaultdict(int)
    for sign in signs:
        weight = table.get(sign, 0)
        if weight > 0 and sign[0] == "@":
            for name in re.split("[>+]", sign[1:]):
                loud[name] += weight
    names = {name for _, _, name in hits}
    telling = [hit for hit in hits if hit[2] in groups and loud[hit[2]] > 0 and hit[2] not in _CARRIERS] or hits
    loudest: dict[str, int] = defaultdict(int)
    for name in sorted(names & groups.keys()):  # of equals the first, in every process
        loudest[groups[name]] += loud[name] + loud[groups[name]]
    by_kind = {kind: sum(given.get(name, 0) for name in ("", *names)) for kind, given in kinds().items()}
    return Weighed(
        window,
        points,
        (telling[0][0], max(end for _, end, _ in telling)),
        max(by_kind, key=by_kind.__getitem__),
        max(loudest, key=loudest.__getitem__, default="words"),
    )
