"""The streaming law through a whole agent: however an answer is cut, no more of it gets out."""

from __future__ import annotations

import itertools
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway import Agent, Workflow
from sluiceway.models import ScriptedModel
from sluiceway.processors import PIIDetector, Processor, PromptInjectionDetector, UnicodeNormalizer

PIECES = st.sampled_from(
    [
        "ann@example.org",
        "4111 1111 1111 1111",
        "4111111111111111",
        "378282246310005",
        "DE89 3704 0044 0532 0130 00",
        "078-05-1120",
        "+1 415 555 2671",
        "192.168.0.1",
        "https://example.org/a?b=c",
        "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
        "123e4567-e89b-42d3-a456-426614174000",
        "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
        "order 2468-1357-2468-1358",
        "bob@",
        "411",
        " ",
        ", ",
        "\n",
        "Grüße, ",
        "你好 ",
        "👩‍👩‍👧 ",
        "call me at ",
    ]
)
TEXTS = st.lists(PIECES, min_size=1, max_size=7).map("".join)


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Return a text and its deltas, cut anywhere."""
    text = draw(TEXTS)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=len(text))))
    edges = [0, *cuts, len(text)]
    return text, [text[a:b] for a, b in itertools.pairwise(edges) if a < b]


async def answered(deltas: list[str], processors: list[Any]) -> tuple[str, list[str], str, str]:
    """Return what was streamed, its prefixes, the result's text and that of its messages."""
    agent = Agent(id="a", model=ScriptedModel([deltas]), output_processors=processors)
    seen = [""]
    async with agent.stream("hi") as stream:
        async for text in stream.text():
            seen.append(seen[-1] + text)
        result = await stream.result()
    stored = "".join(message.text for message in result.response.messages)
    return seen[-1], seen, result.text, stored


def whole(text: str) -> str:
    """Return the redaction of a whole text: what one delta gives."""
    return anyio.run(answered, [text], [PIIDetector()])[0]


@given(cut_texts())
@settings(max_examples=150)
def test_any_cut_gives_the_redaction_of_the_whole_text(case: tuple[str, list[str]]) -> None:
    """Streamed, result and message are the same text, and nothing on the screen is taken back."""
    text, deltas = case
    expected = whole(text)

    streamed, seen, result, stored = anyio.run(answered, deltas, [PIIDetector()])

    assert (streamed, result, stored) == (expected, expected, expected)
    assert all(expected.startswith(prefix) for prefix in seen)


@given(cut_texts())
@settings(max_examples=60)
def test_the_same_inside_a_parallel_with_checks(case: tuple[str, list[str]]) -> None:
    """The redactor that a map picks lets out what it would alone."""
    text, deltas = case
    watch = Processor.of("watch", process_output_stream=lambda ctx: ctx.part)
    checks = Workflow("checks").parallel([PIIDetector(), watch]).map("processor:pii-detector").commit()

    streamed, _, result, stored = anyio.run(answered, deltas, [checks])

    assert {streamed, result, stored} == {whole(text)}


@given(st.lists(PIECES, min_size=1, max_size=7).map(" ".join))
@settings(max_examples=60)
def test_input_is_redacted_as_output_is(text: str) -> None:
    """Behind the checks of the guarded agent the model sees the redaction, and redacting again changes nothing."""
    model = ScriptedModel(["ok"])
    checks = (
        Workflow("checks")
        .then(UnicodeNormalizer())
        .parallel([PIIDetector(), PromptInjectionDetector()])
        .map("processor:pii-detector")
        .commit()
    )
    agent = Agent(id="a", model=model, input_processors=[checks])

    anyio.run(agent.generate, text if text.strip() else "x" + text)

    sent = model.prompts[0].messages[-1].text
    assert whole(sent) == sent
