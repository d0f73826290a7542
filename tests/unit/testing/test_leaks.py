"""`assert_never_leaks` hides secrets everywhere that a processor says it looks at, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Processor, Workflow
from sluiceway.errors import ConfigurationError
from sluiceway.processors import PIIDetector
from sluiceway.processors.guardrails import RegexFilterProcessor
from sluiceway.testing import assert_never_leaks

SECRET = "hunter2"


def hide(value: Any) -> Any:
    """Return a value in which the secret is hidden, however deep."""
    if isinstance(value, str):
        return value.replace(SECRET, "*")
    if isinstance(value, dict):
        return {key: hide(item) for key, item in value.items()}
    return [hide(item) for item in value] if isinstance(value, list) else value


class Careless(Processor):
    """Hides the secret in texts, and in the parts that it is told to look at."""

    def __init__(self, *looks_at: str) -> None:
        super().__init__("careless")
        self.looks_at = looks_at

    def process_output_result(self, ctx: Any) -> None:
        for message in ctx.messages:
            for part in message.parts:
                if part.type in ("text", *self.looks_at) and part.type in ("text", "reasoning"):
                    part.text = hide(part.text)
                elif part.type == "tool":
                    self.look_at_call(part)

    def look_at_call(self, part: Any) -> None:
        if "args" in self.looks_at:
            part.args = hide(part.args)
        if "result" in self.looks_at and part.state == "result":
            part.result = hide(part.result)


class Covering(Careless):
    """Says that it looks at everything."""

    def covers(self, hook: str) -> set[str]:
        return {"text", "reasoning", "tool-args", "tool-results"}


def told(processor: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_never_leaks(processor, [SECRET], examples=60, **options)
    return str(caught.value).splitlines()[1].strip()


def test_without_a_word_a_processor_is_held_to_texts_only() -> None:
    assert_never_leaks(Careless(), [SECRET], examples=40)


@pytest.mark.parametrize(
    ("looks_at", "shown"),
    [
        (("args", "result"), "on reasoning 'hunter2'"),
        (("reasoning", "result"), "on tool-args 'hunter2'"),
        (("reasoning", "args"), "on tool-results 'hunter2'"),
    ],
)
def test_it_is_held_to_what_it_says_that_it_covers(looks_at: tuple[str, ...], shown: str) -> None:
    assert told(Covering(*looks_at)) == shown
    assert_never_leaks(Covering("reasoning", "args", "result"), [SECRET], examples=60)


def test_it_can_be_held_to_more_than_it_says() -> None:
    assert told(Careless(), surfaces=["text", "reasoning"]) == "on reasoning 'hunter2'"
    with pytest.raises(ConfigurationError, match="surfaces has 'thoughts'; there are text, reasoning, tool-args"):
        assert_never_leaks(Careless(), [SECRET], surfaces=["thoughts"])  # type: ignore[list-item]
    with pytest.raises(ConfigurationError, match="none of its hooks sees object"):
        assert_never_leaks(Careless(), [SECRET], surfaces=["object"])


class Data(Processor):
    """Sees data chunks, and lets them pass as they are."""

    process_data_parts = True

    def process_output_stream(self, ctx: Any) -> Any:
        return None if ctx.part.type == "text-delta" else ctx.part


def test_one_that_sees_data_chunks_is_held_to_them() -> None:
    assert told(Data("data")) == "on data 'hunter2'"

    class Careful(Data):
        def process_output_stream(self, ctx: Any) -> Any:
            part = super().process_output_stream(ctx)
            if part is None or not part.type.startswith("data-"):
                return part
            return part.replace(payload={**part.payload, "data": hide(part.data)})

    assert_never_leaks(Careful("data"), [SECRET], examples=60)


@pytest.mark.parametrize("surface", ["reasoning", "tool-args", "tool-results", "object"])
def test_a_built_in_is_held_to_each_of_its_surfaces(surface: Any) -> None:
    mail = ["ann@example.org"]
    assert_never_leaks(PIIDetector(), mail, examples=40)  # which looks at less on input
    assert_never_leaks(PIIDetector(surfaces=["text", surface]), mail, surfaces=[surface], examples=40)
    narrow = PIIDetector(surfaces=["text"])
    assert_never_leaks(narrow, mail, examples=20)
    with pytest.raises(AssertionError, match=f"on {surface}|on the stream"):
        assert_never_leaks(narrow, mail, surfaces=[surface], examples=60)


def test_a_workflow_covers_what_any_of_its_processors_does() -> None:
    mail = ["ann@example.org"]
    blind = Processor.of("blind", process_output_result=lambda ctx: None)
    assert_never_leaks(Workflow("w").then(blind).then(PIIDetector()), mail, examples=30)
    narrow = RegexFilterProcessor(presets=["pii"], strategy="redact", surfaces=["text"], phase="output")
    assert_never_leaks(Workflow("w").then(blind).then(narrow), mail, examples=30)
