"""Rules for addresses of crypto-currency wallets."""

from __future__ import annotations

import re

import regex

from sluiceway.processors.detectors._checksums import base58_size, base58check, bech32
from sluiceway.processors.detectors._rule import Check, Rule, opens_with

__all__ = ["wallet_rules"]

_BASE58 = "[1-9A-HJ-NP-Za-km-z]"
_HASHED = regex.compile(rf"(?<![0-9A-Za-z])[13LMDTr]{_BASE58}{{24,34}}(?![0-9A-Za-z])")
# The first five characters tell such an address from nearly every word and number.
_HASHED_GATE = re.compile(r"(?<![0-9A-Za-z])[13LMDTr](?:[1-9A-HJ-NP-Za-km-z]{24}|[1-9A-HJ-NP-Za-km-z]{0,23}\Z)")
_KEYED = regex.compile(rf"(?<![0-9A-Za-z]){_BASE58}{{43,44}}(?![0-9A-Za-z])")
_KEYED_GATE = re.compile(r"(?<![0-9A-Za-z])(?:[1-9A-HJ-NP-Za-km-z]{43}|[1-9A-HJ-NP-Za-km-z]{0,42}\Z)")
_SEGWIT = regex.compile(r"(?<![0-9A-Za-z])(?i:bc1|ltc1|tb1|addr1)[0-9A-Za-z]{8,110}+(?![0-9A-Za-z])")
_SEGWIT_GATE = opens_with(["bc1", "ltc1", "tb1", "addr1"], flags=re.IGNORECASE | re.ASCII)
_PLAIN = regex.compile(rf"(?<![0-9A-Za-z])(?:0x[0-9A-Fa-f]{{40}}|[48]{_BASE58}{{94}})(?![0-9A-Za-z])")
_PLAIN_GATE = re.compile(r"(?<![0-9A-Za-z])(?:0(?:x|\Z)|[48](?:[1-9A-HJ-NP-Za-km-z]{94}|[1-9A-HJ-NP-Za-km-z]{0,93}\Z))")


def _hashed(text: str, start: int, end: int) -> tuple[int, int] | None:
    return (start, end) if base58check(text[start:end], ripple=text[start] == "r") else None


def _keyed(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Whether it is a key of 32 bytes; there is no checksum in it."""
    shown = text[start:end]
    looks_random = any(map(str.isdigit, shown)) and any(map(str.isupper, shown)) and any(map(str.islower, shown))
    return (start, end) if looks_random and base58_size(shown) == 32 else None


def _segwit(text: str, start: int, end: int) -> tuple[int, int] | None:
    return (start, end) if bech32(text[start:end]) else None


def wallet_rules(*, checksums: bool) -> tuple[Rule, ...]:
    """Return the rules for Bitcoin, Litecoin, Dogecoin, Tron, Ripple, Cardano, Ethereum, Monero and Solana."""
    hashed: Check | None = _hashed if checksums else None
    segwit: Check | None = _segwit if checksums else None
    score = 0.95 if checksums else 0.6
    return (
        Rule("crypto-wallet", "base58-address", _HASHED, hashed, gate=_HASHED_GATE, score=score),
        Rule("crypto-wallet", "base58-key", _KEYED, _keyed, gate=_KEYED_GATE, score=0.7),
        Rule("crypto-wallet", "bech32-address", _SEGWIT, segwit, gate=_SEGWIT_GATE, score=score),
        Rule("crypto-wallet", "hex-address", _PLAIN, gate=_PLAIN_GATE, score=0.85),
    )
