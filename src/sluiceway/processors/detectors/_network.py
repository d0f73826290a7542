"""Rules for network names: IP addresses, URLs, UUIDs."""

from __future__ import annotations

import ipaddress
import re

import regex

from sluiceway.processors.detectors._rule import Rule, opens_with
from sluiceway.processors.detectors._written import DIGIT_GATE, JOINED, WORD

__all__ = ["ip_rules", "url_rules", "uuid_rules"]

_IPV4 = regex.compile(rf"(?<!{WORD}|[_.*])[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}(?![0-9]|\.[0-9]|{WORD})")
_VERSION_WORDS = re.compile(
    r"(?i)(?:\bv\.?|\b(?:versions?|versi[oóò]n|vers[aã]o|versie|wersj\w|sürüm\w{0,3}|releases?|build|section|chapter|rev|firmware|ver"
    r"|upgrade|update)|верси\w{1,3}|バージョン|版本|버전|الإصدار|संस्करण)[^\w\n]{0,3}\Z"
)
# Four small numbers are a version more often than an address, unless the text speaks of addresses.
_NAME_SERVERS = frozenset(("1.0.0.1", "1.1.1.1", "4.2.2.1", "4.2.2.2", "4.4.4.4", "8.8.4.4", "8.8.8.8", "9.9.9.9"))
_NETWORK_WORDS = re.compile(
    r"(?i)(?:\b(?:ipv?4?|hosts?|server|addr(?:ess)?|adresse?|direcci[oó]n|indirizzo|endereço|adres|ping|ssh|dns|gateway|router|from|peer"
    r"|client|remote|source|src|dst|node|proxy|login)|адрес\w{0,2}|сервер\w{0,2}|アドレス|サーバー|地址|服务器|来自|주소|서버|عنوان|पता|सर्वर"
    r"|[@/\[]|://)[^\d\n]{0,16}\Z"
)


def _check_ipv4(text: str, start: int, end: int) -> tuple[int, int] | None:
    shown = text[start:end]
    parts = [int(part) for part in shown.split(".")]
    if max(parts) > 255 or _VERSION_WORDS.search(text, max(0, start - 24), start):
        return None
    small = parts[0] < 20 and parts[0] != 10 and max(parts[1:3]) < 16
    if small and shown not in _NAME_SERVERS and any(parts[:3]):
        return (start, end) if _NETWORK_WORDS.search(text, max(0, start - 32), start) else None
    return start, end


_IPV6 = regex.compile(
    rf"(?<!{WORD}|[_:.])[0-9A-Fa-f]{{0,4}}:[0-9A-Fa-f:]{{1,39}}+(?:\.[0-9]{{1,3}}){{0,3}}+(?!{WORD}|_)"
)
_IPV6_GATE = re.compile(rf"(?<!{WORD})(?<![_:.])[0-9A-Fa-f]{{0,4}}(?::|\Z)")
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


_SCHEMES = (
    "amqp", "amqps", "clickhouse", "ftp", "ftps", "git", "git+ssh", "http", "https", "imap", "imaps", "irc", "ldap",
    "ldaps", "mariadb", "mongodb", "mongodb+srv", "mqtt", "mqtts", "mssql", "mysql", "nats", "oracle", "postgres",
    "postgresql", "redis", "rediss", "rtmp", "rtsp", "s3", "sftp", "smtp", "smtps", "sqlserver", "ssh", "telnet",
    "tcp", "ws", "wss",
)  # fmt: skip
_FULL_SIGNS = "\u3000-\u3004\u3008-\u3020\uff01-\uff0f\uff1a-\uff1f\uff3b-\uff3d\uff5b-\uff65"
_URL = regex.compile(
    rf"(?<![0-9A-Za-z+.-])(?:(?i:{'|'.join(map(regex.escape, _SCHEMES))})://[\w:\[]|(?i:www)\.[^\W_][\w-]{{0,62}}\.[^\W_])"
    # What is written without blanks goes on right behind a link: its letters are of it only where one
    # of its steps or values begins with them, and its punctuation never.
    rf"(?:[^\s<>\"`{{}}|\\^{_FULL_SIGNS}{JOINED}]|(?<=[/=&?#+_\-][{JOINED}]{{0,50}})[{JOINED}]){{0,2000}}+"
)
_URL_GATE = opens_with(
    [*(f"{scheme}://" for scheme in _SCHEMES), "www."],
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
