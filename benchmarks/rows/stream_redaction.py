"""Redaction of a text that arrives in pieces, against looking at each piece alone, which is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks._measure import least
from benchmarks._prose import prose
from benchmarks._row import Row, Size, ratio, time
from sluiceway.processors.detectors import HoldBack, PIIRules, Rule, find

OWN_RULES = {
    "employee": r"EMP-\d{6}",
    "ticket": r"(?<![A-Z])[A-Z]{2,5}-\d{2,6}(?!\d)",
    "plate": r"(?<![A-Z])[A-Z]{1,3}-[A-Z]{2} \d{1,4}(?!\d)",
    "invoice": r"INV\d{8}",
    "project": ["Blue Heron", "Night Owl", "Grey Seal"],
}
"""Rules that a user adds to the catalogue's fifteen."""


def pieces(text: str, length: int) -> list[str]:
    """Cut the text."""
    return [text[start : start + length] for start in range(0, len(text), length)]


def redact(rules: Sequence[Rule], chunks: Sequence[str]) -> int:
    """Stream the chunks through a window; return how many characters came out."""
    window = HoldBack(rules)
    released = sum(window.feed(chunk).length for chunk in chunks)
    return released + window.flush().length


async def measure(size: Size) -> list[Row]:
    """Measure chunks of 20 characters, then of 100 against the whole text at once."""
    rules = PIIRules(custom=OWN_RULES).rules
    text = prose(size.n * 4)
    short, long = pieces(text, 20), pieces(text, 100)

    async def windowed() -> None:
        assert redact(rules, short) == len(text)

    async def alone() -> None:
        for chunk in short:
            find(rules, chunk)

    async def wide() -> None:
        assert redact(rules, long) == len(text)

    async def whole() -> None:
        find(rules, text)

    window_s, alone_s, wide_s, whole_s = await least(size.rounds // 2, windowed, alone, wide, whole)
    chunk_us = window_s / len(short) * 1e6
    name = f"stream redaction, {len(rules)} rules"
    return [
        ratio(f"{name}, 20 characters", "each chunk alone", window_s / alone_s, 4.0),
        time(f"{name}, 20 characters", chunk_us, "µs", 60.0),
        ratio(f"{name}, 100 characters", "the whole text", wide_s / whole_s, 5.0),
    ]
