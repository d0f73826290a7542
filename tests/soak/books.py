"""Live a run, and see afterwards that all books agree."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import anyio
import sniffio

from sluiceway.engine import Result
from sluiceway.errors import SluicewayError
from sluiceway.messages import Chunk
from sluiceway.testing import CancelAt, block_texts
from tests.soak.fates import MARK, SECRET, Fate
from tests.soak.world import World

__all__ = ["Ended", "audit", "live"]

How: TypeAlias = Literal["finished", "tripwire", "error", "cancelled"]


@dataclass
class Ended:
    """How a run ended.

    Args:
        fate: What was to happen to it.
        how: What did; more than one is wrong.
        tokens: Input and output, where there is a result.
        run_id: Its id.
        text: What it answered.
        error: The name of what was raised.
    """

    fate: Fate
    how: list[How] = field(default_factory=list["How"])
    tokens: tuple[int, int] | None = None
    run_id: str = ""
    text: str = ""
    error: str = ""


async def live(world: World, fate: Fate) -> Ended:
    """Run it to whatever end it has, and look at all that comes out."""
    ended = Ended(fate)
    with anyio.CancelScope() as scope:
        if fate.ending == "cut":
            scope.deadline = anyio.current_time() + fate.at / 1000
        at = fate.at if fate.ending in ("cancelled", "killed") else 0
        native = fate.ending == "killed" and sniffio.current_async_library() == "asyncio"
        killed = asyncio.current_task() if native else None
        try:
            await CancelAt(_read(world, fate, ended), scope if killed is None else killed, at)
        except asyncio.CancelledError:
            if killed is None or scope.cancel_called:
                raise
            killed.uncancel()
            ended.how.append("cancelled")
    if scope.cancelled_caught:
        ended.how.append("cancelled")
    return ended


async def _read(world: World, fate: Fate, ended: Ended) -> None:
    options: Any = {
        "request_context": {"fate": fate},
        "memory": {"thread": fate.thread, "resource": fate.team},
        "hold": fate.hold,
    }
    said = {"role": "user", "content": fate.said, "id": f"in-{fate.mark}"}
    agent = world.agents[fate.flavour]
    try:
        if fate.ending == "generate":
            _took(world, ended, await agent.generate([said], **options))
            return
        chunks: list[Chunk] = []
        async with agent.stream([said], **options) as stream:
            async for chunk in stream:
                chunks.append(chunk)
                if fate.ending == "left" and len(chunks) >= fate.at // 2 + 1:
                    break
            else:
                _check_chunks(fate, chunks)
                ended.run_id = stream.run_id
                _took(world, ended, await stream.result())
        _look_at(world, fate, chunks)
        if not ended.how:
            ended.how.append("cancelled")
    except SluicewayError as error:
        ended.error = type(error).__name__
        ended.how.append("error")
        ended.run_id = getattr(error, "run_id", None) or ended.run_id
        causes: list[BaseException] = [error]
        while (cause := causes[-1].__cause__) is not None:
            assert cause not in causes, f"{fate.mark}: an error is its own cause: {causes}"
            causes.append(cause)
        world.look(fate, "an error", repr([(one, vars(one)) for one in causes]))


def _took(world: World, ended: Ended, result: Result) -> None:
    ended.how.append("tripwire" if result.tripwire is not None else "finished")
    ended.run_id, ended.text = result.run_id, result.text
    ended.tokens = (result.usage.input_tokens, result.usage.output_tokens)
    world.look(ended.fate, "a result", f"{result!r} {result.response.ui_messages!r}")
    for number in MARK.findall(result.text):
        if int(number) != ended.fate.number and not ended.fate.cached:
            world.leaks.append(f"{ended.fate.mark}: the text of run {number} is in its result: {result.text!r}")


def _check_chunks(fate: Fate, chunks: list[Chunk]) -> None:
    types = [chunk.type for chunk in chunks]
    assert (types.count("finish"), types[-1]) == (1, "finish"), f"{fate.mark} does not end with one finish: {types}"
    assert types.count("error") + types.count("tripwire") <= 1, f"{fate.mark} ended twice: {types}"


def _look_at(world: World, fate: Fate, chunks: list[Chunk]) -> None:
    for chunk in chunks:
        world.look(fate, f"a {chunk.type}", repr(dict(chunk.payload)))
    for text in block_texts(chunks).values():
        world.look(fate, "the text of a block", text)


# -- afterwards


def audit(world: World, runs: list[Ended]) -> dict[str, Any]:
    """Return what does not balance, and the figures."""
    wrong: list[str] = [f"{one.fate.mark} ended {one.how}" for one in runs if len(one.how) != 1]
    wrong += world.leaks
    for one in runs:
        ids = world.runs.get(one.fate.number, set())
        if len(ids) > 1:
            wrong.append(f"{one.fate.mark} has {len(ids)} run ids")
        one.run_id = one.run_id or next(iter(ids), "")
    wrong += _models(world, runs)
    wrong += _ledger(world, runs)
    turns, odd = _threads(world, runs)
    wrong += odd
    return {
        "started": len(runs),
        "ended": dict(Counter(one.how[0] for one in runs)),
        "errors": dict(Counter(one.error for one in runs if one.error)),
        "turns stored": turns,
        "model calls": sum(calls.opened for calls in world.calls.values()),
        "refused calls": sum(calls.refused for calls in world.calls.values()),
        "wrong": wrong,
    }


def _models(world: World, runs: list[Ended]) -> list[str]:
    """Every call that was opened was closed, and no run began twice."""
    wrong: list[str] = []
    for one in runs:
        calls = world.calls.get(one.run_id)
        if calls is None:
            if one.how[0] == "finished":
                wrong.append(f"{one.fate.mark} finished, and never began")
            continue
        if calls.opened != calls.closed:
            wrong.append(f"{one.fate.mark}: {calls.opened} model calls opened, {calls.closed} closed")
        if calls.inputs > 1 or (one.how[0] == "finished" and calls.inputs != 1):
            wrong.append(f"{one.fate.mark} began {calls.inputs} times")
    return wrong


def _ledger(world: World, runs: list[Ended]) -> list[str]:
    """What was booked is what providers said, and what results say; nothing is left set aside."""
    wrong: list[str] = []
    with sqlite3.connect(world.ledger_file) as connection:
        rows = connection.execute(
            "SELECT run_id, estimated, reserved, nano_usd, input_tokens, output_tokens FROM cost_entries"
        ).fetchall()
    connection.close()
    booked: dict[str, list[tuple[int, ...]]] = {}
    for run_id, *row in rows:
        booked.setdefault(run_id, []).append(tuple(row))
    wrong += [f"booked for {run_id}, which nobody knows" for run_id in booked.keys() - world.calls.keys()]
    for one in runs:
        calls = world.calls.get(one.run_id)
        entries = [row for row in booked.get(one.run_id, []) if not row[1]]
        aside = [row for row in entries if row[0] == 0 and row[1]]
        real = sorted((row[3], row[4]) for row in entries if not row[0])
        said = sorted((usage.input_tokens, usage.output_tokens) for usage in calls.said) if calls else []
        if real != said:
            wrong.append(f"{one.fate.mark} ({one.how}): booked {real}, the provider said {said}")
        if aside:
            wrong.append(f"{one.fate.mark}: still set aside: {aside}")
        if any(row[2] != row[3] * 1000 + row[4] * 2000 for row in entries):
            wrong.append(f"{one.fate.mark}: booked at another price: {entries}")
        total = (sum(row[3] for row in entries), sum(row[4] for row in entries))
        if one.tokens is not None and one.tokens != total:
            wrong.append(f"{one.fate.mark}: the result says {one.tokens} tokens, the ledger {total}")
    return wrong


def _turn(one: Ended, thread: str, parts: list[dict[str, Any]]) -> list[str]:
    wrong: list[str] = []
    if one.fate.thread != thread:
        wrong.append(f"{one.fate.mark} is stored in {thread}")
    if any(part["type"] == "tool" and part["state"] == "call" for part in parts):
        wrong.append(f"{one.fate.mark}: a call is stored without its result")
    text = "".join(part.get("text", "") for part in parts if part["type"] == "text")
    if one.text and text != one.text:
        wrong.append(f"{one.fate.mark}: the result says {one.text!r}, what is stored {text!r}")
    return wrong


def _threads(world: World, runs: list[Ended]) -> tuple[int, list[str]]:
    """Every turn is stored whole or not at all, once, and only by runs that may."""
    wrong: list[str] = []
    by_input = {f"in-{one.fate.mark}": one for one in runs}
    stored: Counter[str] = Counter()
    with sqlite3.connect(world.memory_file) as connection:
        rows = connection.execute(
            "SELECT thread_id, id, role, document FROM memory_messages ORDER BY thread_id, position"
        ).fetchall()
        leases = connection.execute("SELECT count(*) FROM memory_leases").fetchone()[0]
    connection.close()
    if leases:
        wrong.append(f"{leases} leases are still held")
    threads: dict[str, list[tuple[str, str, str]]] = {}
    for thread, *row in rows:
        threads.setdefault(thread, []).append(tuple(row))
    for thread, messages in threads.items():
        wrong += [f"a secret is stored in {thread}: {row[2]}" for row in messages if SECRET.search(row[2])]
        if [row[1] for row in messages] != ["user", "assistant"] * (len(messages) // 2):
            wrong.append(f"{thread} is not made of whole turns: {[row[:2] for row in messages]}")
            continue
        for asked, answer in zip(messages[::2], messages[1::2], strict=True):
            stored[asked[0]] += 1
            wrong += _turn(by_input[asked[0]], thread, json.loads(answer[2])["parts"])
    for name, one in by_input.items():
        allowed = {"finished": {1}, "cancelled": {0, 1}}.get(one.how[0], {0})
        if stored[name] not in allowed:
            wrong.append(f"{one.fate.mark} {one.how[0]}, and is stored {stored[name]} times")
    return sum(stored.values()), wrong
