"""Rules for credentials: keys and tokens of common services, and named secrets."""

from __future__ import annotations

import math
import re
from collections import Counter

import regex

from sluiceway.processors.detectors._rule import Rule, opens_with

__all__ = ["api_key_rules"]

# Name, what it begins with, and the rest. Lengths are bounded, so that a stream can hold them.
_KEYS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("aws_access_key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z2-7]{16}(?![0-9A-Za-z])"),
    ("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[0-9A-Za-z]{30,255}+"),
    ("github_fine_grained", ("github_pat_",), r"\w{22,255}+"),
    ("gitlab_token", ("glpat-", "gldt-", "glrt-"), r"[\w-]{20,255}+"),
    ("anthropic_key", ("sk-ant-",), r"[\w-]{20,255}+"),
    ("openrouter_key", ("sk-or-",), r"[\w-]{20,255}+"),
    ("openai_key", ("sk-",), r"(?=[\w-]{0,40}[0-9])[\w-]{20,255}+"),
    ("stripe_key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_"), r"[0-9A-Za-z]{10,255}+"),
    ("stripe_webhook", ("whsec_",), r"[0-9A-Za-z]{24,255}+"),
    ("slack_token", ("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"), r"[0-9A-Za-z-]{10,255}+"),
    ("slack_webhook", ("https://hooks.slack.com/",), r"(?:services|workflows)/[\w/]{20,120}+"),
    ("google_api_key", ("AIza",), r"[\w-]{35}(?![\w-])"),
    ("google_oauth", ("ya29.", "GOCSPX-"), r"[\w-]{20,500}+"),
    ("twilio_key", ("AC", "SK"), r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("sendgrid_key", ("SG.",), r"[\w-]{16,32}\.[\w-]{16,64}+"),
    ("mailgun_key", ("key-",), r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("npm_token", ("npm_",), r"[0-9A-Za-z]{36}(?![0-9A-Za-z])"),
    ("pypi_token", ("pypi-",), r"[\w-]{50,255}+"),
    ("huggingface_token", ("hf_",), r"[0-9A-Za-z]{30,40}(?![0-9A-Za-z])"),
    ("digitalocean_token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{64}(?![0-9A-Za-z])"),
    ("shopify_token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[0-9A-Fa-f]{32}(?![0-9A-Za-z])"),
    ("databricks_token", ("dapi",), r"[0-9a-f]{32}(?:-[0-9])?(?![0-9A-Za-z])"),
    ("docker_token", ("dckr_pat_",), r"[\w-]{27}(?![\w-])"),
    ("linear_key", ("lin_api_",), r"[0-9A-Za-z]{40}(?![0-9A-Za-z])"),
    ("notion_token", ("ntn_", "secret_"), r"[0-9A-Za-z]{43,50}(?![0-9A-Za-z])"),
    ("groq_key", ("gsk_",), r"[0-9A-Za-z]{32,64}+"),
    ("json_web_token", ("eyJ",), r"[\w-]{8,2000}+\.eyJ[\w-]{8,4000}+\.[\w-]{10,1000}+"),
    (
        "private_key",
        ("-----BEGIN ",),
        r"[A-Z0-9 ]{0,30}PRIVATE KEY-----[0-9A-Za-z+/=\s]{0,8000}+(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY-----)?+",
    ),
)


def _pattern() -> regex.Pattern[str]:
    arms: list[str] = []
    for name, openings, rest in _KEYS:
        arms.append(rf"(?P<{name}>(?:{'|'.join(map(regex.escape, openings))}){rest})")
    return regex.compile(rf"(?<![0-9A-Za-z])(?:{'|'.join(arms)})")


_KNOWN = _pattern()
_KNOWN_GATE = opens_with([opening for _, openings, _ in _KEYS for opening in openings])

# A name that says "secret", then `:` or `=`, then a value without blanks.
_NAMES = (
    "api_key", "api-key", "apikey", "api key", "secret_key", "secret-key", "secretkey", "secret", "access_token",
    "access-token", "access token", "accesstoken", "auth_token", "auth-token", "authtoken", "client_secret",
    "client-secret", "clientsecret", "private_key", "password", "passwd", "pwd", "accountkey", "token", "bearer",
)  # fmt: skip
_NAMED = regex.compile(
    rf"(?<![0-9A-Za-z])(?i:{'|'.join(map(regex.escape, sorted(_NAMES, key=len, reverse=True)))})"
    r"[\"']?(?:[ \t]{0,3}(?:[:=]|=>|:=)[ \t]{0,3}|(?i:(?<=bearer))[ \t]{1,3})[\"'`]?[\w.~+/=-]{12,512}+"
)
_NAMED_GATE = opens_with(_NAMES, flags=re.IGNORECASE | re.ASCII)
_VALUE = re.compile(r"[\w.~+/=-]+\Z")


def _check_named(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Narrow to the value, which must look random: letters and digits, not the same few."""
    match = _VALUE.search(text, start, end)
    if match is None:
        return None
    # With `a=b` the sign itself is of the value's characters.
    head = text[start : match.start()]
    value = match.group()
    if not head.rstrip(" \t\"'`").endswith((":", "=", ">")) and "=" in value:
        value = value.partition("=")[2].lstrip(">")
    value = value.rstrip(".")
    if len(value) < 12 or not any(c.isdigit() for c in value) or not any(c.isalpha() for c in value):
        return None
    counts = Counter(value).values()
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts)
    if bits < 2.8:
        return None
    begin = text.rindex(value, start, end)
    return begin, begin + len(value)


def api_key_rules() -> tuple[Rule, ...]:
    """Return the rules for keys of common services, and for values that a name calls secret."""
    return (
        Rule("api-key", "known-key", _KNOWN, gate=_KNOWN_GATE, score=0.95),
        Rule("api-key", "named-secret", _NAMED, _check_named, gate=_NAMED_GATE, score=0.7),
    )
