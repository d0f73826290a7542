"""The rule for phone numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import regex

from sluiceway.processors.detectors._phone_words import OTHER_WORDS, PHONE_WORDS
from sluiceway.processors.detectors._rule import Rule
from sluiceway.processors.detectors._written import BEFORE, BLANK, DIGIT_GATE, HYPHEN, WORD, fold_number, prefixes

__all__ = ["phone_rules"]

_JOINTS = rf"[{BLANK}{HYPHEN}./()\uff0e\uff0f\uff08\uff09]"
_PHONE = regex.compile(
    rf"{BEFORE}(?<!\d/|(?<!\d)\d{{1,3}}\.|(?:{WORD}|[_)])[{HYPHEN}])"
    # A country, a trunk zero, or an area code: so that a run of lone digits costs nothing.
    rf"(?=[+(\uff0b\uff08]|[0\uff10]\d|\d{{3}}|\d{{1,2}}{_JOINTS}{{1,2}}\d{{3}})"
    rf"[+(\uff0b\uff08]?\d(?:{_JOINTS}{{0,3}}(?:\r?\n[{BLANK}]{{0,2}})?\d){{6,14}}(?![\d_]|[/{HYPHEN}](?:\d|{WORD}))"
)
_DIGITS = str.maketrans("", "", " .-/()+")
_DATE_LIKE = re.compile(
    r"(?:(?:19|20)[0-9]{2}[-./ ](?:0?[1-9]|1[0-2])[-./ ](?:0?[1-9]|[12][0-9]|3[01])"
    r"|(?:0?[1-9]|[12][0-9]|3[01])[-./ ](?:0?[1-9]|[12][0-9]|3[01])[-./ ](?:19|20)[0-9]{2})(?![0-9])"
)
_NORTH_AMERICA = re.compile(
    r"(?:\+?1(?:[ .-]| ?\n {0,2})?)?(?:\([2-9][0-9]{2}\)(?:[ .-]| ?\n {0,2})?|[2-9][0-9]{2}(?:[ .-]| ?\n {0,2}))"
    r"[2-9][0-9]{2}(?:[ .-]| ?\n {0,2})[0-9]{4}"
)
_INTERNATIONAL = re.compile(
    r"(?:\+|00)[1-9][0-9]{0,2}\)?[ .\-/]{0,4}(?:\([0-9]{1,5}\)[ .\-/]{0,4})?[0-9](?:[ .\-/]{0,4}[0-9]){4,12}"
)
_TRUNK = re.compile(r"(?:\(0[1-9][0-9]{1,4}\)|0[1-9][0-9]{0,4})(?:[ .\-/]{1,3}[0-9]{2,8}){1,5}")
_TRUNK_REGIONS = ("GB", "DE", "FR", "IT", "NL", "AU", "CN", "JP", "KR", "IN", "TR", "CH", "AT", "BE", "SE", "BR")
# Shapes that say by themselves what they are: an area code in brackets, the Russian 8, pairs of digits
# at the end, the Chinese 400.
_AREA = re.compile(r"\([1-9][0-9]{1,3}\) ?[0-9]{3,5}(?:[ -][0-9]{2,4}){1,3}")
_AREA_REGIONS = ("BR", "PL", "RU", "MX", "AR", "CO", "ES", "PT")
_EIGHT = re.compile(r"8(?:[ -]\(?[0-9]{3}\)?[ -]|\([0-9]{3}\) ?)[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{2}")
_PAIRS = re.compile(r"[1-9][0-9]{1,2} [0-9]{2,3} [0-9]{2} [0-9]{2}")
_SERVICE = re.compile(r"[48]00-[0-9]{3}-[0-9]{4}")
# Behind words such as `phone:` a number needs no shape of its own.
_NAMED = re.compile(r"\(?[0-9]{1,5}\)?(?:[ .\-/]{0,2}\(?[0-9]{1,5}\)?){0,7}")
_NAMED_REGIONS = (
    "US", "GB", "DE", "FR", "ES", "IT", "PT", "BR", "PL", "RU", "CN", "IN", "JP", "KR", "MX", "AR", "CO", "TR", "NL",
    "AT", "CH", "BE", "SE", "NO", "DK", "FI", "CZ", "GR", "UA", "AU",
)  # fmt: skip
_FOURS = re.compile(r"[0-9]{4}[ -][0-9]{4}[ -][0-9]{4}(?![0-9])")
_FOUR_BEFORE = re.compile(r"(?<![0-9A-Za-z])[0-9A-Z]{4}[ -]\Z")
_CODE_BEFORE = re.compile(r"(?<![0-9A-Za-z])(?=[0-9]{0,8}[A-Z])(?=[A-Z]{0,8}[0-9])[0-9A-Z]{2,8} \Z")
_LOOK_BACK_CHARS = 48
_LONG_DIGITS = 10
_RUN = re.compile(r"[0-9 .\-/()+]*[0-9] \Z")
_STARTS = re.compile(r"(?<![0-9])[0-9(+]")
_OPENINGS = ("+", "(", "0", "1 (", "1-", "8-")


@cache
def _numbering_plans() -> Any | None:
    try:
        return import_module("phonenumbers")
    except ImportError:
        return None


def _in_plan(shown: str, regions: tuple[str | None, ...]) -> bool:
    """Whether the number is one that some region gives out; True where there is no metadata."""
    plans = _numbering_plans()
    if plans is None:
        return True
    for region in regions:
        try:
            number = plans.parse(shown, region)
        except plans.NumberParseException:
            continue
        if plans.is_valid_number(number):
            return True
    return False


def _is_international(shown: str, digits: str) -> bool:
    if not 8 <= len(digits.removeprefix("00")) <= 15 or _INTERNATIONAL.fullmatch(shown) is None:
        return False
    return _in_plan(shown if shown[0] == "+" else "+" + digits[2:], (None,))


def _is_trunk(shown: str, digits: str) -> bool:
    if not 9 <= len(digits) <= 12 or _TRUNK.fullmatch(shown) is None:
        return False
    return _in_plan(shown, _TRUNK_REGIONS)


def _is_shaped(shown: str, digits: str) -> bool:
    if _AREA.fullmatch(shown):
        return 9 <= len(digits) <= 11 and _in_plan(shown, _AREA_REGIONS)
    if _EIGHT.fullmatch(shown):
        return _in_plan(shown, ("RU",))
    if _PAIRS.fullmatch(shown):
        return len(digits) == 9 and _in_plan(shown, ("ES", "PL"))
    return _SERVICE.fullmatch(shown) is not None and _in_plan(shown, ("CN",))


def _is_named(shown: str, digits: str) -> bool:
    return 7 <= len(digits) <= 12 and _NAMED.fullmatch(shown) is not None and _in_plan(shown, _NAMED_REGIONS)


def _north_american(folded: str) -> int:
    """Return how long the North American number at the beginning is; 0 if there is none."""
    home = _NORTH_AMERICA.match(folded)
    if home is None or folded[home.end() : home.end() + 1].isdigit() or home.group().count("\n") > 1:
        return 0
    return home.end() if _in_plan(home.group().replace("\n", " "), ("US",)) else 0


def _inside(shown: str, before: str) -> bool:
    """Whether this is the rest of a long number of some other kind: groups of four, or groups with letters."""
    if _CODE_BEFORE.search(before):
        return True
    return _FOURS.match(shown) is not None and _FOUR_BEFORE.search(before) is not None


def _kinds(shown: str, before: str) -> Iterator[Callable[[str, str], bool]]:
    """Yield how what stands here may be a number."""
    if shown[0] == "+" or shown[:2] == "00":
        yield _is_international
        return
    announced = PHONE_WORDS.search(before) is not None
    if _DATE_LIKE.match(shown) or (not announced and (OTHER_WORDS.search(before) or _inside(shown, before))):
        return
    yield _is_trunk if re.match(r"\(?0[1-9]", shown) else _is_shaped
    if announced:
        yield _is_named


def _ends(folded: str) -> Iterator[str]:
    """Yield what may be the number, the likelier before the less likely.

    What one line holds is a number by itself; only one that says its country goes over lines, and over
    a second break only where what stands before that is too short. A cut behind which the next number
    would begin comes before one inside of a number, whichever is longer; one that leaves a long number
    comes before no cut at all.
    """
    shown = folded.replace("\n", " ")
    stops = [at for at, character in enumerate(folded) if character == "\n"] + [len(shown)]
    if folded[0] == "+":
        first, *others = stops
        long = [stop for stop in others if len(shown[:stop].translate(_DIGITS)) >= _LONG_DIGITS]
        stops = [first, *long, *(stop for stop in reversed(others) if stop not in long)]
    else:
        stops = stops[:1]
    for stop in stops:
        whole = shown[:stop].rstrip()
        cuts = list(prefixes(whole, " .-/()"))
        # What a hyphen joins is one number: it is cut at blanks only.
        shorter = [cut for cut in cuts[1:] if whole[len(cut)] in " ("]
        opened = [cut for cut in shorter if whole[len(cut) :].lstrip(" ").startswith(_OPENINGS)]
        yield from (cut for cut in opened if len(cut.translate(_DIGITS)) >= _LONG_DIGITS)
        yield from cuts[:1]
        yield from opened
        yield from shorter


def _check_phone(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Refuse what begins inside of a number that began before, in a row of numbers parted by blanks."""
    first = max(0, start - _LOOK_BACK_CHARS)
    run = _RUN.search(fold_number(text[first:start])) if text[start - 1 : start].isspace() else None
    at = start if run is None else first + run.start()
    while at < start:
        opening = _STARTS.search(text, at, start)
        if opening is None:
            break
        row = _PHONE.match(text, opening.start(), end)
        number = None if row is None else _number(text, *row.span())
        if number is not None and number[1] > start:
            return None
        at = opening.end() if number is None else number[1]
    return _number(text, start, end)


def _number(text: str, start: int, end: int) -> tuple[int, int] | None:
    folded = fold_number(text[start:end])
    if size := _north_american(folded):
        return start, start + size
    for is_phone in _kinds(folded.replace("\n", " "), text[max(0, start - _LOOK_BACK_CHARS) : start]):
        for shown in _ends(folded):
            digits = shown.translate(_DIGITS)
            if len(digits) >= 7 and len(set(digits)) > 2 and is_phone(shown, digits):
                return start, start + len(shown)
    return None


def phone_rules() -> tuple[Rule, ...]:
    """Return the rule for phone numbers.

    International, North American, with a trunk zero, in a few shapes that are used for nothing else,
    or behind words such as `phone:` in one of many languages. Where `phonenumbers` is installed (extra
    `phone`) the number must be one that some region gives out. A bare run of digits is a phone number
    behind such words only, so order numbers are left alone.
    """
    return (Rule("phone", "phone", _PHONE, _check_phone, gate=DIGIT_GATE, score=0.75),)
