"""Checksums of card numbers, bank accounts and wallet addresses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

__all__ = ["base58_size", "base58check", "bech32", "iban_lengths", "iban_valid", "luhn", "luhn_lengths"]

_IBAN_LENGTHS = (
    "15NO 16BE 18DK,FI,FO,GL,NL,SD,FK 19MK,SI 20AT,BA,EE,KZ,LT,LU,MN,XK 21CH,HR,LI,LV "
    "22BG,BH,CR,DE,GB,GE,IE,ME,RS,VA 23AE,GI,IL,IQ,OM,SO,TL 24AD,CZ,ES,MD,PK,RO,SA,SE,SK,TN,VG "
    "25LY,PT,ST 26IS,TR 27BI,DJ,FR,GR,IT,MC,MR,SM 28AL,AZ,BY,CY,DO,GT,HN,HU,LB,NI,PL,SV 29BR,EG,PS,QA,UA "
    "30JO,KW,MU,YE 31MT,SC 32LC 33RU"
)
_PLAIN = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_RIPPLE58 = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_BECH32_CONSTANTS = (1, 0x2BC830A3)  # BIP 173 and BIP 350


def luhn(digits: str) -> bool:
    """Whether a string of ASCII digits has a right check digit (ISO/IEC 7812)."""
    return len(digits) in luhn_lengths(digits, (len(digits),))


def luhn_lengths(digits: str, lengths: Iterable[int]) -> Iterator[int]:
    """Give those of the lengths at which a string of ASCII digits, cut off, has a right check digit."""
    # Every second digit from the right counts double, less nine if that is more than nine.
    raw = digits.encode()
    plain, doubled = raw.translate(_PLAIN), raw.translate(_DOUBLED)
    for n in lengths:
        if (sum(plain[n - 1 :: -2]) + (sum(doubled[n - 2 :: -2]) if n > 1 else 0)) % 10 == 0:
            yield n


def iban_lengths() -> dict[int, tuple[str, ...]]:
    """Return the countries of the IBAN registry by the length of their numbers."""
    return {int(entry[:2]): tuple(entry[2:].split(",")) for entry in _IBAN_LENGTHS.split()}


def iban_valid(compact: str) -> bool:
    """Whether a compact IBAN in capitals has the remainder 1 modulo 97 (ISO 13616)."""
    moved = compact[4:] + compact[:4]
    return int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


def base58check(address: str, *, ripple: bool = False) -> bool:
    """Whether the last four bytes are the double SHA-256 of the bytes before them."""
    raw = _base58(address, _RIPPLE58 if ripple else _BASE58)
    if len(raw) != 25:
        return False
    return hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


def base58_size(shown: str) -> int:
    """Return how many bytes a text in base 58 stands for; 0 if it is none."""
    return len(_base58(shown, _BASE58))


def _base58(shown: str, alphabet: str) -> bytes:
    number = 0
    for character in shown:
        digit = alphabet.find(character)
        if digit < 0:
            return b""
        number = number * 58 + digit
    zeros = len(shown) - len(shown.lstrip(alphabet[0]))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")


def bech32(address: str) -> bool:
    """Whether the checksum of a Bech32 or Bech32m address is right (BIP 173, BIP 350)."""
    prefix, _, data = address.lower().rpartition("1")
    values = [_BECH32.find(c) for c in data]
    if not prefix or -1 in values:
        return False
    expanded = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + values
    checksum = 1
    for value in expanded:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_BECH32_GENERATORS):
            if top >> bit & 1:
                checksum ^= generator
    return checksum in _BECH32_CONSTANTS
