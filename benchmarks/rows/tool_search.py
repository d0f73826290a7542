"""A search over 10 to 10,000 tools."""

from __future__ import annotations

from time import perf_counter

from benchmarks._row import Row, Size, time
from sluiceway.processors.context._bm25 import ToolIndex
from sluiceway.tools import Tool

SIZES = (10, 100, 1_000, 10_000)
TARGET_MS = 5.0
VERBS = ("get", "list", "create", "delete", "update", "send", "find", "copy", "move", "archive")
NOUNS = ("user", "order", "invoice", "mail", "ticket", "file", "report", "chart", "event", "note")
KINDS = ("", "item", "draft", "row", "page", "log", "tag", "job", "key", "list")
QUERIES = (
    "send mail draft",
    "get the page and return the tag of a given account",
    "delete invoice of account",
    "find user orders and send an email with a report chart to the account",
)


def tools(count: int) -> list[Tool]:
    """Return so many tools with names and descriptions of a few common words and some rare ones."""
    made: list[Tool] = []
    for number in range(count):
        verb, noun, kind = VERBS[number % 10], NOUNS[number // 10 % 10], KINDS[number // 100 % 10]
        text = f"{verb.title()}s the {kind} of a {noun} of a given account and returns {NOUNS[number % 7]} {number}."
        made.append(Tool(f"{verb}_{noun}_{kind}_{number}", text))
    return made


async def measure(size: Size) -> list[Row]:
    """Measure the slowest of a few queries, the least of several rounds each."""
    rows: list[Row] = []
    made = tools(SIZES[-1])
    for count in SIZES:
        index = ToolIndex(made[:count])
        slowest_ms = max(best_ms(index, query, size.rounds) for query in QUERIES)
        if count == SIZES[-1]:
            limit = 4 * TARGET_MS
            name = f"tool search: {count:,} tools"
            rows.append(Row(name, "on this machine", slowest_ms, "ms", TARGET_MS, limit=limit))
        else:
            rows.append(time(f"tool search: {count:,} tools", slowest_ms, "ms", TARGET_MS))
    return rows


def best_ms(index: ToolIndex, query: str, rounds: int) -> float:
    """Return the least time of a query."""
    times: list[float] = []
    for _ in range(rounds):
        started = perf_counter()
        index.search(query, 5)
        times.append(perf_counter() - started)
    return min(times) * 1e3
