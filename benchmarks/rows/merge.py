"""Forks of a long conversation and their merge."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks._measure import least
from benchmarks._row import Row, Size, time
from sluiceway import MessageList
from sluiceway.messages import TextPart
from sluiceway.processors import HookCall

MESSAGES = 1000
BRANCHES = ("a", "b", "c")


def conversation() -> MessageList:
    """Return a list of a thousand messages, as they come from memory."""
    messages = MessageList()
    for number in range(MESSAGES):
        messages.add(f"message {number}: some words that say little", source="memory")
    return messages


def nobody_looks(messages: MessageList) -> None:
    """Touch nothing."""


def all_read(messages: MessageList) -> None:
    """Read every text."""
    for message in messages.all:
        assert message.text


def one_edits(messages: MessageList) -> None:
    """Edit the newest message."""
    part = messages.all[-1].parts[0]
    assert isinstance(part, TextPart)
    part.edit(0, 7, "MESSAGE")


async def measure(size: Size) -> list[Row]:
    """Measure fork, what the branches do, and join."""
    rows: list[Row] = []
    cases: list[tuple[str, list[Callable[[MessageList], None]], float]] = [
        ("nobody looks", [nobody_looks] * 3, 0.1),
        ("all read the text", [all_read] * 3, 6.0),
        ("one edits", [one_edits, all_read, all_read], 6.0),
    ]
    for label, acts, target in cases:
        call = HookCall("process_input", conversation())
        repeats = 20 if target < 1 else 1

        async def work(
            call: HookCall = call, acts: list[Callable[[MessageList], None]] = acts, repeats: int = repeats
        ) -> None:
            for _ in range(repeats):
                forks = {key: call.fork() for key in BRANCHES}
                for fork, act in zip(forks.values(), acts, strict=True):
                    act(fork.message_list)
                call.join(forks)

        [seconds] = await least(size.rounds, work)
        rows.append(time(f"merge 1,000 messages × 3: {label}", seconds / repeats * 1e3, "ms", target))
    return rows
