"""Rules for e-mail addresses and phone numbers."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

import regex

from sluiceway.processors.detectors._rule import Rule
from sluiceway.processors.detectors._written import BEFORE, BLANK, DIGIT_GATE, HYPHEN, fold_number, prefixes

__all__ = ["email_rules", "phone_rules"]

# Local parts of up to 95 characters (64 are allowed), up to 8 labels, the last one of letters.
# A star is left out on purpose: a masked address must not be found again. What goes on with
# another `@` is two addresses run together, and taken out as one.
_EMAIL = regex.compile(
    r"(?<![\w.+%'-])[\w.+%'-]{1,95}+@"
    r"[^\W_](?:[\w-]{0,62}\.(?:[\w-]{1,63}\.){0,7}(?:xn--[a-z0-9-]{2,59}|\p{L}{2,24}+))"
    r"(?:@[\w-]{1,63}+(?:\.[\w-]{1,63}){0,8}+){0,4}+"
)
_EMAIL_GATE = re.compile(r"(?<![\w.+%'-])[\w.+%'-]{1,95}+(?:@|\Z)")
_FILE_ENDS = frozenset(
    ("css", "gif", "html", "jpeg", "jpg", "js", "json", "pdf", "png", "svg", "txt", "webp", "xml", "yaml")
)


def _check_email(text: str, start: int, end: int) -> tuple[int, int] | None:
    while text[start] in "'.-":
        start += 1
    at = text.find("@", start, end)
    if at <= start:
        return None
    # `logo@2x.png` is a file, no address.
    last = text[text.rfind(".", at, end) + 1 : end].lower()
    return None if last in _FILE_ENDS else (start, end)


def email_rules() -> tuple[Rule, ...]:
    """Return the rule for addresses such as `ann@example.org`; letters of any script."""
    return (Rule("email", "email", _EMAIL, _check_email, gate=_EMAIL_GATE, needs="@", score=0.95),)


_JOINTS = rf"[{BLANK}{HYPHEN}./()\uff0e\uff0f\uff08\uff09]"
_PHONE = regex.compile(
    rf"{BEFORE}(?<!\d/|(?<!\d)\d{{1,3}}\.|[\w)][{HYPHEN}])"
    # A country, a trunk zero, or an area code: so that a run of lone digits costs nothing.
    rf"(?=[+(\uff0b\uff08]|[0\uff10]\d|\d{{3}}|\d{_JOINTS}{{1,2}}\d{{3}})"
    rf"[+(\uff0b\uff08]?\d(?:{_JOINTS}{{0,3}}(?:\r?\n[{BLANK}]{{0,2}})?\d){{6,14}}(?![\d_]|[/{HYPHEN}]\d)"
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
_TRUNK_HEAD = re.compile(r"\(?0[1-9]")
_TRUNK_REGIONS = ("GB", "DE", "FR", "IT", "NL", "AU")


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


def _check_phone(text: str, start: int, end: int) -> tuple[int, int] | None:
    folded = fold_number(text[start:end])
    shown = folded.replace("\n", " ")
    home = _NORTH_AMERICA.match(folded)
    if home is not None and not shown[home.end() : home.end() + 1].isdigit() and home.group().count("\n") < 2:
        return (start, start + home.end()) if _in_plan(shown[: home.end()], ("US",)) else None
    opening = shown[:2]
    if opening[0] == "+" or opening == "00":
        is_phone = _is_international
    elif _TRUNK_HEAD.match(shown):
        if _DATE_LIKE.match(shown):
            return None
        is_phone = _is_trunk
    else:
        return None
    line = folded.find("\n")
    # What one line holds is a number by itself; only one that says its country goes over lines.
    ends = [len(shown)] if line < 0 else [line, len(shown)] if opening[0] == "+" else [line]
    for stop in ends:
        for prefix in prefixes(shown[:stop].rstrip(), " .-/()"):
            digits = prefix.translate(_DIGITS)
            if len(digits) < 8:
                break
            if len(set(digits)) > 2 and is_phone(prefix, digits):
                return start, start + len(prefix)
    return None


def phone_rules() -> tuple[Rule, ...]:
    """Return the rule for phone numbers: international, North American, or with a trunk zero.

    Where `phonenumbers` is installed (extra `phone`) the number must be one that some region
    gives out. A bare run of digits is never a phone number, so order numbers are left alone.
    """
    return (Rule("phone", "phone", _PHONE, _check_phone, gate=DIGIT_GATE, score=0.75),)
