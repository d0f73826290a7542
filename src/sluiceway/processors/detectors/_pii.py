"""The catalogue of personal data that rules can find."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import regex

from sluiceway.processors.detectors._custom import custom_rule
from sluiceway.processors.detectors._email import email_rules
from sluiceway.processors.detectors._network import ip_rules, url_rules, uuid_rules
from sluiceway.processors.detectors._numbers import card_rules, iban_rules, ssn_rules
from sluiceway.processors.detectors._phone import phone_rules
from sluiceway.processors.detectors._port import Detection, Span
from sluiceway.processors.detectors._rule import Rule, find
from sluiceway.processors.detectors._secrets import api_key_rules
from sluiceway.processors.detectors._wallets import wallet_rules

__all__ = ["PII_MODEL_TYPES", "PII_RULE_TYPES", "PIIRules", "pii_rules"]

PII_RULE_TYPES: tuple[str, ...] = (
    "email",
    "phone",
    "credit-card",
    "ssn",
    "api-key",
    "ip-address",
    "url",
    "uuid",
    "crypto-wallet",
    "iban",
)
"""The types that rules can find."""

PII_MODEL_TYPES: tuple[str, ...] = ("name", "address", "date-of-birth")
"""The types that need a model or a recogniser of names."""


def _families(*, checksums: bool) -> dict[str, tuple[Rule, ...]]:
    return {
        "email": email_rules(),
        "phone": phone_rules(),
        "credit-card": card_rules(checksums=checksums),
        "ssn": ssn_rules(),
        "api-key": api_key_rules(),
        "ip-address": ip_rules(),
        "url": url_rules(),
        "uuid": uuid_rules(),
        "crypto-wallet": wallet_rules(checksums=checksums),
        "iban": iban_rules(checksums=checksums),
    }


def pii_rules(types: Sequence[str] = PII_RULE_TYPES, *, checksums: bool = True) -> tuple[Rule, ...]:
    """Return the rules for some of `PII_RULE_TYPES`.

    Args:
        types: Which of them.
        checksums: Whether check digits must be right.
    """
    families = _families(checksums=checksums)
    return tuple(rule for type_ in types for rule in families[type_])


class PIIRules:
    """Finds personal data by rules: offline, the same answer every time. Safe to share.

    Args:
        types: Which of `PII_RULE_TYPES` to look for.
        custom: Further types: a pattern of the module `regex`, or a list of words.
        checksums: Whether check digits of cards, accounts and wallets must be right.
        threshold: Rules less sure than this are left out; from 0 to 1.

    Raises:
        ConfigurationError: A custom pattern that is not valid or cannot be used on a stream.
    """

    __slots__ = ("rules",)

    def __init__(
        self,
        types: Sequence[str] = PII_RULE_TYPES,
        *,
        custom: Mapping[str, str | regex.Pattern[str] | re.Pattern[str] | Sequence[str]] | None = None,
        checksums: bool = True,
        threshold: float = 0.0,
    ) -> None:
        rules = [rule for rule in pii_rules(types, checksums=checksums) if rule.score >= threshold]
        for name, definition in (custom or {}).items():
            rules.append(custom_rule(name, definition, option="detection_types"))
        self.rules: tuple[Rule, ...] = tuple(rules)

    def find(self, text: str) -> tuple[Span, ...]:
        """Return what is in `text`, in text order; spans of two rules may overlap.

        Raises:
            TimeoutError: A custom pattern took longer than its limit.
        """
        return find(self.rules, text)

    def profile(self, text: str) -> dict[str, float]:
        """Return how many seconds each rule takes for `text`."""
        taken: dict[str, float] = {}
        for rule in self.rules:
            began = perf_counter()
            find((rule,), text)
            taken[rule.name] = perf_counter() - began
        return taken

    async def detect(self, text: str, ctx: Any) -> Detection:  # noqa: ARG002 - the port's
        """Return what is in `text`; see `find`."""
        return Detection.of(self.find(text))
