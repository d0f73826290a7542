"""What stands in the place of a finding."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from sluiceway.processors.detectors._overlap import Finding

__all__ = ["REDACTION_METHODS", "RedactionMethod", "placeholder_of", "replacement"]

RedactionMethod: TypeAlias = Literal["mask", "hash", "remove", "placeholder"]
"""What is put in the place of a finding."""
REDACTION_METHODS: tuple[RedactionMethod, ...] = ("mask", "hash", "remove", "placeholder")
"""The methods, for a check of an option."""

_KEPT = 4
_WORD = re.compile(r"[^\W_]")


def replacement(
    finding: Finding,
    value: str,
    *,
    method: RedactionMethod = "mask",
    preserve_format: bool = True,
    hash_key: bytes | None = None,
) -> str:
    """Return what stands in the place of a finding.

    Args:
        finding: What was found.
        value: The text of its range.
        method: `mask` keeps a little of the value (see `mask` below), `hash` is
            `[HASH:<first 8 hex digits of SHA-256>]`, `remove` nothing, `placeholder` `[EMAIL]`.
        preserve_format: Whether a mask keeps length and separators of the value.
        hash_key: A key turns the hash into an HMAC, so that values cannot be guessed from it.
    """
    if method == "remove":
        return ""
    if method == "placeholder":
        return placeholder_of(finding.type)
    if method == "hash":
        raw = value.encode("utf-8", "surrogatepass")
        digest = hmac.new(hash_key, raw, hashlib.sha256) if hash_key else hashlib.sha256(raw)
        return f"[HASH:{digest.hexdigest()[:8]}]"
    # Of a range that several rules share, the mask of one could show what another hides.
    mask = _MASKS.get(finding.type) if finding.whole else None
    if mask is None:
        return _stars(value, preserve_format)
    return mask(value, preserve_format)


def placeholder_of(type_: str) -> str:
    """Return `[CREDIT_CARD]` for `credit-card`.

    Args:
        type_: A detection type.
    """
    return f"[{type_.upper().replace('-', '_')}]"


def _stars(value: str, preserve_format: bool) -> str:
    return _WORD.sub("*", value) if preserve_format else "***"


def _last_digits(value: str, preserve_format: bool) -> str:
    """`**** **** **** 1111`: the last four digits and the shape."""
    digits = sum(c.isdigit() for c in value)
    if digits <= _KEPT:
        return _stars(value, preserve_format)
    if not preserve_format:
        return "***" + "".join(c for c in value if c.isdigit())[-_KEPT:]
    shown: list[str] = []
    for character in value:
        if character.isdigit():
            shown.append(character if digits <= _KEPT else "*")
            digits -= 1
        else:
            shown.append(character)
    return "".join(shown)


def _email(value: str, preserve_format: bool) -> str:
    """`a*n@*******.org`: first and last letter of the local part, all but the first domain label."""
    local, _, domain = value.rpartition("@")
    first, dot, rest = domain.partition(".")
    stars = "*" * len(first) if preserve_format else "***"
    if len(local) <= 2:
        kept = "*" * len(local) if preserve_format else "***"
    else:
        kept = f"{local[0]}{'*' * (len(local) - 2) if preserve_format else '***'}{local[-1]}"
    return f"{kept}@{stars}{dot}{rest}"


def _iban(value: str, preserve_format: bool) -> str:
    """`DE** **** **** **** **30 00`: the country and the last four characters."""
    if not preserve_format:
        return f"{value[:2]}***{''.join(c for c in value if c.isalnum())[-_KEPT:]}"
    hidden = sum(c.isalnum() for c in value) - _KEPT
    shown: list[str] = []
    for index, character in enumerate(value):
        if not character.isalnum():
            shown.append(character)
            continue
        hidden -= 1
        shown.append(character if index < 2 or hidden < 0 else "*")
    return "".join(shown)


def _url(value: str, preserve_format: bool) -> str:  # noqa: ARG001 - all masks have one shape
    """`https://***`: the scheme; host, path and query may all tell who it is about."""
    scheme, separator, _ = value.partition("://")
    return f"{scheme}{separator}***" if separator else "***"


_MASKS: dict[str, Callable[[str, bool], str]] = {
    "credit-card": _last_digits,
    "ssn": _last_digits,
    "phone": _last_digits,
    "email": _email,
    "iban": _iban,
    "url": _url,
}
