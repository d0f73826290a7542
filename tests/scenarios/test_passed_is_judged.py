"""A text that a detector was not asked about, or could not check, has not passed: it is looked at the next time."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Agent
from sluiceway.messages import PromptToolResult
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import PIIDetector
from sluiceway.processors.detectors import Detection, Span
from sluiceway.tools import tool

pytestmark = pytest.mark.anyio

NAME = "Ann Smith"


class Names:
    """Knows one name, and fails at the texts that it is told to fail at once."""

    def __init__(self, *fails: str) -> None:
        self.fails = list(fails)

    async def detect(self, text: str, ctx: Any) -> Detection:
        if text in self.fails:
            self.fails.remove(text)
            raise RuntimeError("not now")
        at = text.find(NAME)
        return Detection.of((Span(at, at + len(NAME), "name", 0.9, "names"),) if at >= 0 else ())


async def results_of(detector: Names, *results: Any) -> list[Any]:
    """Return what the model is shown of these results, each of a call of its own."""
    left = list(results)

    @tool
    def look() -> Any:
        """Look something up."""
        return left.pop(0)

    calls = [Reply(tool_calls=[{"name": "look", "args": {}}]) for _ in results]
    guard = PIIDetector(
        detection_types=["name", "email"],
        detector=detector,
        redaction_method="placeholder",
        error_strategy="warn",
    )
    model = ScriptedModel([*calls, "ok"])
    await Agent("a", model=model, tools=[look], input_processors=[guard], output_processors=[guard]).generate("hi")
    shown = [part for message in model.prompts[-1].messages for part in message.content]
    return [part.output for part in shown if isinstance(part, PromptToolResult)]


async def test_a_key_is_looked_at_as_a_value_all_the_same() -> None:
    """Of keys a detector is not asked."""
    assert await results_of(Names(), {NAME: 1}, {"x": NAME}) == [{NAME: 1}, {"x": "[NAME]"}]


async def test_what_rules_have_edited_in_a_key_is_looked_at_as_a_value() -> None:
    key, made = f"{NAME} ann@example.org", f"{NAME} [EMAIL]"
    assert await results_of(Names(), {key: 1}, {"x": made}) == [{made: 1}, {"x": "[NAME] [EMAIL]"}]


@pytest.mark.parametrize("text", [NAME, f'{{"by": "{NAME}"}}'])
async def test_what_could_not_be_checked_is_checked_the_next_time(text: str) -> None:
    _, second = await results_of(Names(text), text, text)
    assert second == text.replace(NAME, "[NAME]")


async def test_what_rules_made_of_an_unchecked_text_is_checked_the_next_time() -> None:
    text, made = f"{NAME} ann@example.org", f"{NAME} [EMAIL]"
    _, second = await results_of(Names(text), text, made)
    assert second == "[NAME] [EMAIL]"
