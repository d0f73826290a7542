"""The second step of a long history through the token limiter, against the first."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from benchmarks._prose import prose
from benchmarks._row import Row, Size, growth
from sluiceway.messages import Message, MessageList
from sluiceway.processors import CharacterEstimate, HookCall, HookScope, ProcessorStep, TiktokenCounter, TokenLimiter
from sluiceway.tools import RequestContext

TURNS = 10_000
CHARS = 200


def history(turns: int) -> MessageList:
    """Return a conversation of so many messages, no two alike."""
    roles = ("user", "assistant")
    texts = prose(turns * CHARS)
    return MessageList(
        [
            Message(f"{number}: {texts[number * CHARS : (number + 1) * CHARS]}", role=roles[number % 2])
            for number in range(turns - turns % 2 + 1)
        ]
    )


async def step(limiter: ProcessorStep, messages: MessageList, scope: HookScope) -> float:
    """Run the limiter over the prompt of one step; return the seconds it took."""
    prompt = messages.to_prompt()
    call = HookCall("process_llm_request", messages, overrides={"tools": {}}, prompt=prompt)
    started = perf_counter()
    await limiter.run(call, scope)
    return perf_counter() - started


async def both(turns: int, share: float, rounds: int) -> tuple[float, float]:
    """Return the least seconds of a first and of a second step.

    Args:
        turns: Messages of the history.
        share: How much of the history the limit lets through.
        rounds: How often it is measured.
    """
    counter: Any = TiktokenCounter() if TiktokenCounter().available else CharacterEstimate()
    counter.count("load what there is to load")
    messages = history(turns)
    limit = int(share * turns * CHARS / 4)
    firsts: list[float] = []
    seconds: list[float] = []
    for number in range(rounds):
        limiter = ProcessorStep(TokenLimiter(limit, encoding=counter))
        scope = HookScope(f"run-{number}", RequestContext())
        firsts.append(await step(limiter, messages, scope))
        messages.acting = None
        reply = Message("One more word.", role="assistant", id=f"reply-{number}")
        messages.add(reply, "response")
        seconds.append(await step(limiter, messages, scope))
        messages.acting = None
        messages.remove_by_ids([reply.id])
    return min(firsts), min(seconds)


async def measure(size: Size) -> list[Row]:
    """Measure with a limit that lets all of it through, and with one that lets half of it through."""
    rows: list[Row] = []
    turns = TURNS if size.rounds > 5 else TURNS // 2
    for label, share in (("fits", 2.0), ("is trimmed", 0.5)):
        first, second = await both(turns, share, size.rounds)
        name = f"token limiter: second step of {turns:,} messages that {label}"
        details = {"first_ms": first * 1e3, "second_ms": second * 1e3}
        rows.append(Row(name, "the first step", second / first, "×", 0.02, limit=0.08, details=details))
    curve = [(count, (await both(count, 0.5, size.rounds))[0] * 1e3) for count in (turns // 4, turns // 2, turns)]
    rows.append(growth("time by history, token limiter", curve, "ms"))
    return rows
