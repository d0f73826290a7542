"""Rules for numbers: payment cards, social security numbers, bank accounts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

from sluiceway.processors.detectors._checksums import iban_lengths, iban_valid, luhn
from sluiceway.processors.detectors._rule import Check, Rule

__all__ = ["DIGIT_GATE", "card_rules", "iban_rules", "prefixes", "ssn_rules"]

DIGIT_GATE = re.compile(r"(?<![0-9A-Za-z*])[0-9+(]")
"""Where any rule for numbers can start: at the head of a run of digits."""

# Not inside a word, nor behind `0.` as in a fraction, nor behind what was masked.
_BEFORE = r"(?<![^\W_]|[*+]|(?<![0-9])[0-9]{1,3}\.|\*[ .-])"
_AFTER = r"(?![^\W_])"

_CARD = regex.compile(rf"{_BEFORE}[0-9](?:[ -]?[0-9]){{12,18}}{_AFTER}")
_SEPARATORS = str.maketrans("", "", " -()./")
_DATE = re.compile(r"(?:19|20)[0-9]{2}[ -]?(?:0[1-9]|1[0-2])[ -]?(?:0[1-9]|[12][0-9]|3[01])")
_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9])?")
_YEARS = re.compile(r"(?:(?:19|20)[0-9]{2}[ -]?)+")
_EPOCH_DIGITS = (13, 16, 19)  # milli-, micro- and nanoseconds since 1970, as long as they begin with 1

_SSN = regex.compile(rf"{_BEFORE}(?!000|666|9)[0-9]{{3}}([- ])(?!00)[0-9]{{2}}\1(?!0000)[0-9]{{4}}(?![^\W_]|-[0-9])")
_SSN_BARE = regex.compile(rf"{_BEFORE}(?!000|666|9)[0-9]{{3}}(?!00)[0-9]{{2}}(?!0000)[0-9]{{4}}{_AFTER}")
_SSN_WORDS = re.compile(
    r"(?i)\b(?:ssn|social[ -]security(?:[ -](?:number|no\.?|num\.?|#))?)(?:\W{0,3}|\W{1,2}is\W{1,3})\Z"
)


def prefixes(shown: str, separators: str) -> Iterator[str]:
    """Yield a match, then the same without its last group of digits, and so on."""
    while shown:
        yield shown
        cut = max(map(shown.rfind, separators))
        shown = shown[: max(cut, 0)].rstrip(separators)


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
    sizes = [len(group) for group in shown.replace("-", " ").split(" ")]
    first = sizes[0]
    return (min(sizes) >= 3 and first >= 4) or (set(sizes[:-1]) <= {first} and sizes[-1] <= first)


def _check_card(checksums: bool) -> Check:
    def is_card(shown: str, digits: str) -> bool:
        valid = luhn(digits) if checksums else len(digits) in (14, 15, 16)
        return valid and len(set(digits)) > 1 and not _is_timestamp(shown, digits)

    def check(text: str, start: int, end: int) -> tuple[int, int] | None:
        for shown in prefixes(text[start:end], " -"):
            digits = shown.translate(_SEPARATORS)
            if len(digits) < 13:
                return None
            if is_card(shown, digits) and (shown == digits or _is_grouped(shown)):
                return start, start + len(shown)
        return None

    return check


def card_rules(*, checksums: bool) -> tuple[Rule, ...]:
    """Return the rule for card numbers of 13 to 19 digits, with single blanks or hyphens between them.

    With `checksums` the check digit must be right (Luhn); without, any number of the lengths
    in common use, 14 to 16, counts. Timestamps are no cards.
    """
    score = 0.95 if checksums else 0.7
    return (Rule("credit-card", "credit-card", _CARD, _check_card(checksums), gate=DIGIT_GATE, score=score),)


def _after_ssn_words(text: str, start: int, end: int) -> tuple[int, int] | None:
    return (start, end) if _SSN_WORDS.search(text, max(0, start - 40), start) else None


def ssn_rules() -> tuple[Rule, ...]:
    """Return the rules for US social security numbers of the ranges that are given out.

    Nine digits in a row are one only behind words such as `SSN:`.
    """
    return (
        Rule("ssn", "ssn", _SSN, gate=DIGIT_GATE, score=0.85),
        Rule("ssn", "ssn-bare", _SSN_BARE, _after_ssn_words, gate=DIGIT_GATE, score=0.85),
    )


def _iban_pattern() -> regex.Pattern[str]:
    arms = [
        rf"(?:{'|'.join(countries)})[0-9]{{2}}(?:[ -]?[A-Z0-9]){{{length - 4}}}"
        for length, countries in iban_lengths().items()
    ]
    return regex.compile(rf"(?<![0-9A-Za-z])(?i:{'|'.join(arms)})(?![0-9A-Za-z])")


_IBAN = _iban_pattern()
_IBAN_GATE = re.compile(r"(?<![0-9A-Za-z])(?:[A-Za-z]{2}(?:[0-9]{2}|[0-9]?\Z)|[A-Za-z]\Z)")


def _check_iban(text: str, start: int, end: int) -> tuple[int, int] | None:
    compact = text[start:end].translate(_SEPARATORS).upper()
    return (start, end) if compact.isascii() and iban_valid(compact) else None


def iban_rules(*, checksums: bool) -> tuple[Rule, ...]:
    """Return the rule for IBANs: a known country, its length, and the remainder modulo 97."""
    check = _check_iban if checksums else None
    return (Rule("iban", "iban", _IBAN, check, gate=_IBAN_GATE, score=0.95 if checksums else 0.7),)
