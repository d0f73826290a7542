"""What a prompt comes to."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest

from sluiceway.messages import (
    PromptContent,
    PromptFile,
    PromptImage,
    PromptMessage,
    PromptReasoning,
    PromptText,
    PromptToolCall,
    PromptToolResult,
)
from sluiceway.processors.context._token_count import TokenCounts
from sluiceway.tools import Tool
from tests.support.counting import WordCounter, words

ENCODED = base64.b64encode(bytes(range(256)) * 100).decode()


def tokens(*content: PromptContent) -> float:
    return TokenCounts(WordCounter()).message(PromptMessage("user", content)) - 3.8


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (PromptText("one two"), 2),
        (PromptReasoning("one two three"), 3),
        (PromptToolCall("c1", "look", {"q": "one two"}), 3),
        (PromptToolResult("c1", "look", "one two"), 2),
        (PromptToolResult("c1", "look", {"rows": ["one", "two three"]}), 2),
        (PromptImage("image/png", url="https://example.org/a.png"), 765),
        (PromptImage("image/png", data=b"\x00" * 1_000_000), 765),
        (PromptFile("image/png", data=b"\x00"), 765),
        (PromptFile("application/pdf", url="https://example.org/a.pdf"), 258),
        (PromptFile("application/pdf", data=b"\x00" * 10), 258),
        (PromptFile("application/pdf", data=b"\x00" * 100_001), 3 * 258),
        (PromptFile("application/pdf", url=f"data:application/pdf;base64,{'A' * 133_336}"), 3 * 258),
        (PromptFile("text/plain", data=b"one two three"), 3),
        (PromptToolResult("c1", "look", {"type": "image", "data": ENCODED, "mimeType": "image/png"}), 765 + 1),
        (PromptToolResult("c1", "look", {"type": "image_url", "image_url": "https://example.org/a.png"}), 765 + 1),
        (PromptToolResult("c1", "look", [{"media_type": "audio/wav", "data": ENCODED}]), 258 + 1),
        (PromptToolResult("c1", "look", f"data:image/png;base64,{ENCODED}"), 765),
        (PromptToolResult("c1", "look", {"pdf": ENCODED}), 258 + 1),
        (PromptToolResult("c1", "look", f"see {ENCODED} there"), 258 + 2),
        (PromptToolResult("c1", "look", json.dumps({"image": ENCODED})), 258 + 2),
        (PromptToolResult("c1", "look", base64.encodebytes(bytes(25_600)).decode()), 258),
        (PromptToolResult("c1", "look", json.dumps([base64.encodebytes(bytes(25_600)).decode()])), 258 + 1),
        (PromptToolResult("c1", "look", f"see ![x](data:image/png;base64,{ENCODED}) there"), 765 + 3),
        (PromptToolResult("c1", "look", "sha256 " + "a1" * 32), 2),
        (PromptToolResult("c1", "look", {"bytes": b"\x00" * 1000}), 258 + 1),
        (PromptToolResult("c1", "look", {"media_type": "text/plain", "data": "one two three"}), 3),
    ],
)
def test_content_counts_as_what_it_is(content: PromptContent, expected: int) -> None:
    assert tokens(content) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["data:a/" + "a" * 300_000, "data:a/b;" * 60_000, f"{'a' * 59} " * 10_000])
def test_text_that_is_nearly_media_is_looked_at_once(text: str) -> None:
    started_s = time.perf_counter()
    tokens(PromptToolResult("c1", "look", text))
    assert time.perf_counter() - started_s < 5


def test_a_text_is_counted_once() -> None:
    counter = WordCounter()
    counts = TokenCounts(counter)
    first = [PromptMessage("user", (PromptText(text),)) for text in ("one", "one two", "one")]
    again = [PromptMessage("user", (PromptText(text),)) for text in ("one", "one two", "new")]

    assert counts.messages(first) == [4.8, 5.8, 4.8]
    assert counts.messages(again) == [4.8, 5.8, 4.8]
    assert counts.messages([*again, first[1]]) == [4.8, 5.8, 4.8, 5.8]
    assert counts.messages(first[:1]) == [4.8]
    assert counter.counted == ["one", "one two", "new"]


def test_tools_count_with_their_schema_once() -> None:
    counter = WordCounter()
    counts = TokenCounts(counter)
    schema: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string", "description": words(10)}}}
    look = Tool("look", words(5), schema)

    assert counts.tools([look]) == counts.tools([look]) == 14
    assert len(counter.counted) == 1
