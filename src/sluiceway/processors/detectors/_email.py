"""The rule for e-mail addresses."""

from __future__ import annotations

import re

import regex

from sluiceway.processors.detectors._rule import Rule
from sluiceway.processors.detectors._written import JOINED

__all__ = ["email_rules"]

# Letters of scripts that part their words, and digits. Of the others, such as Chinese, a text goes
# right up to an address and on behind it, so that no part of one may be of both.
_LETTERS = (
    "0-9A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02c1\u0300-\u0374\u0376-\u037d\u0386\u0388-\u0481\u0483-\u0556"
    "\u0560-\u0588\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7-\u05f2\u0610-\u061a\u0620-\u0669\u066e-\u06d3"
    "\u06d5-\u06fc\u0900-\u0963\u0966-\u0d7f\u10a0-\u10fa\u10fc-\u10ff\u1200-\u1360\u1e00-\u1fff\u2c60-\u2c7f"
)
_SIGNS = r".+%'\-"
_DOMAIN = rf"(?:(?!_)[{_LETTERS}](?:[{_LETTERS}\-]{{0,62}})|[{JOINED}]{{1,63}})\."
_LABEL = rf"(?:[{_LETTERS}\-]{{1,63}}|[{JOINED}]{{1,63}})"
_LAST = rf"(?:xn--[a-z0-9-]{{2,59}}|[A-Za-z]{{2,24}}+|(?:(?![\x00-\x7f])[{_LETTERS}]){{2,24}}+)"
# Local parts of up to 95 characters (64 are allowed), up to 8 labels, the last one of letters.
# A star is left out on purpose: a masked address must not be found again. What goes on with
# another `@` is two addresses run together, and taken out as one.
_EMAIL = regex.compile(
    rf"(?:(?<![{_LETTERS}{_SIGNS}])[{_LETTERS}{_SIGNS}]{{1,95}}+@{_DOMAIN}(?:{_LABEL}\.){{0,7}}{_LAST}"
    rf"|(?<![{_LETTERS}{_SIGNS}{JOINED}])[{JOINED}]{{1,64}}+@{_DOMAIN}(?:{_LABEL}\.){{0,7}}(?:{_LAST}|[{JOINED}]{{2,24}}+))"
    rf"(?:@[{_LETTERS}\-]{{1,63}}+(?:\.[{_LETTERS}\-]{{1,63}}){{0,8}}+){{0,4}}+"
)
_EMAIL_GATE = re.compile(
    rf"(?:(?<![{_LETTERS}{_SIGNS}])[{_LETTERS}{_SIGNS}]{{1,95}}+|(?<![{_LETTERS}{_SIGNS}{JOINED}])[{JOINED}]{{1,64}}+)"
    r"(?:@|\Z)"
)
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
