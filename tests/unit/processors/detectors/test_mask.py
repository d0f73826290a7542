"""What stands in the place of a finding."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from sluiceway.processors.detectors import Finding, PIIRules, Span, replacement, unite
from tests.support.pii_texts import REAL


def masked(type_: str, value: str, **options: object) -> str:
    span = Span(0, len(value), type_)
    return replacement(Finding(0, len(value), (span,)), value, **options)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("type_", "value", "kept", "short"),
    [
        ("email", "ann@example.org", "a*n@*******.org", "a***n@***.org"),
        ("email", "ab@mail.example.co.uk", "**@****.example.co.uk", "***@***.example.co.uk"),
        ("credit-card", "4111 1111-1111 1111", "**** ****-**** 1111", "***1111"),
        ("ssn", "123-45-6780", "***-**-6780", "***6780"),
        ("phone", "+1 (415) 555-0100", "+* (***) ***-0100", "***0100"),
        ("iban", "DE89 3704 0044 0532 0130 00", "DE** **** **** **** **30 00", "DE***3000"),
        ("url", "https://a.test/b", "https://***", "https://***"),
        ("url", "www.a.test", "***", "***"),
        ("uuid", "550e8400-e29b", "********-****", "***"),
        ("ip-address", "10.0.0.1", "**.*.*.*", "***"),
        ("custom", "EMP-1", "***-*", "***"),
        ("phone", "1234", "****", "***"),
    ],
)
def test_masks(type_: str, value: str, kept: str, short: str) -> None:
    assert masked(type_, value) == kept
    assert masked(type_, value, preserve_format=False) == short


def test_the_other_methods() -> None:
    value = "ann@example.org"
    plain = hashlib.sha256(value.encode()).hexdigest()[:8]
    keyed = hmac.new(b"k", value.encode(), hashlib.sha256).hexdigest()[:8]
    assert masked("email", value, method="remove") == ""
    assert masked("credit-card", value, method="placeholder") == "[CREDIT_CARD]"
    assert masked("email", value, method="hash") == f"[HASH:{plain}]"
    assert masked("email", value, method="hash", hash_key=b"k") == f"[HASH:{keyed}]"
    assert masked("email", "\ud800@x", method="hash").startswith("[HASH:")


def test_of_a_range_that_rules_share_nothing_is_shown() -> None:
    spans = (Span(0, 15, "email"), Span(10, 20, "api-key"))
    assert replacement(Finding(0, 20, spans), "ann@example.org-key1") == "***@*******.***-****"


@pytest.mark.parametrize("preserve_format", [True, False])
@pytest.mark.parametrize("method", ["mask", "hash", "placeholder", "remove"])
@pytest.mark.parametrize("value", REAL)
def test_a_masked_form_is_not_found_again(value: str, method: str, preserve_format: bool) -> None:
    rules = PIIRules()
    text, position = "", 0
    for f in unite(rules.find(value)):
        new = replacement(f, value[f.start : f.end], method=method, preserve_format=preserve_format)  # pyright: ignore[reportArgumentType]
        text += value[position : f.start] + new
        position = f.end
    assert position > 0
    assert rules.find(text + value[position:]) == ()
