"""Which messages of a prompt stay when it is too long."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from typing import Final, Literal, TypeAlias

from sluiceway.messages import PromptMessage
from sluiceway.processors.context._token_count import CONVERSATION_TOKENS, TokenCounts
from sluiceway.tools import Tool

__all__ = ["TooLong", "TrimMode", "Weighed", "kept", "weighed"]

_NOISE: Final = 1e-6
"""Sums of tenths are off by less than this; what fits exactly has to fit."""

TrimMode: TypeAlias = Literal["best-fit", "contiguous", "memory-only"]


@dataclass(frozen=True, slots=True)
class TooLong:
    """What cannot be left out does not fit.

    Args:
        reason: Why, with the numbers.
        numbers: The numbers by name.
    """

    reason: str
    numbers: dict[str, int]


@dataclass(frozen=True, slots=True)
class Weighed:
    """A prompt and the tokens of everything in it.

    Args:
        messages: Of the prompt.
        counts: Of each message.
        tools: Of the definitions of the tools.
        turn: Where the newest message of the user stands; it and all behind it has to stay.
    """

    messages: Sequence[PromptMessage]
    counts: Sequence[float]
    tools: float
    turn: int

    @property
    def total(self) -> float:
        """What the whole prompt comes to."""
        return sum(self.counts) + self.tools + CONVERSATION_TOKENS - _NOISE


def weighed(messages: Sequence[PromptMessage], tools: Sequence[Tool], turn: int, counts: TokenCounts) -> Weighed:
    """Return a prompt with the tokens of everything in it.

    Where there is no message of the user, the newest of all is what has to stay.
    """
    if turn >= len(messages):
        turn = _unit_start(messages, len(messages) - 1) if messages else 0
    return Weighed(messages, counts.messages(messages), counts.tools(tools), turn)


def kept(prompt: Weighed, limit: int, mode: TrimMode) -> list[int] | TooLong:
    """Return which messages stay; what has to stay is more than the limit: why not.

    System messages, the newest message of the user and the run's own calls and results stay.
    Of the others the newest that fit do: `contiguous` ends at the first that does not,
    `best-fit` leaves it out and goes on, `memory-only` likewise, but looks only at what came
    out of memory. A call stays with its result, and what is sent begins with a message of the
    user.
    """
    messages, counts, turn = prompt.messages, prompt.counts, prompt.turn
    stays = _stays(messages[:turn], only_memory=mode == "memory-only")
    fixed = sum(counts[i] for i in stays) + sum(counts[turn:]) + prompt.tools + CONVERSATION_TOKENS - _NOISE
    if fixed > limit:
        return _too_long(prompt, limit, fixed)
    room = limit - fixed
    optional = list(counts[:turn])
    for index in stays:
        optional[index] = 0.0
    # The newest that fit without a gap, at the speed of sums; only what is older is looked at one by one.
    sums = list(accumulate(reversed(optional)))
    start = turn - bisect_right(sums, room)
    while start < turn and messages[start].role == "tool" and start not in stays:
        start += 1  # its call does not fit
    room -= sums[turn - start - 1] if start < turn else 0.0
    older = [] if mode == "contiguous" else _fitting(messages[:start], optional, stays, room)
    chosen = sorted({*(i for i in stays if i < start), *older})
    return _begun_with_user(messages, [*chosen, *range(start, len(messages))], stays, turn)


def _stays(head: Sequence[PromptMessage], *, only_memory: bool) -> set[int]:
    """Return which messages before the turn at work have to stay."""
    if only_memory:
        return {i for i, m in enumerate(head) if m.source != "memory"}
    return {i for i, m in enumerate(head) if m.role == "system" or m.source == "response"}


def _fitting(head: Sequence[PromptMessage], counts: Sequence[float], stays: set[int], room: float) -> list[int]:
    """Return the newest units that fit into the room, with gaps."""
    chosen: list[int] = []
    before = len(head)
    for index in [i for i in range(len(head) - 1, -1, -1) if counts[i] <= room]:
        if index >= before or index in stays or counts[index] > room:
            continue
        if index + 1 < len(head) and head[index + 1].role == "tool" and index + 1 not in stays:
            continue  # the end of its unit did not fit
        start = _unit_start(head, index)
        before = start
        tokens = sum(counts[start : index + 1])
        if tokens <= room:
            room -= tokens
            chosen.extend(range(start, index + 1))
    return chosen


def _unit_start(messages: Sequence[PromptMessage], index: int) -> int:
    """Return where the unit begins that ends at `index`: results with the message that asked for them."""
    start = index
    while start > 0 and messages[start].role == "tool":
        start -= 1
    return start if messages[start].role in ("assistant", "tool") else index


def _begun_with_user(messages: Sequence[PromptMessage], chosen: list[int], stays: set[int], turn: int) -> list[int]:
    """Return the choice without what comes before the first message of the user."""
    if len(chosen) == len(messages):
        return chosen
    gone: set[int] = set()
    for index in chosen:
        if messages[index].role == "system":
            continue
        if messages[index].role == "user" or index >= turn or index in stays:
            break
        gone.add(index)
    return [index for index in chosen if index not in gone] if gone else chosen


def _too_long(prompt: Weighed, limit: int, fixed: float) -> TooLong:
    pairs = list(zip(prompt.messages, prompt.counts, strict=True))
    system = sum(n for m, n in pairs if m.role == "system") - _NOISE
    newest = prompt.counts[prompt.turn] if prompt.turn < len(pairs) else 0.0
    numbers = {
        "limit": limit,
        "system": ceil(system),
        "tools": ceil(prompt.tools),
        "newest": ceil(newest),
        "needed": ceil(fixed),
    }
    if system > limit:
        reason = f"the system messages alone are {ceil(system)} tokens, over the limit of {limit}"
    elif system + prompt.tools + CONVERSATION_TOKENS + newest > limit:
        reason = (
            f"no message fits: the newest is {ceil(newest)} tokens, with system messages of {ceil(system)}, "
            f"tools of {ceil(prompt.tools)} and {CONVERSATION_TOKENS} for the conversation over the limit of {limit}"
        )
    else:
        reason = (
            f"what cannot be left out, such as this run's own tool calls and results, is {ceil(fixed)} tokens, "
            f"over the limit of {limit}"
        )
    return TooLong(reason, numbers)
