"""What each sign of prompt injection weighs: fitted by `make weights` to texts of which it is known what they are.

The sum of what is in a window, and of what an empty one weighs, is that of a logistic regression: from 0 on it is more
likely an attack than the tolerated share of false alarms allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

__all__ = ["GROUPS", "kinds", "weights"]

GROUPS: Final[Mapping[str, str]] = {
    "drop": "drop|let go",
    "orders": "ownorders",
    "reveal": "reveal it|show",
    "full": "unabridged|verbatim",
    "own": "system text|ownprompt|weakprompt|secretprompt|your words|given|beforeme",
    "prior": "above text|prior|before us",
    "void": "mere test|void|expired|reset",
    "mine": "my way|mine|myorders|outrank|newtask|takeover|task",
    "role": "accomplice|role|in character",
    "free": "no limits|nolimit|freed|unruled|nowarn|twice|forbidden",
    "harm": "crime|harm",
    "authority": "maker claim|authority|privileged|maker",
    "lift": "lifted by me|ownsafety|off",
    "model": "aisure|model named|ifai|aireads",
    "called": "addressed|hailed|noted",
    "data": "carrier|comment|hidden|header",
    "say": "say so|push|betray",
    "do": "do so|acts|tool|danger|pipeshell",
    "loot": "loot|strong|stored",
    "send": "send|dest|web|tome",
    "quiet": "quiet|secretly",
    "threat": "or else|pretext",
    "imposed": "imposed",
    "you": "your",
    "only": "only",
    "whenever": "whenever",
    "all": "all",
    "hidden": "hidden kind",
    "task": "user's task",
    "reported": "reported",
    "matter": "other matter",
    "topic": "topic|meta",
    "asking": "asking|asks",
    "must": "must|modal",
    "safety": "safety",
    "game": "game",
}
"""Meanings that are weighed as one when they stand near others."""


@cache
def weights() -> Mapping[str, int]:
    """Return what each sign weighs, and an empty window (`""`), in hundredths: sums of them are exact in any order.

    A word stands as it is, two words in a row by how they begin (`ignor your`), a meaning as `@drop`, two near each
    other as `@drop>orders` in their order or `@drop+own` by their groups, and a shape as `=quoted`. What is quoted
    has a quotation mark before it.
    """
    return {sign: weight for sign, weight in _table() if sign[:2] != "@@"}


@cache
def kinds() -> Mapping[str, Mapping[str, int]]:
    """Return how much each meaning speaks for each kind of attack; `""` is how common the kind is."""
    found: dict[str, dict[str, int]] = {}
    for sign, weight in _table():
        if sign[:2] == "@@":
            kind, _, name = sign[2:].partition("@")
            found.setdefault(kind, {})[name] = weight
    return found


@cache
def _table() -> Sequence[tuple[str, int]]:
    """Return the lines of the table; read at first use, since importing shall cost little."""
    table = files("sluiceway.processors.detectors").joinpath("injection_weights.txt").read_text(encoding="utf-8")
    lines = (line.partition("\t") for line in table.split("\n") if line and line[0] != "#")
    return [(sign.replace("\\n", "\n"), int(hundredths)) for hundredths, _, sign in lines]
