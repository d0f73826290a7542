"""Rules for network names: IP addresses, URLs, UUIDs."""

from __future__ import annotations

import ipaddress
import re

import regex

from sluiceway.processors.detectors._rule import Rule, opens_with
from sluiceway.processors.detectors._written import DIGIT_GATE

__all__ = ["ip_rules", "url_rules", "uuid_rules"]

_IPV4 = regex.compile(r"(?<![\w.*])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![0-9]|\.[0-9]|[^\W_])")
_VERSION_WORDS = re.compile(r"(?i)\b(?:version|release|build|section|chapter|rev|firmware|ver)[ .:]{1,2}\Z")


def _check_ipv4(text: str, start: int, end: int) -> tuple[int, int] | None:
    if any(int(part) > 255 for part in text[start:end].split(".")):
        return None
    return None if _VERSION_WORDS.search(text, max(0, start - 24), start) else (start, end)


_IPV6 = regex.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,39}+(?:\.[0-9]{1,3}){0,3}+(?![\w])")
_IPV6_GATE = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::|\Z)")
_LONG_GROUP = re.compile(r"[0-9A-Fa-f]{3}")


def _check_ipv6(text: str, start: int, end: int) -> tuple[int, int] | None:
    shown = text[start:end]
    if shown.endswith(":") and not shown.endswith("::"):
        end -= 1
        shown = shown[:-1]
    # `1::2` is a slice and `12:34:56` a time more often than an address.
    if shown.count(":") < 3 and not _LONG_GROUP.search(shown):
        return None
    if not any(character.isdigit() for character in shown):
        return None
    try:
        ipaddress.IPv6Address(shown)
    except ValueError:
        return None
    return start, end


def ip_rules() -> tuple[Rule, ...]:
    """Return the rules for IPv4 and IPv6 addresses; version numbers are left alone where a word says so."""
    return (
        Rule("ip-address", "ipv4", _IPV4, _check_ipv4, gate=DIGIT_GATE, needs=".", score=0.8),
        Rule("ip-address", "ipv6", _IPV6, _check_ipv6, gate=_IPV6_GATE, needs=":", score=0.9),
    )


_URL = regex.compile(
    r"(?<![0-9A-Za-z+.-])(?:(?i:https?|ftps?|sftp|wss?|ssh|git)://[\w\[]|(?i:www)\.[^\W_][\w-]{0,62}\.[^\W_])"
    r"[^\s<>\"`{}|\\^]{0,2000}+"
)
_URL_GATE = opens_with(
    ["http://", "https://", "ftp://", "ftps://", "sftp://", "ws://", "wss://", "ssh://", "git://", "www."],
    edge=r"(?<![0-9A-Za-z+.-])",
    flags=re.IGNORECASE | re.ASCII,
)
_TRAILING = ".,;:!?'*_~"
_PAIRS = {")": "(", "]": "["}


def _check_url(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Leave off the punctuation of the sentence around it."""
    shown = text[start:end]
    while shown:
        last = shown[-1]
        opener = _PAIRS.get(last)
        if last in _TRAILING or (opener is not None and shown.count(last) > shown.count(opener)):
            shown = shown[:-1]
        else:
            break
    return start, start + len(shown)


def url_rules() -> tuple[Rule, ...]:
    """Return the rule for URLs with a scheme in common use, or beginning with `www.`."""
    return (Rule("url", "url", _URL, _check_url, gate=_URL_GATE, score=0.9),)


_UUID = regex.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Za-z])")
_UUID_GATE = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{1,8}+(?:(?<=[0-9A-Fa-f]{8})-|\Z)")


def uuid_rules() -> tuple[Rule, ...]:
    """Return the rule for UUIDs in their usual form with hyphens (RFC 9562)."""
    return (Rule("uuid", "uuid", _UUID, gate=_UUID_GATE, score=0.9),)
