"""Rules for numbers: payment cards, social security numbers, bank accounts."""

from __future__ import annotations

import re
from itertools import accumulate

import regex

from sluiceway.processors.detectors._checksums import iban_lengths, iban_valid, luhn_lengths
from sluiceway.processors.detectors._rule import Check, Rule
from sluiceway.processors.detectors._written import (
    BEFORE,
    BLANK,
    DIGIT_GATE,
    HYPHEN,
    LINE,
    WORD,
    fold_number,
    group_sizes,
    prefix_of_digits,
)

__all__ = ["card_rules", "iban_rules", "ssn_rules"]

# Nor behind a sign, nor behind `0.` as in a fraction.
_BEFORE = rf"{BEFORE}(?<![+\uff0b]|(?<!\d)\d{{1,3}}\.)"
_AFTER = rf"(?!{WORD})"
_JOINT = rf"[{BLANK}{HYPHEN}.\uff0e]"
_BREAK = rf"(?:{_JOINT}|{LINE})"
# What goes over lines stands alone: a column of numbers is none.
_ALONE = rf"(?<!\d[{BLANK}]?\r?\n[{BLANK}]{{0,4}})"
_NO_MORE = rf"(?![{BLANK}]?\r?\n[{BLANK}]{{0,4}}\d)"

_CARD = regex.compile(
    rf"{_BEFORE}(?:\d(?:{_JOINT}?\d){{12,18}}{_AFTER}"
    rf"|{_ALONE}\d{{4}}{_BREAK}(?:\d{{4}}{_BREAK}\d{{4}}{_BREAK}\d{{4}}(?:{_BREAK}\d{{1,3}})?|\d{{6}}{_BREAK}\d{{4,5}})"
    rf"{_AFTER}{_NO_MORE})"
)
_CARD_SHAPES = frozenset({(4, 4, 4, 4), (4, 4, 4, 4, 1), (4, 4, 4, 4, 2), (4, 4, 4, 4, 3), (4, 6, 4), (4, 6, 5)})
_SHORTEST_CARD = 13
_SEPARATORS = str.maketrans("", "", " -()./\n")
_DATE = re.compile(r"(?:19|20)[0-9]{2}[ -]?(?:0[1-9]|1[0-2])[ -]?(?:0[1-9]|[12][0-9]|3[01])")
_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9])?")
_YEARS = re.compile(r"(?:(?:19|20)[0-9]{2}[ \n-]*)+")
# The end of a bank account, right or wrong, is no card.
_ACCOUNT = re.compile(r"(?<![0-9A-Za-z])[A-Z]{2}[0-9]{2}(?:[ -][0-9A-Z]{4}){0,6}[ -]\Z")
_ACCOUNT_CHARS = 40
# Nor are bytes in hexadecimal, of which some have letters.
_BYTE = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{2}[ :-]\Z")
_EPOCH_DIGITS = (13, 16, 19)  # milli-, micro- and nanoseconds since 1970, as long as they begin with 1

_SSN = regex.compile(
    rf"{_BEFORE}(?:\d{{3}}{_JOINT}\d{{2}}{_JOINT}\d{{4}}(?!{WORD}|[{HYPHEN}]\d)"
    rf"|{_ALONE}\d{{3}}{_BREAK}\d{{2}}{_BREAK}\d{{4}}(?!{WORD}|[{HYPHEN}]\d){_NO_MORE})"
)
_SSN_BARE = regex.compile(rf"{_BEFORE}\d{{9}}{_AFTER}")
_SSN_PARTS = re.compile(r"(?!000|666|9)[0-9]{3}([ \n.-]*)(?!00)[0-9]{2}([ \n.-]*)(?!0000)[0-9]{4}")
_SSN_WORDS = re.compile(
    r"(?i)\b(?:ssn|social[ -]security(?:[ -](?:number|no\.?|num\.?|#))?)"
    r"(?:\W{0,3}|(?:\W{1,2}[^\W\d_]{1,8}){1,3}\W{1,3})\Z"
)


def _is_timestamp(shown: str, digits: str) -> bool:
    if digits[0] == "1" and len(digits) in _EPOCH_DIGITS and shown == digits:
        return True
    date = _DATE.match(shown)
    if date is None:
        return _YEARS.fullmatch(shown) is not None
    rest = shown[date.end() :]
    return rest[:1] in (" ", "-") or _CLOCK.match(rest.translate(_SEPARATORS)) is not None


def _is_grouped(shown: str) -> bool:
    """Whether digits are parted as people part them: evenly, or in groups of some length."""
    sizes = group_sizes(shown)
    if "\n" in shown:
        return tuple(sizes) in _CARD_SHAPES
    if "." in shown:  # as in no decimal number
        return tuple(sizes) in _CARD_SHAPES and shown.count(".") == len(sizes) - 1
    first = sizes[0]
    return (min(sizes) >= 3 and first >= 4) or (set(sizes[:-1]) <= {first} and sizes[-1] <= first)


def _is_article(digits: str) -> bool:
    """Whether 13 digits are no card: only old Visa numbers are so short, and articles have as many (GTIN-13)."""
    if len(digits) != 13:
        return False
    total = sum(int(digit) * (3 if at % 2 else 1) for at, digit in enumerate(digits))
    return digits[0] != "4" or total % 10 == 0


def _is_card(shown: str, digits: str, rest: str) -> bool:
    if digits[0] == "0" or len(set(digits)) == 1 or _is_timestamp(shown, digits) or _is_article(digits):
        return False
    if "\n" in shown and rest.lstrip(" ").startswith("\n"):  # one more row of a column
        return False
    return shown == digits or _is_grouped(shown)


def _check_card(checksums: bool) -> Check:
    def check(text: str, start: int, end: int) -> tuple[int, int] | None:
        whole = fold_number(text[start:end])
        digits = whole.translate(_SEPARATORS)
        if len(set(digits)) == 1 or _ACCOUNT.search(text, max(0, start - _ACCOUNT_CHARS), start):
            return None
        if set(group_sizes(whole)) == {2} and _BYTE.search(text, max(0, start - 4), start):
            return None
        ends = [len(digits)] if whole == digits else list(accumulate(group_sizes(whole)))[::-1]
        if checksums:
            lengths = luhn_lengths(digits, [n for n in ends if n >= _SHORTEST_CARD])
        else:
            lengths = iter([n for n in ends if n in (14, 15, 16)])
        for n in lengths:
            shown = prefix_of_digits(whole, n)
            if _is_card(shown, digits[:n], whole[len(shown) :]):
                return start, start + len(shown)
        return None

    return check


def card_rules(*, checksums: bool) -> tuple[Rule, ...]:
    """Return the rule for card numbers of 13 to 19 digits, parted by single blanks, hyphens or dots, or by lines.

    With `checksums` the check digit must be right (Luhn); without, any number of the lengths
    in common use, 14 to 16, counts. Timestamps are no cards, nor are columns of numbers.
    """
    score = 0.95 if checksums else 0.7
    return (Rule("credit-card", "credit-card", _CARD, _check_card(checksums), gate=DIGIT_GATE, score=score),)


def _check_ssn(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Refuse numbers that are never given out, and other joints on the left than on the right."""
    parts = _SSN_PARTS.fullmatch(fold_number(text[start:end]))
    return (start, end) if parts is not None and (parts[1] == parts[2] or "\n" in parts[1] + parts[2]) else None


def _after_ssn_words(text: str, start: int, end: int) -> tuple[int, int] | None:
    found = _check_ssn(text, start, end)
    return found if _SSN_WORDS.search(text, max(0, start - 40), start) else None


def ssn_rules() -> tuple[Rule, ...]:
    """Return the rules for US social security numbers of the ranges that are given out.

    Nine digits in a row are one only behind words such as `SSN:`.
    """
    return (
        Rule("ssn", "ssn", _SSN, _check_ssn, gate=DIGIT_GATE, score=0.85),
        Rule("ssn", "ssn-bare", _SSN_BARE, _after_ssn_words, gate=DIGIT_GATE, score=0.85),
    )


def _iban_pattern() -> regex.Pattern[str]:
    arms = [
        rf"(?:{'|'.join(countries)})\d{{2}}(?:{_BREAK}?[A-Z\d]){{{length - 4}}}"
        for length, countries in iban_lengths().items()
    ]
    return regex.compile(rf"(?<![0-9A-Za-z])(?i:{'|'.join(arms)})(?![0-9A-Za-z])")


_IBAN = _iban_pattern()
_IBAN_GATE = re.compile(r"(?<![0-9A-Za-z])(?:[A-Za-z]{2}(?:\d{2}|\d?\Z)|[A-Za-z]\Z)")


def _check_iban(text: str, start: int, end: int) -> tuple[int, int] | None:
    compact = fold_number(text[start:end]).translate(_SEPARATORS).upper()
    return (start, end) if compact.isascii() and iban_valid(compact) else None


def iban_rules(*, checksums: bool) -> tuple[Rule, ...]:
    """Return the rule for IBANs: a known country, its length, and the remainder modulo 97."""
    check = _check_iban if checksums else None
    return (Rule("iban", "iban", _IBAN, check, gate=_IBAN_GATE, score=0.95 if checksums else 0.7),)
