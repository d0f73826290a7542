"""The token limiter: what stays, and how an answer is counted, against the obvious way."""

from __future__ import annotations

from itertools import pairwise, takewhile
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluiceway.messages import Chunk, PromptMessage, PromptText
from sluiceway.processors import TiktokenCounter
from sluiceway.processors.context._token_count import CONVERSATION_TOKENS
from sluiceway.processors.context._token_counter import CharacterEstimate
from sluiceway.processors.context._token_meter import Meter
from sluiceway.processors.context._token_trim import TooLong, Weighed, kept
from tests.support.counting import WordCounter

ROLES = st.sampled_from(["user", "assistant", "tool", "system"])
SOURCES = st.sampled_from(["memory", "input", "response", "context"])
MESSAGES = st.lists(st.tuples(ROLES, SOURCES, st.integers(1, 30)), max_size=14)


def message(role: Any, source: str, number: int) -> PromptMessage:
    return PromptMessage(role, (PromptText(str(number)),), f"m{number}", None if role == "system" else source)


def units(messages: list[PromptMessage], turn: int) -> list[range]:
    """Results belong to the message that asked for them; the turn at work is no unit."""
    found: list[range] = []
    for index in range(turn):
        joins = found and messages[index].role == "tool" and messages[index - 1].role in ("assistant", "tool")
        if joins:
            found[-1] = range(found[-1].start, index + 1)
        else:
            found.append(range(index, index + 1))
    return found


def obvious(messages: list[PromptMessage], counts: list[int], turn: int, limit: int, mode: str) -> set[int] | None:
    """Return what stays: first what must, then the newest units that fit, one by one."""

    def must(index: int) -> bool:
        one = messages[index]
        if index >= turn:
            return True
        return one.source != "memory" if mode == "memory-only" else one.role == "system" or one.source == "response"

    chosen = {index for index in range(len(messages)) if must(index)}
    total = CONVERSATION_TOKENS + sum(counts[index] for index in chosen)
    if total > limit:
        return None
    for unit in reversed(units(messages, turn)):
        left = [index for index in unit if index not in chosen]
        tokens = sum(counts[index] for index in left)
        if total + tokens <= limit:
            total += tokens
            chosen.update(left)
        elif mode == "contiguous":
            break
    if len(chosen) < len(messages):
        spoken = [index for index in sorted(chosen) if messages[index].role != "system"]
        chosen -= set(takewhile(lambda index: messages[index].role != "user" and not must(index), spoken))
    return chosen


@given(MESSAGES, st.integers(0, 200), st.sampled_from(["best-fit", "contiguous", "memory-only"]), st.data())
def test_the_messages_that_stay_are_those_of_the_obvious_way(
    drawn: list[tuple[Any, str, int]], limit: int, mode: Any, data: st.DataObject
) -> None:
    """Units that are partly obliged to stay aside: a run's own calls and results have one source."""
    messages: list[PromptMessage] = []
    for number, (role, source, _) in enumerate(drawn):
        before = messages[-1] if messages else None
        if role != "tool":
            messages.append(message(role, source, number))
        elif before is not None and before.role in ("assistant", "tool"):
            messages.append(message("tool", before.source or source, number))
        else:
            messages.append(message("user", source, number))
    counts = [tokens for _, _, tokens in drawn]
    users = [index for index, one in enumerate(messages) if one.role == "user"]
    turn = data.draw(st.sampled_from(users)) if users else max(0, len(messages) - 1)
    while turn > 0 and messages[turn].role == "tool":
        turn -= 1

    found = kept(Weighed(messages, counts, 0.0, turn), limit, mode)
    expected = obvious(messages, counts, turn, limit, mode)

    if expected is None:
        assert isinstance(found, TooLong)
    else:
        assert found == sorted(expected)
        assert isinstance(found, list)
        assert sum(counts[index] for index in found) + CONVERSATION_TOKENS <= limit


TEXT = st.text(st.sampled_from("ab c\n.é字 "), max_size=60)
CUTS = st.lists(st.integers(0, 60), max_size=8)


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    return [text[start:end] for start, end in pairwise(places)]


def passed(counter: Any, limit: int, deltas: list[str]) -> tuple[str, Meter]:
    meter = Meter(counter, limit, 0, each=False)
    taken = [meter.take(Chunk("text-delta", {"id": "t", "text": delta})) for delta in deltas]
    return "".join(chunk.text for chunk in taken if chunk is not None), meter


@given(TEXT, CUTS, st.integers(0, 30))
def test_an_answer_is_a_start_of_the_text_and_within_the_limit(text: str, cuts: list[int], limit: int) -> None:
    for counter in (WordCounter(), CharacterEstimate()):
        out, meter = passed(counter, limit, pieces(text, cuts))
        assert text.startswith(out)
        assert counter.count(out) <= limit
        assert meter.over == (out != text)
        if counter.count(text) <= limit:
            assert out == text


@given(st.text(max_size=80) | st.text(st.sampled_from("abAI'st 1.,\n\té字 \u00a0\u3000"), max_size=80), CUTS)
def test_however_a_text_is_cut_its_tokens_are_the_same(text: str, cuts: list[int]) -> None:
    counter = TiktokenCounter()
    if not counter.available:
        return
    out, meter = passed(counter, 10_000, pieces(text, cuts))
    assert (out, meter.passed) == (text, counter.count(text))
