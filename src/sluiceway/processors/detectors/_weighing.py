"""Many weak signs of prompt injection weighed together: the third part of the rules.

A phrase has one wording, and a rule of meanings asks for certain ones. An attack that is worded in
a new way still has several things of an attack in it: it speaks to the model, of what it was told, of
something to be kept quiet. Each meaning that stands in a window of the text, and each two that stand
near each other, has a weight; what speaks for a report, a manual or a file of settings weighs against.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from sluiceway.processors.detectors._meanings import Place
from sluiceway.processors.detectors._weights import BIAS, GROUPS, WEIGHTS

__all__ = ["LIGHT", "Weighed", "signs_in", "weigh"]

_Hit: TypeAlias = "tuple[int, int, str]"
_Pair: TypeAlias = "tuple[str, str]"

_WINDOW_CHARS: Final = 400
_STEP_CHARS: Final = 200
_NEAR_CHARS: Final = 60
LIGHT: Final = -2.5
"""What weighs less is no attack, whatever a rule of meanings says."""

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
    "=speech": re.compile(
        r"[\"“”«»」„] ?,? ?(?:he|she|it|the|said|sagte|dit|lui|dijo|disse|zei|powiedzia|dedi|сказал|sade|說|说)"
        r"|(?:^|\n)[^\W\d_]{1,12}: [^\n]{1,200}\n[^\W\d_]{1,12}: "
    ),
}


class Weighed(NamedTuple):
    """A stretch of text, the kind of attack that most signs in it are of, and what it weighs: an attack from 0 on."""

    start: int
    end: int
    type: str
    points: float


@cache
def _groups() -> Mapping[str, str]:
    """Return which group a meaning belongs to."""
    return {name: group for group, (_, names) in GROUPS.items() for name in names.split("|")}


@cache
def _table() -> tuple[Mapping[str, float], Mapping[_Pair, float], float]:
    """Return the weights of one sign and of two, and what shapes can add at most; made at first use."""
    single: dict[str, float] = {}
    double: dict[_Pair, float] = {}
    for line in WEIGHTS.split("\n"):
        weight, _, names = line.strip().partition(" ")
        first, _, second = names.partition(" + ")
        if second:
            double[first, second] = float(weight)
        elif first:
            single[first] = float(weight)
    return single, double, sum(max(0.0, single.get(name, 0.0)) for name in _SHAPES)


def _windows(found: Mapping[str, Sequence[Place]]) -> Iterator[list[_Hit]]:
    """Yield the meanings of each window, in text order."""
    groups = _groups()
    buckets: dict[int, list[_Hit]] = defaultdict(list)
    for name, places in found.items():
        if name in groups:
            for start, end in places:
                buckets[start // _STEP_CHARS].append((start, end, name))
    wide = _WINDOW_CHARS // _STEP_CHARS
    for at in sorted(buckets):
        yield sorted(hit for n in range(at, at + wide) for hit in buckets.get(n, ()))


def _near(hits: Sequence[_Hit]) -> set[_Pair]:
    """Return the groups that stand near each other."""
    groups = _groups()
    named = [(start, end, groups[name]) for start, end, name in hits]
    pairs: set[_Pair] = set()
    for at, (_, end, name) in enumerate(named):
        for other in range(at + 1, len(named)):
            start, _, second = named[other]
            if start - end > _NEAR_CHARS:
                break
            if name != second:
                pairs.add((name, second) if name < second else (second, name))
    return pairs


def _signs(hits: Sequence[_Hit], trick: str) -> set[str]:
    signs = {name for _, _, name in hits}
    if trick in _DECODED:
        signs.add("=decoded")
    elif trick in _DISGUISED:
        signs.add("=disguised")
    return signs


def _shapes(text: str, hits: Sequence[_Hit], signs: set[str]) -> set[str]:
    """Return the signs of a window that are no words."""
    start, end = hits[0][0], max(hit[1] for hit in hits)
    stretch = text[max(0, start - _NEAR_CHARS) : end + _NEAR_CHARS]
    shapes = {name for name, shape in _SHAPES.items() if shape.search(stretch)}
    if "=quoted" in shapes and not signs.isdisjoint(("topic", "meta")):
        shapes.add("=quoted example")
    return shapes


def signs_in(text: str, found: Mapping[str, Sequence[Place]], trick: str) -> Iterator[tuple[set[str], set[_Pair]]]:
    """Yield the signs in each window of a reading, and which two stand near each other; for fitting the weights.

    Args:
        text: The reading in lower case.
        found: The places of its meanings.
        trick: How the reading was made; `""` for the text itself.
    """
    for hits in _windows(found):
        signs = _signs(hits, trick)
        yield signs | _shapes(text, hits, signs), _near(hits)


def weigh(text: str, found: Mapping[str, Sequence[Place]], trick: str) -> Iterator[Weighed]:
    """Yield what each window of a reading weighs, with the stretch of those signs that speak for an attack.

    Windows that are far from one are left out.

    Args:
        text: The reading in lower case.
        found: The places of its meanings.
        trick: How the reading was made; `""` for the text itself.
    """
    single, double, most = _table()
    for hits in _windows(found):
        signs = _signs(hits, trick)
        pairs = _near(hits)
        points = BIAS + sum(single.get(name, 0.0) for name in signs) + sum(double.get(pair, 0.0) for pair in pairs)
        if points + most >= LIGHT:
            points += sum(single.get(name, 0.0) for name in _shapes(text, hits, signs))
            if points >= LIGHT:
                yield _stretch(hits, points, pairs)


def _stretch(hits: Sequence[_Hit], points: float, pairs: set[_Pair]) -> Weighed:
    single, double, _ = _table()
    groups = _groups()
    given: dict[str, float] = defaultdict(float)
    for name in {name for _, _, name in hits}:
        given[groups[name]] += max(0.0, single.get(name, 0.0))
    for pair in pairs:
        for group in pair:
            given[group] += max(0.0, double.get(pair, 0.0)) / 2
    telling = [hit for hit in hits if given[groups[hit[2]]] > 0] or list(hits)
    kinds: dict[str, float] = defaultdict(float)
    for group, points_given in given.items():
        kinds[GROUPS[group][0]] += points_given
    kinds.pop("", None)
    kind = max(kinds, key=kinds.__getitem__, default="injection")
    return Weighed(telling[0][0], max(end for _, end, _ in telling), kind, points)
