"""`LanguageDetector`."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Agent, Message, Processor
from sluiceway.errors import ConfigurationError
from sluiceway.processors import Detection, LanguageDetector
from tests.support.judges import Judge, Told
from tests.support.runs import lines, make_agent

pytestmark = pytest.mark.anyio

GERMAN = "Guten Tag, ich möchte bitte meine Bestellung ändern."
ENGLISH = "Hello, I would like to change my order please."


async def noted(guard: LanguageDetector, *said: Any) -> tuple[list[Any], str, Any]:
    """Return the metadata of the messages, what the model saw last, and the result."""
    kept: list[Any] = []
    look = Processor.of("look", process_input=lambda ctx: kept.extend(m.metadata.get("language") for m in ctx.messages))
    agent, model = make_agent("ok", input_processors=[guard, look])
    result = await agent.generate(list(said))
    return kept, lines(model.prompts[0])[-1] if model.prompts else "", result


async def test_the_language_is_noted() -> None:
    kept, seen, _ = await noted(LanguageDetector(), GERMAN)
    assert [(k["language"], k["iso_code"]) for k in kept] == [("German", "de")]
    assert 0.7 <= kept[0]["confidence"] <= 1
    assert seen == f"user: {GERMAN}"


async def test_only_users_and_long_enough_messages_are_looked_at() -> None:
    kept, _, _ = await noted(LanguageDetector(), Message(GERMAN, role="assistant"), "Guten Tag", ENGLISH)
    assert [k and k["iso_code"] for k in kept] == [None, None, "en"]


async def test_texts_in_attachments_are_read_and_translated_too() -> None:
    said = {"role": "user", "content": "Hi", "attachments": [{"type": "text", "text": GERMAN}]}
    judge = Judge(lambda text: {"language": "de", "confidence": 0.9, "text": f"T({text})"})
    kept, _, _ = await noted(LanguageDetector(), said)
    _, seen, _ = await noted(LanguageDetector(strategy="translate", model=judge), said)
    assert (kept[0] and kept[0]["iso_code"], seen) == ("de", f"user: T(Hi) + T({GERMAN})")


async def test_block_and_warn() -> None:
    seen: list[Any] = []
    _, _, blocked = await noted(LanguageDetector(strategy="block"), GERMAN)
    _, model_saw, _ = await noted(LanguageDetector(strategy="warn", on_violation=seen.append), GERMAN, ENGLISH)
    assert blocked.tripwire.reason == "a message is in German, not in English"
    assert blocked.tripwire.metadata == {"language": "de", "target_languages": ["en"]}
    assert [violation.detail for violation in seen] == [{"language": "de"}]
    assert model_saw == f"user: {ENGLISH}"


async def test_translate_puts_the_message_into_the_first_target() -> None:
    judge = Judge(lambda text: {"language": "de", "confidence": 0.9, "text": f"T({text})"})
    kept, seen, _ = await noted(LanguageDetector(strategy="translate", model=judge), GERMAN, ENGLISH)
    _, _, _ = kept, seen, None
    assert judge.texts == [GERMAN]
    assert (kept[0]["original_text"], kept[0]["translated_to"], kept[1].get("translated_to")) == (GERMAN, "en", None)
    without, _, _ = await noted(LanguageDetector(strategy="translate", model=judge, preserve_original=False), GERMAN)
    assert "original_text" not in without[0]
    assert "English" in judge.calls[0].prompt.messages[0].text


async def test_the_model_is_asked_where_the_rules_are_not_sure() -> None:
    judge = Judge(lambda _: {"language": "fi", "confidence": 0.9, "text": "x"})
    kept, _, _ = await noted(LanguageDetector(model=judge, target_languages=["fi"]), "qwrtz plkjh mnbvc")
    assert kept[0]["iso_code"] == "fi"


async def test_a_translation_that_fails_ends_the_run_or_leaves_the_message() -> None:
    judge = Judge(lambda _: "I cannot do that")
    _, _, closed = await noted(LanguageDetector(strategy="translate", model=judge), GERMAN)
    _, seen, opened = await noted(LanguageDetector(strategy="translate", model=judge, error_strategy="warn"), GERMAN)
    assert closed.finish_reason == "other"
    assert seen == f"user: {GERMAN}"
    assert "not checked" in [entry.status for entry in opened.audit]


async def test_another_detector_tells() -> None:
    kept, _, _ = await noted(LanguageDetector(detector=Told(Detection({"xx": 0.9}))), ENGLISH)
    assert kept == [{"language": "xx", "iso_code": "xx", "confidence": 0.9}]


async def test_what_is_not_sure_is_left_alone() -> None:
    kept, _, result = await noted(LanguageDetector(strategy="block"), "zzzz 4711 qqqq 0815")
    assert kept == [None]
    assert [entry.status for entry in result.audit] == ["skipped"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target_languages": ["Klingon"]}, "does not know 'Klingon'"),
        ({"target_languages": []}, "target_languages="),
        ({"strategy": "guess"}, "strategy="),
        ({"min_text_length": -1}, "min_text_length=-1"),
        ({"threshold": "high"}, "threshold="),
    ],
)
def test_options_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        LanguageDetector(**options)


def test_an_agent_whose_model_cannot_translate_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="own model translates"):
        Agent(id="a", model="echo/echo", input_processors=[LanguageDetector(strategy="translate")])
    Agent(id="a", model="echo/echo", input_processors=[LanguageDetector()])
