"""`Meter`: long answers are counted piece by piece, and come to the same."""

from __future__ import annotations

import pytest

from sluiceway.messages import Chunk
from sluiceway.processors import CharacterEstimate, TiktokenCounter, TokenCounter
from sluiceway.processors.context._token_meter import Meter

PROSE = "The quick brown fox doesn't jump over 12 lazy dogs; it walks — slowly, über Stock und Stein.\n\n" * 40


class Counting:
    """Notes how much text it was given."""

    by_word = True

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self.chars = 0

    def count(self, text: str) -> int:
        """Count."""
        self.chars += len(text)
        return self.counter.count(text)

    def cut(self, text: str, tokens: int) -> str:
        """Cut."""
        return self.counter.cut(text, tokens)


def take(meter: Meter, text: str, size: int, block: str = "t") -> str:
    deltas = [Chunk("text-delta", {"id": block, "text": text[i : i + size]}) for i in range(0, len(text), size)]
    taken = [meter.take(delta) for delta in deltas]
    return "".join(chunk.text for chunk in taken if chunk is not None)


def exact() -> TokenCounter:
    counter = TiktokenCounter()
    if not counter.available:
        pytest.skip("tiktoken and its ranks are not installed")
    return counter


@pytest.mark.parametrize("size", [1, 4, 7, 100])
def test_a_long_answer_is_counted_exactly_at_a_cost_that_grows_with_it(size: int) -> None:
    counter = Counting(exact())
    meter = Meter(counter, 100_000, 0, each=False)

    assert take(meter, PROSE, size) == PROSE
    assert meter.passed == counter.counter.count(PROSE)
    assert counter.chars < 200 * len(PROSE) / size + 20 * len(PROSE)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_long_answer_is_cut_where_its_tokens_end(size: int) -> None:
    counter = exact()
    assert take(Meter(counter, 300, 0, each=False), PROSE, size) == counter.cut(PROSE, 300)


def test_a_text_without_words_is_counted_nearly() -> None:
    counter = exact()
    meter = Meter(counter, 100_000, 0, each=False)
    text = "字" * 3000
    assert take(meter, text, 5) == text
    assert counter.count(text) <= meter.passed <= counter.count(text) * 1.02


def test_an_estimate_never_lets_more_pass_than_it_says() -> None:
    counter = CharacterEstimate()
    out = take(Meter(counter, 200, 0, each=False), PROSE, 3)
    assert 790 <= len(out) <= 800


def test_blocks_are_counted_together_and_apart_from_each_other() -> None:
    counter = exact()
    meter = Meter(counter, 10, 0, each=False)
    first = take(meter, "one two three four", 4, "a")
    second = take(meter, " five six seven eight nine ten eleven", 4, "b")
    assert first == "one two three four"
    assert counter.count(first) + counter.count(second) == 10
    assert meter.over
    assert take(meter, " more", 5, "a") == ""


def test_what_passed_before_counts() -> None:
    meter = Meter(exact(), 10, 10, each=False)
    assert take(meter, "one", 3) == ""
    assert meter.over
