r"""How numbers are written: the digits of any script, and what parts them.

A model writes `4111‑1111‑1111‑1111` with hyphens that do not break, `４１１１` at full width, or
ends a line inside a number. The pieces here are for patterns of the module `regex`, where `\d`
is a decimal digit of any script.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = [
    "BEFORE",
    "BLANK",
    "DIGIT_GATE",
    "HYPHEN",
    "JOINED",
    "LINE",
    "WORD",
    "fold_number",
    "group_sizes",
    "prefix_of_digits",
    "prefixes",
]

_BLANKS = " \u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_HYPHENS = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"

BLANK = _BLANKS
"""Blanks, for a character set."""

HYPHEN = "\\-" + _HYPHENS[1:]
"""Hyphens, dashes and the minus sign, for a character set."""

JOINED = (
    "\u0e00-\u0e4f\u0e5a-\u0ecf\u0eda-\u0eff\u1000-\u103f\u104a-\u108f\u1100-\u11ff\u1780-\u17df\u3005-\u3007\u3031-\u3035"
    "\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Letters of scripts that set no blank between words, or put particles right behind a number: Chinese,
Japanese, Korean, Thai and their like. For a character set."""

WORD = rf"[^\W_{JOINED}]"
"""A letter or digit that no number touches; of the scripts above one does."""

LINE = rf"[{BLANK}{HYPHEN}.]?\r?\n[{BLANK}]{{0,4}}"
"""The end of a line inside a number; the next line may be indented."""

DIGIT_GATE = re.compile(r"[\d+(\uff0b\uff08](?<![\dA-Za-z].)")
"""Where any rule for numbers can start: at the head of a run of digits."""

_FOLDED = str.maketrans(
    {
        **dict.fromkeys(_BLANKS, " "),
        **dict.fromkeys(_HYPHENS, "-"),
        "\r": " ",
        "\uff08": "(",
        "\uff09": ")",
        "\uff0b": "+",
        "\uff0e": ".",
        "\uff0f": "/",
    }
)
_DIGITS = re.compile("[0-9]+")

# Behind a mask a number goes on: `**** **** **** 1111`, `** **1820`. In front of stars that make
# it bold, or of one that makes it an item of a list, it begins.
_ITEM = rf"(?<!(?:\A|\n)[{BLANK}]{{0,8}})\*(?:[{BLANK}]|{LINE})"
BEFORE = rf"(?<!{WORD}|\*{{4}}|(?:\*[{HYPHEN}.]|{_ITEM})\*{{0,3}})"
"""What must not stand before a number: a word, or a mask. Zero width."""


def fold_number(shown: str) -> str:
    """Return a number with ASCII digits, blanks, hyphens and so on, each character in its place.

    A line break stays one; the carriage return before it becomes a blank.
    """
    if shown.isascii():
        return shown.replace("\r", " ")
    folded = shown.translate(_FOLDED)
    if folded.isascii():
        return folded
    return "".join(
        character if character.isascii() or not character.isdecimal() else str(unicodedata.digit(character))
        for character in folded
    )


def group_sizes(folded: str) -> list[int]:
    """Return the lengths of the groups of digits of a folded number."""
    return [len(group) for group in _DIGITS.findall(folded)]


def prefix_of_digits(folded: str, n: int) -> str:
    """Return a folded number up to its n-th digit."""
    for match in _DIGITS.finditer(folded):
        size = match.end() - match.start()
        if n <= size:
            return folded[: match.start() + n]
        n -= size
    return folded


def prefixes(folded: str, separators: str) -> Iterator[str]:
    """Yield a number, then the same without its last group of digits, and so on."""
    while folded:
        yield folded
        cut = max(map(folded.rfind, separators))
        folded = folded[: max(cut, 0)].rstrip(separators)
