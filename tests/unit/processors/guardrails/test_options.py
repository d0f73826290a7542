"""Options are checked at construction; the error names option, value and what is allowed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.processors import (
    LanguageDetector,
    PIIDetector,
    PIIVault,
    PromptInjectionDetector,
    SystemPromptScrubber,
    UnicodeNormalizer,
)

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
        (lambda: LanguageDetector(strategy="redact"), "language-detector: strategy='redact' is not allowed"),  # pyright: ignore[reportArgumentType]
        (lambda: LanguageDetector(detector=3), r"detector=3 is not allowed; give an object with `detect`"),  # pyright: ignore[reportArgumentType]
        (lambda: LanguageDetector(provider_options=3), "provider_options=3 is not allowed"),  # pyright: ignore[reportArgumentType]
        (lambda: LanguageDetector(instructions=" "), "instructions must be a text that is not empty"),
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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SystemPromptScrubber(strategy="hide"),  # pyright: ignore[reportArgumentType]
            "system-prompt-scrubber: strategy='hide' is not allowed; give one of 'block', 'warn', 'filter', 'redact'",
        ),
        (
            lambda: SystemPromptScrubber(redaction_method="hash"),  # pyright: ignore[reportArgumentType]
            "system-prompt-scrubber: redaction_method='hash' is not allowed; give one of 'mask', 'placeholder',",
        ),
        (
            lambda: SystemPromptScrubber(threshold=2),
            "system-prompt-scrubber: threshold=2 is not allowed; give a number from 0 to 1",
        ),
        (
            lambda: SystemPromptScrubber(buffer_size=0),
            "system-prompt-scrubber: buffer_size=0 is not allowed; give a whole number above 0",
        ),
        (lambda: PIIDetector(threshold=2), "pii-detector: threshold=2 is not allowed; give a number from 0 to 1"),
        (
            lambda: PIIDetector(vault=PIIVault()),
            "pii-detector: a vault is for reversible=True",
        ),
        (
            lambda: PIIDetector(reversible=1),  # pyright: ignore[reportArgumentType]
            "pii-detector: reversible=1 is not allowed; give True or False",
        ),
        (
            lambda: PIIDetector(reversible=True, vault=3),  # pyright: ignore[reportArgumentType]
            "pii-detector: vault=3 is not allowed; give a PIIVault, or None",
        ),
        (
            lambda: LanguageDetector(min_text_length=-1),
            "language-detector: min_text_length=-1 is not allowed; give a whole number from 0",
        ),
        (
            lambda: LanguageDetector(threshold=2),
            "language-detector: threshold=2 is not allowed; give a number from 0 to 1",
        ),
    ],
)
def test_an_error_says_whose_option_it_is(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("kind", [PIIDetector, PromptInjectionDetector, LanguageDetector, SystemPromptScrubber])
def test_what_is_to_happen_to_errors_and_violations_is_kept(kind: Any) -> None:
    told: list[Any] = []
    guard = kind(on_error="continue", on_violation=told.append, id="mine")
    assert (guard.id, guard.on_error, guard.on_violation) == ("mine", "continue", told.append)


def test_what_a_language_detector_does_where_nobody_says() -> None:
    guard = LanguageDetector()
    assert (guard.threshold, guard.strategy, guard.min_text_length) == (0.7, "detect", 10)
    assert (guard.preserve_original, guard.last_message_only) == (True, False)
