"""The rule for values that a name beside them calls secret."""

from __future__ import annotations

import math
import re
from collections import Counter

import regex

from sluiceway.processors.detectors._rule import Rule, opens_with

__all__ = ["named_secret_rule"]

_NAMES = (
    "access key", "access token", "access_key", "access_token", "accesstoken", "accountkey",
    "api key", "api token",
    "api_key", "api_secret", "api_token", "apikey", "auth", "auth token", "auth_token", "authtoken",
    "bearer", "client secret",
    "client_secret", "clientsecret", "credential", "encryption key", "encryption_key", "passphrase",
    "passwd", "password",
    "private_key", "pwd", "refresh_token", "secret", "secret access key", "secret key",
    "secret_access_key", "secret_key",
    "secretkey", "session_token", "signing key", "signing_key", "token", "webhook_secret",
    # German, French, Spanish, Portuguese, Italian, Dutch, Polish, Turkish
    "api-schlüssel", "api schlüssel", "kennwort", "passwort", "schlüssel", "zugangsschlüssel",
    "clé", "clef", "cle_api", "jeton", "mot de passe",
    "clave", "clave_api", "contraseña", "chave", "chave_api", "senha", "chiave", "chiave_api",
    "sleutel", "wachtwoord", "hasło", "klucz", "anahtar", "anahtarı", "şifre",
    # Russian, Ukrainian, Chinese, Japanese, Korean, Hindi, Arabic
    "ключ", "пароль", "токен", "секрет", "密钥", "密鑰", "秘钥", "令牌", "密码", "密碼", "口令",
    "キー", "トークン", "パスワード",
    "シークレット", "키", "토큰", "비밀번호", "시크릿", "कुंजी", "टोकन", "पासवर्ड", "مفتاح", "رمز",
)  # fmt: skip
_SPELT = sorted({*_NAMES, *(name.replace("_", "-") for name in _NAMES)}, key=lambda name: (-len(name), name))
_NAME = rf"(?i:{'|'.join(map(regex.escape, _SPELT))})"
_VALUE = r"[\w.~+/=-]{12,512}+"
_IS = r"(?:[:=\uff1a]|=>|:=|->|(?<=[ \t\"'`])(?:is|ist|lautet|est|es|é|è|to|jest|это)(?=[ \t])|是|为|為|は|が|는|은)"
_WORDS = r"(?:[ \t]{1,3}(?:[^\W\d_]{1,3}['’])?[^\W\d_]{1,16}){0,5}"
# A name, perhaps some words, what says that a value follows, the value; or a name and the value.
_NAMED = regex.compile(
    rf"(?<![0-9A-Za-z]){_NAME}(?:[\"'`]?(?:{_WORDS}[ \t]{{0,3}}{_IS}[ \t\"'`]{{0,4}})|[ \t]{{1,3}}[\"'`]?)({_VALUE})",
)
_GATE = opens_with(_SPELT, flags=re.IGNORECASE)
_WORDY = re.compile(r"[a-z]{4,}(?:[-_./][a-z]{3,})+")
_SIGNED = re.compile(r"(?:[:=\uff1a>是为為はが는은][ \t\"'`]*|(?i:bearer)[ \t]{1,3})\Z")

_SAID = re.compile(r"(?i)[ \t](?:is|ist|lautet|est|es|é|è|to|jest|это)[ \t\"'`]+\Z")


def _bits(value: str) -> float:
    counts = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts)


def _is_random(value: str, *, sure: bool) -> bool:
    """Whether a value looks made by a machine: letters and digits, not the same few; if unsure, much more so."""
    digits, letters = sum(c.isdigit() for c in value), sum(c.isalpha() for c in value)
    if len(value) < 12 or not digits or not letters or not value.isascii():
        return False
    if sure:
        return _bits(value) >= 2.8
    mixed = any(c.islower() for c in value) and any(c.isupper() for c in value)
    long_enough = len(value) >= (20 if mixed else 32)
    return long_enough and _bits(value) >= 3.4 and _WORDY.search(value) is None


def _check_named(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Narrow to the value."""
    match = _NAMED.match(text, start, end)
    if match is None:
        return None
    begin, stop = match.span(1)
    value = text[begin:stop]
    # With `a=b` the sign itself is of the value's characters.
    sure = _SIGNED.search(text, start, begin) is not None
    said = not sure and _SAID.search(text, start, begin) is not None
    head, sign, rest = value.partition("=")
    if sign and rest.strip("=") and head.isidentifier():
        begin, value, sure = stop - len(rest), rest, True
    value = value.rstrip(".")
    fine = _is_random(value, sure=sure or said) and not (said and _WORDY.search(value))
    return (begin, begin + len(value)) if fine else None


def named_secret_rule() -> Rule:
    """Return the rule for values behind names such as `api_key=` or `the token is`, in many languages."""
    return Rule("api-key", "named-secret", _NAMED, _check_named, gate=_GATE, score=0.7)
