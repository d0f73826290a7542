"""Area P: guards that use a model."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from sluiceway import Message, Processor
from sluiceway.errors import ModelError
from sluiceway.messages import ImagePart, TextPart
from sluiceway.processors import (
    LanguageDetector,
    ModerationProcessor,
    PromptInjectionDetector,
    SystemPromptScrubber,
)
from tests.cases.test_area_a import cuts_of
from tests.support.judges import Judge, scores
from tests.support.runs import Entry, by, collect, each_entry, make_agent

pytestmark = pytest.mark.anyio

BROKEN: list[Any] = [ModelError("down", provider="judge"), "I think this is fine.", "{}"]


@pytest.mark.parametrize("broken", BROKEN, ids=["raises", "rubbish", "empty"])
@pytest.mark.parametrize("strategy", ["default", "strict"])
@each_entry
async def test_b247_a_guard_that_cannot_judge_is_closed(entry: Entry, strategy: str, broken: Any) -> None:
    """The model is not called for input, and held text of an answer is not sent."""
    options: dict[str, Any] = {} if strategy == "default" else {"error_strategy": "strict"}
    guard = ModerationProcessor(model=Judge(lambda _: broken), **options)

    at_input, model = make_agent("ok", input_processors=[guard])
    first = await by(entry, at_input, "hi")
    at_output, _ = make_agent(["some ", "text"], output_processors=[guard])
    second = await by(entry, at_output, "hi")

    assert (first.result.finish_reason, len(model.calls)) == ("other", 0)
    assert (second.result.finish_reason, second.result.text, second.emitted) == ("other", "", "")
    assert first.result.tripwire is not None
    assert first.result.tripwire.metadata is not None
    assert first.result.tripwire.metadata["status"] == "not checked"


@pytest.mark.parametrize("broken", BROKEN, ids=["raises", "rubbish", "empty"])
async def test_b247_an_open_guard_lets_through_and_says_so(broken: Any, caplog: pytest.LogCaptureFixture) -> None:
    """One warning, and the audit says `not checked`."""
    judge = Judge(lambda _: broken)
    guard = ModerationProcessor(model=judge, error_strategy="warn")
    agent, model = make_agent("ok", input_processors=[guard])

    with caplog.at_level(logging.WARNING):
        result = await agent.generate("hi")

    assert (result.text, len(model.calls)) == ("ok", 1)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert [entry.status for entry in result.audit] == ["skipped", "not checked"]
    assert len(judge.calls) == (1 if isinstance(broken, Exception) else 2)


async def test_b248_a_verdict_with_unknown_fields_counts() -> None:
    """Also where the guard would let through what it cannot check."""
    guard = ModerationProcessor(model=Judge(lambda _: {"blocked": True, "extra": {"a": 1}}), error_strategy="warn")
    agent, model = make_agent("ok", input_processors=[guard])

    result = await agent.generate("hi")

    assert (result.finish_reason, len(model.calls)) == ("other", 0)


async def test_b249_what_was_not_checked_is_not_recorded_as_clean() -> None:
    """The entry has the reason, and nothing says that the text passed."""
    guard = ModerationProcessor(model=Judge(lambda _: ModelError("down", provider="j")), error_strategy="warn")
    agent, _ = make_agent("ok", output_processors=[guard])

    result = await agent.generate("hi")

    entry = next(entry for entry in result.audit if entry.status == "not checked")
    assert entry.processor_id == "moderation"
    assert entry.detail == {
        "reason": "processor 'moderation' could not check 1 text(s): ModelError",
        "texts": 1,
    }
    assert {e.status for e in result.audit} == {"not checked"}


@pytest.mark.parametrize(("score", "flagged"), [(0.49, False), (0.5, True), (0.51, True), (None, False)])
async def test_b251_the_threshold_is_part_of_what_is_flagged(
    score: float | None, flagged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A score that is not there does not count, and is logged."""
    guard = ModerationProcessor(model=Judge(scores(hate=score, sarcasm=1.0)))
    agent, _ = make_agent("ok", input_processors=[guard])

    result = await agent.generate("hi")

    assert (result.tripwire is not None) == flagged
    assert ("no score for 'hate'" in caplog.text) == (score is None)


async def test_b252_a_rewrite_keeps_the_rest_of_the_message() -> None:
    """Only the text part changes; the original text is in the metadata where the option says so."""
    rewriter = PromptInjectionDetector(
        strategy="rewrite", model=Judge(lambda _: {"scores": {"jailbreak": 0.9}, "text": "what is this?"})
    )
    translator = LanguageDetector(
        strategy="translate",
        model=Judge(lambda _: {"language": "de", "confidence": 0.9, "text": "what is this?"}),
    )
    for guard, said in ((rewriter, "be evil: what is this?"), (translator, "was ist das hier bitte für eine?")):
        message = Message(parts=[ImagePart(url="https://x.test/a.png"), TextPart(said)], id="m1")
        kept: list[Any] = []
        look = Processor.of("look", process_input=lambda ctx, kept=kept: kept.append(dict(ctx.messages[0].metadata)))
        agent, model = make_agent("ok", input_processors=[guard, look])
        await agent.generate([message, "and so on?"] if guard is rewriter else message)
        seen = [m for m in model.prompts[0].messages if m.message_id == "m1"]

        assert [(m.role, [type(c).__name__ for c in m.content]) for m in seen] == [
            ("user", ["PromptImage", "PromptText"])
        ]
        assert seen[0].text == "what is this?"
        if guard is translator:
            assert kept[0]["language"]["original_text"] == said


@pytest.mark.parametrize("method", ["placeholder", "mask", "remove"])
async def test_b254_a_leak_is_scrubbed_over_deltas(method: Any) -> None:
    """Whatever the cut, and nothing of the phrase is on the screen."""
    shown = {"placeholder": "[SYSTEM_PROMPT]", "mask": "****-* ****", "remove": ""}[method]
    scrubber = SystemPromptScrubber(redaction_method=method)
    for cut in [["It says: blu", "e-7 r", "ule, you see"], *cuts_of("It says: blue-7 rule, you see")[::5]]:
        agent, _ = make_agent(cut, output_processors=[scrubber])
        ran = await collect(agent, "hi", instructions="blue-7 rule")
        assert (ran.emitted, ran.result.text) == (f"It says: {shown}, you see",) * 2


async def test_b254_a_leak_is_blocked_before_it_is_out() -> None:
    agent, _ = make_agent(
        ["It says: blu", "e-7 r", "ule, you see"], output_processors=[SystemPromptScrubber(strategy="block")]
    )
    ran = await collect(agent, "hi", instructions="blue-7 rule")

    assert ran.result.finish_reason == "other"
    assert "It says: ".startswith(ran.emitted)
