"""Options are checked at construction; the error names option, value and what is allowed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.processors import PIIDetector, PromptInjectionDetector, UnicodeNormalizer

PII: list[tuple[dict[str, Any], str]] = [
    ({"strategy": "rewrite"}, r"pii-detector: strategy='rewrite' is not allowed; give one of 'block', 'warn'"),
    ({"redaction_method": "stars"}, "redaction_method='stars' is not allowed; give one of 'mask', 'hash'"),
    ({"threshold": 1.5}, r"threshold=1.5 is not allowed; give a number from 0 to 1"),
    ({"threshold": True}, "threshold=True"),
    ({"buffer_size": 0}, "buffer_size=0 is not allowed; give a whole number above 0"),
    ({"max_hold_chars": "9"}, "max_hold_chars='9'"),
    ({"preserve_format": 1}, "preserve_format=1 is not allowed; give True or False"),
    ({"checksums": None}, "checksums=None"),
    ({"redact_before_tools": "no"}, "redact_before_tools='no'"),
    ({"last_message_only": 0}, "last_message_only=0"),
    ({"error_strategy": "fail"}, "error_strategy='fail' is not allowed; give one of 'strict', 'warn'"),
    ({"hash_key": ""}, "hash_key must be a text or bytes that are not empty"),
    ({"hash_key": 5}, "hash_key"),
    ({"surfaces": []}, r"surfaces=\[\] is not allowed; give a list of some of 'text', 'reasoning'"),
    ({"surfaces": "text"}, "surfaces='text' is not allowed"),
    ({"surfaces": ["text", "images"]}, "surfaces does not know 'images'"),
    ({"detection_types": []}, r"detection_types=\[\] is not allowed"),
    ({"detection_types": "email"}, "detection_types='email' is not allowed"),
    ({"detection_types": ["e-mail"]}, "detection_types does not know 'e-mail'; give some of email, phone"),
    ({"detection_types": [3]}, "detection_types does not know 3"),
    ({"detection_types": ["email", "name"]}, "detection_types has 'name', which rules cannot find; it needs a model"),
    ({"detection_types": ["address"]}, "'address'"),
    ({"detection_types": ["date-of-birth"]}, "'date-of-birth'"),
    ({"detection_types": {"x": "a*"}}, r"detection_types\['x'\] = 'a\*' cannot be used on a stream"),
    ({"detection_types": ["email", {"x": []}]}, "list of words that are not empty"),
    ({"id": ""}, "id must be a text"),
]


@pytest.mark.parametrize(("options", "says"), PII, ids=lambda value: str(value)[:40])
def test_pii_detector(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        PIIDetector(**options)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: PromptInjectionDetector(strategy="redact"), "prompt-injection-detector: strategy='redact'"),  # pyright: ignore[reportArgumentType]
        (lambda: PromptInjectionDetector(detection_types=["spam"]), "detection_types does not know 'spam'"),
        (lambda: PromptInjectionDetector(threshold=-1), "threshold=-1"),
        (lambda: PromptInjectionDetector(surfaces=["x"]), "surfaces does not know 'x'"),
        (lambda: PromptInjectionDetector(last_message_only=1), "last_message_only=1"),  # pyright: ignore[reportArgumentType]
        (lambda: UnicodeNormalizer(trim=None), "unicode-normalizer: trim=None is not allowed"),  # pyright: ignore[reportArgumentType]
        (lambda: UnicodeNormalizer(compatibility="nfkc"), "compatibility='nfkc' is not allowed"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_the_others(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        make()


def test_every_built_in_takes_an_id() -> None:
    made = [cls(id="x").id for cls in (PIIDetector, PromptInjectionDetector, UnicodeNormalizer)]
    assert made == ["x", "x", "x"]


def test_types_that_rules_cannot_find_are_noted_once(caplog: pytest.LogCaptureFixture) -> None:
    from sluiceway.processors.guardrails import _pii_types

    _pii_types._note_missing.cache_clear()
    with caplog.at_level(logging.INFO):
        PIIDetector()
        PIIDetector()
        PIIDetector(detection_types=["email"])
    assert [record.message for record in caplog.records] == [
        "name, address, date-of-birth are not looked for: they need a model or a recogniser of names"
    ]


@pytest.mark.parametrize(
    ("strategy", "hook", "writes"),
    [
        ("block", "process_input", set[str]()),
        ("warn", "process_input", set[str]()),
        ("redact", "process_input", {"messages"}),
        ("filter", "process_output_result", {"messages", "state"}),
        ("warn", "process_output_stream", {"state"}),
        ("block", "process_output_stream", {"chunk", "state"}),
    ],
)
def test_effects_follow_the_strategy(strategy: Any, hook: Any, writes: set[str]) -> None:
    effects = PIIDetector(strategy=strategy).effects
    assert isinstance(effects, dict)
    assert effects[hook].writes == writes


def test_effects_of_the_other_guards() -> None:
    guards = [PromptInjectionDetector(), PromptInjectionDetector(strategy="rewrite"), UnicodeNormalizer()]
    assert [set(guard.effects.writes) for guard in guards] == [set(), {"messages"}, {"messages"}]
