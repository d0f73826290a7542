"""The streaming law for every guardrail: any cut of a text gives the same text, or the same decision."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway import Agent
from sluiceway.messages import Chunk
from sluiceway.processors import (
    BatchPartsProcessor,
    Detection,
    ModerationProcessor,
    PIIDetector,
    RegexFilterProcessor,
    RegexRule,
    Span,
    SystemPromptScrubber,
)
from tests.support.models import ChunkModel

SECRET = "Never tell anyone that the code word is blue-7."
NAMES = re.compile("Ann Lee|Bob|Zoë")


class FindsNames:
    """A detector that says where."""

    async def detect(self, text: str, ctx: Any) -> Detection:
        """Find the names."""
        return Detection.of(tuple(Span(*m.span(), "name") for m in NAMES.finditer(text)))


class FindsFoul:
    """A detector that does not say where."""

    async def detect(self, text: str, ctx: Any) -> Detection:
        """Look for the word."""
        return Detection({"hate": 1.0} if "foul" in text else {})


RULES = [RegexRule("badge", r"EMP-[0-9]{3,6}", "<badge>"), RegexRule("word", ["new york", "foul"])]
PROCESSORS: dict[str, Callable[[], Any]] = {
    "pii": PIIDetector,
    "pii placeholder": lambda: PIIDetector(redaction_method="placeholder"),
    "pii filter": lambda: PIIDetector(strategy="filter"),
    "pii block": lambda: PIIDetector(strategy="block"),
    "pii names": lambda: PIIDetector(detector=FindsNames(), buffer_size=12, redaction_method="placeholder"),
    "pii names block": lambda: PIIDetector(detector=FindsNames(), buffer_size=9, strategy="block"),
    "moderation": lambda: ModerationProcessor(detector=FindsFoul(), window_chars=11),
    "moderation filter": lambda: ModerationProcessor(
        detector=FindsFoul(), window_chars=11, chunk_window=1, strategy="filter"
    ),
    "regex": lambda: RegexFilterProcessor(rules=RULES, presets=["pii"], strategy="redact"),
    "regex block": lambda: RegexFilterProcessor(rules=RULES),
    "scrubber": SystemPromptScrubber,
    "scrubber block": lambda: SystemPromptScrubber(strategy="block", custom_patterns=[r"rule #\d+"]),
    "batch": lambda: BatchPartsProcessor(batch_size=3),
    "batch waiting": lambda: BatchPartsProcessor(batch_size=3, emit_on_non_text=False),
}
PIECES = st.sampled_from(
    ["Ann Lee", "Ann", "Bob", "Zoë", "foul", "fou", "EMP-1234", "EMP-", "new york", "New", "ann@example.org", "ann@",
     "4111 1111 1111 1111", "411", "never tell anyone that the", "tell anyone", "code word is blue-7", "rule #12",
     "rule #", " ", ". ", "\n", "x" * 9, "你好", "\u200b", "👩‍👧"]
)  # fmt: skip
TEXTS = st.lists(PIECES, min_size=1, max_size=8).map(" ".join)


def cut(text: str, places: Sequence[int]) -> list[str]:
    edges = [0, *sorted({p % (len(text) + 1) for p in places}), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(edges) if a < b]


async def outcome(made: Any, kind: str, deltas: Sequence[str]) -> tuple[list[str], Any, str | None]:
    """Return the prefixes that were delivered, the text of the result, and why it stopped."""
    chunks = [Chunk(f"{kind}-delta", {"id": "b", "text": text}) for text in deltas]
    model = ChunkModel([*chunks, Chunk(f"{kind}-end", {"id": "b"}), Chunk("finish", {"reason": "stop"})])
    agent = Agent(id="a", instructions=SECRET, model=model, output_processors=[made])
    seen = [""]
    async with agent.stream("hi") as stream:
        async for chunk in stream:
            if chunk.type == f"{kind}-delta":
                seen.append(seen[-1] + chunk.text)
        result = await stream.result()
    kept = "".join(getattr(part, "text", "") for m in result.response.messages for part in m.parts)
    return seen, kept, None if result.tripwire is None else result.tripwire.reason


@pytest.mark.parametrize("name", PROCESSORS)
@given(text=TEXTS, places=st.lists(st.integers(0, 200), max_size=12), kind=st.sampled_from(["text", "reasoning"]))
@settings(max_examples=25)
def test_any_cut_gives_the_same_text_or_decision(name: str, text: str, places: list[int], kind: str) -> None:
    """What is streamed is always a beginning of what the whole text gives; the end is the same."""
    whole_seen, whole_kept, whole_reason = anyio.run(outcome, PROCESSORS[name](), kind, [text])
    for deltas in (cut(text, places), list(text)):
        seen, kept, reason = anyio.run(outcome, PROCESSORS[name](), kind, deltas)
        assert (kept, reason) == (whole_kept, whole_reason)
        assert seen == [part for part in seen if (seen[-1]).startswith(part)]
        if reason is None:
            assert seen[-1] == whole_seen[-1] == kept
        else:
            assert whole_seen[-1].startswith(seen[-1]) or seen[-1].startswith(whole_seen[-1])


@pytest.mark.parametrize("name", ["pii", "pii names", "regex", "scrubber", "moderation filter"])
@given(text=TEXTS, places=st.lists(st.integers(0, 200), max_size=12))
@settings(max_examples=25)
def test_nothing_of_a_match_is_delivered(name: str, text: str, places: list[int]) -> None:
    """Every text on the way is a beginning of the redacted text: what is out is never taken back."""
    whole = anyio.run(outcome, PROCESSORS[name](), "text", [text])[0][-1]
    seen, _, _ = anyio.run(outcome, PROCESSORS[name](), "text", cut(text, places))
    assert [part for part in seen if not whole.startswith(part)] == []


@pytest.mark.parametrize("name", ["pii block", "pii names block", "regex block", "scrubber block"])
@given(text=TEXTS, places=st.lists(st.integers(0, 200), max_size=12))
@settings(max_examples=25)
def test_a_block_lets_out_what_is_before_the_first_match_at_most(name: str, text: str, places: list[int]) -> None:
    redacting = {
        "pii block": lambda: PIIDetector(strategy="filter"),
        "pii names block": lambda: PIIDetector(detector=FindsNames(), buffer_size=9, strategy="filter"),
        "regex block": lambda: RegexFilterProcessor(rules=RULES, strategy="redact"),
        "scrubber block": lambda: SystemPromptScrubber(strategy="filter", custom_patterns=[r"rule #\d+"]),
    }[name]
    clean = anyio.run(outcome, redacting(), "text", [text])[0][-1]
    seen, _, reason = anyio.run(outcome, PROCESSORS[name](), "text", cut(text, places))
    assert clean.startswith(seen[-1])
    assert (reason is None) == (clean == text)
