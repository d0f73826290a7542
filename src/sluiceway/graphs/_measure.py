"""How wide a text is, for a reader whose fonts are not known.

Widths are those of the widest of the common fonts (DejaVu, Noto, Arial, Helvetica, Segoe,
Roboto), so that a text fits its box in each of them. Where fonts differ too much (other
scripts, symbols, emoji) the width is an estimate, which a picture has to impose.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import regex

__all__ = ["Text", "fit", "visible", "width_of"]

_REGULAR: Final = (
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 56, 84, 32, 37, 32, 38, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34,
    84, 84, 84, 54, 100, 69, 69, 70, 77, 64, 58, 78, 76, 34, 30, 66, 56, 91, 76, 79, 61, 79, 70, 64, 62, 74, 69, 99,
    69, 62, 69, 40, 38, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53,
    40, 64, 60, 82, 60, 60, 53, 64, 56, 64, 84,
)  # fmt: skip
_BOLD: Final = (
    35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 55, 84, 38, 42, 38, 42, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40, 40,
    84, 84, 84, 58, 100, 78, 77, 74, 83, 69, 69, 83, 84, 39, 38, 78, 64, 100, 84, 85, 74, 85, 77, 73, 69, 82, 78, 111,
    78, 73, 73, 46, 42, 46, 84, 50, 50, 68, 72, 60, 72, 68, 44, 72, 72, 35, 35, 67, 35, 105, 72, 69, 72, 72, 50, 60,
    48, 72, 66, 93, 65, 66, 59, 72, 56, 72, 84,
)  # fmt: skip
"""Hundredths of the font size, from the space to the tilde."""
_KNOWN: Final = {"·": 40, "›": 50, "…": 100, "–": 60, "—": 100, "×": 84, "’": 38, "“": 60, "”": 60, "µ": 72, "→": 84}
_SCRIPTS: Final = (
    (0x370, 66, 74),
    (0x400, 62, 68),
    (0x530, 68, 76),
    (0x600, 58, 62),
    (0x900, 54, 57),
    (0xE00, 66, 70),
    (0xF00, 56, 60),
)
"""Up to which character a letter is about how wide: Latin, Greek, Cyrillic, Hebrew, Arabic, the
scripts of India, Thai and Lao."""
_WIDE: Final = 100
_EMOJI: Final = 130
_OTHER: Final = 85
_PILED: Final = regex.compile(r"(\p{M}{3})\p{M}+")
_GRAPHEMES: Final = regex.compile(r"\X")
_BIDI: Final = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True, slots=True)
class Text:
    """A text as it is drawn.

    Args:
        text: What is drawn; shortened where there was no room.
        width: In units of the picture.
        exact: Whether every font keeps to the width; if not, the picture has to impose it.
        whole: Whether nothing was left out.
    """

    text: str
    width: float
    exact: bool
    whole: bool = True


def visible(text: str) -> str:
    """Return a text in one line without anything that a document may not hold or that hides.

    Line breaks become `⏎`, control characters their pictures, lone surrogates and marks that
    turn the direction of writing `�`; of more than three marks on one letter three are left.
    """
    if text.isascii() and text.isprintable():
        return text.strip()
    shown = "".join(map(_visible, text.replace("\r\n", "\n").replace("\t", " ")))
    return _PILED.sub(r"\1", shown).strip()


def _visible(char: str) -> str:
    code = ord(char)
    if 0x20 <= code < 0x7F:
        return char
    if code == 0x0A:
        return "⏎"
    if code < 0x20:
        return chr(0x2400 + code)
    if char in _BIDI or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE:
        return "\ufffd"
    return "⏎" if code in (0x2028, 0x2029) else char


def fit(text: str, size: float, room: float, *, bold: bool = False) -> Text:
    """Return a text as it fits into a width, its end cut off with `…` where it must be.

    Args:
        text: Any text.
        size: The font size.
        room: The width there is.
        bold: Whether it is set in bold.
    """
    text = visible(text)
    width, exact = _measured(text, bold)
    if width * size / 100 <= room:
        return Text(text, width * size / 100, exact)
    left = room * 100 / size - _KNOWN["…"]
    kept: list[str] = []
    used, exact = 0, True
    for cluster in _GRAPHEMES.findall(text):
        wide, known = _cluster(cluster, bold)
        if used + wide > left:
            break
        kept.append(cluster)
        used += wide
        exact = exact and known
    return Text("".join(kept).rstrip() + "…", (used + _KNOWN["…"]) * size / 100, exact, whole=False)


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a text of one line."""
    return _measured(text, bold)[0] * size / 100


@lru_cache(4096)
def _measured(text: str, bold: bool) -> tuple[int, bool]:
    if text.isascii():
        table = _BOLD if bold else _REGULAR
        return sum(table[ord(char) - 32] for char in text), True
    total, exact = 0, True
    for cluster in _GRAPHEMES.findall(text):
        wide, known = _cluster(cluster, bold)
        total += wide
        exact = exact and known
    return total, exact


@lru_cache(4096)
def _cluster(cluster: str, bold: bool) -> tuple[int, bool]:
    """Return the width of what a reader takes for one character, and whether fonts agree on it."""
    table = _BOLD if bold else _REGULAR
    base = unicodedata.normalize("NFD", cluster)[0]
    if " " <= base <= "~":
        return table[ord(base) - 32], len(cluster) == 1 or unicodedata.combining(cluster[1]) != 0
    if cluster in _KNOWN:
        return _KNOWN[cluster], True
    if unicodedata.east_asian_width(base) in "WF":
        emoji = ord(base) >= 0x1F000 or "\ufe0f" in cluster
        return (_EMOJI, False) if emoji else (_WIDE, False)
    for end, regular, bolder in _SCRIPTS:
        if ord(base) < end:
            return (bolder if bold else regular), False
    letters = sum(1 for char in cluster if unicodedata.category(char)[0] not in "MC") or 1
    return (_EMOJI if ord(base) >= 0x1F000 else _OTHER) * letters, False
