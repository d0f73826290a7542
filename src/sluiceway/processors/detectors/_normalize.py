"""Unicode normalisation that leaves the meaning and the layout of a text alone."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, TypeAlias

import regex

__all__ = ["COMPATIBILITY", "INVISIBLE", "Compatibility", "fold_character", "normalize_text", "without_accents"]

Compatibility: TypeAlias = Literal["letters", "full", "none"]
"""How much is folded: letters and digits, all that NFKC folds, or nothing."""
COMPATIBILITY: tuple[Compatibility, ...] = ("letters", "full", "none")
"""The choices, for a check of an option."""

INVISIBLE = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u2060-\u2064\u3164\ufeff\uffa0"
"""Soft hyphen, joiners, blanks without width: a character set without its brackets."""

_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 and C1, but for tab and the ends of lines
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # direction of writing
    "\ufff9-\ufffb\U000e0000-\U000e007f\U000e0100-\U000e01ef]"  # annotations, tags, variants
)
# An emoji as people type it: a flag, a keycap, or a sequence held together by joiners; the only
# tag sequence is that of a regional flag, since tags are also used to hide text.
_EMOJI = regex.compile(
    r"\p{RI}{2}|[0-9#*]\uFE0F?\u20E3"
    r"|\U0001F3F4[\U000E0030-\U000E0039\U000E0061-\U000E007A]{3,6}\U000E007F"
    r"|\p{ExtPict}(?:\p{EMod}|\uFE0F)*(?:\u200D\p{ExtPict}(?:\p{EMod}|\uFE0F)*)*"
)
_FOLDED_TAGS = frozenset(("wide", "narrow", "font", "circle", "small", "initial", "medial", "final", "isolated"))
_KEPT = frozenset("µ")  # a unit more often than a letter
_MANY_MARKS = regex.compile(r"\P{ccc=0}{31,}")
_LATER_SPACES = re.compile(r"(?<=\S) {2,}")
_ROUNDS = 4
_LATIN = (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))
_BARE = {ord(c): bare for c, bare in zip("đħıłøŧ", "dhilot", strict=True)} | {
    code: bare for code in _LATIN if (bare := unicodedata.normalize("NFD", chr(code))[0].lower()).isascii()
}


def normalize_text(
    text: str,
    *,
    strip_control_chars: bool = False,
    preserve_emojis: bool = True,
    collapse_whitespace: bool = True,
    trim: bool = True,
    compatibility: Compatibility = "letters",
) -> str:
    """Return the text in one normal form. Doing it twice changes nothing more.

    Composed (NFC); letters, digits and punctuation that only look different (full width,
    mathematical, circled) become the plain ones; characters without width are taken out.

    Args:
        text: Any text, lone surrogates included.
        strip_control_chars: Also take out control characters (not tab, not ends of lines),
            those that change the direction of writing, tags and variant selectors.
        preserve_emojis: Leave emoji sequences as they are, with the joiners in them.
        collapse_whitespace: Make one space of several inside a line; never at its start.
        trim: Take white space off both ends.
        compatibility: `letters` as said above; `full` is NFKC, which also turns `x²` into
            `x2`; `none` leaves all of them.
    """
    if not text.isascii():
        # Taking out a character or an emoji can bring together what composes; so again, until
        # nothing changes. One round does for nearly every text.
        for _ in range(_ROUNDS):
            before = text
            text = _characters(text, strip_control_chars, preserve_emojis, compatibility)
            if text == before:
                break
    elif strip_control_chars:
        text = _CONTROL.sub("", text)
    if collapse_whitespace:
        text = _LATER_SPACES.sub(" ", text)
    return text.strip() if trim else text


def _characters(text: str, strip: bool, preserve_emojis: bool, compatibility: Compatibility) -> str:
    if not preserve_emojis:
        return _plain(text, strip, compatibility)
    out: list[str] = []
    position = 0
    for match in _EMOJI.finditer(text):
        # Signs such as the circled M are letters unless a selector says emoji.
        if len(match.group()) == 1 and fold_character(match.group()) != match.group():
            continue
        out += _plain(text[position : match.start()], strip, compatibility), match.group()
        position = match.end()
    out.append(_plain(text[position:], strip, compatibility))
    return _normal("NFC", "".join(out))


def _plain(text: str, strip: bool, compatibility: Compatibility) -> str:
    if text.isascii() and not strip:
        return text
    text = _INVISIBLE.sub("", text)
    if strip:
        text = _CONTROL.sub("", text)
    if compatibility == "full":
        return _normal("NFKC", text)
    if compatibility == "letters":
        changes = {ord(c): folded for c in set(text) if (folded := fold_character(c)) != c}
        if changes:
            text = text.translate(changes)
    return _normal("NFC", text)


def _normal(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Return a normal form of Unicode, in time that grows with the text.

    CPython puts the marks on a letter into order one by one, a minute for a million of them. A run
    that nobody writes is sorted before, which is what its order is by UAX #15.
    """
    ordered = _MANY_MARKS.sub(lambda run: "".join(sorted(run.group(), key=unicodedata.combining)), text)
    return unicodedata.normalize(form, ordered)


def fold_character(character: str) -> str:
    """Return the plain form of a letter, digit, punctuation mark or space that only looks different.

    Superscripts, fractions and units are left alone: `x²` and `½` say something else than `x2`
    and `1/2`.
    """
    if character.isascii() or character in _KEPT:
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    decomposition = unicodedata.decomposition(character)
    if not decomposition.startswith("<"):
        return character
    tag = decomposition[1 : decomposition.index(">")]
    plain = unicodedata.normalize("NFKC", character)
    if tag in _FOLDED_TAGS or (tag == "square" and len(plain) == 1):
        return plain
    # Ligatures and Roman numerals; not the dots of an ellipsis, nor the sign for degrees.
    is_letter = unicodedata.category(character)[0] == "L" or unicodedata.category(character) == "Nl"
    return plain if tag == "compat" and is_letter and plain.isalpha() else character


def without_accents(text: str) -> str:
    """Return a text in lower case with Latin letters bare, as people type who are in a hurry; each in its place."""
    return text if text.isascii() else text.translate(_BARE)
