"""The whole catalogue of personal data on prose, against one alternation of its patterns."""

from __future__ import annotations

import regex

from benchmarks._measure import least
from benchmarks._prose import prose
from benchmarks._row import Row, Size, ratio
from sluiceway.processors.detectors import PIIRules

CHARS = 200_000


async def measure(size: Size) -> list[Row]:
    """Measure a long text, and the same patterns joined by `|` without their checks."""
    rules = PIIRules()
    text = prose(CHARS)
    joined = regex.compile("|".join(f"(?:{rule.pattern.pattern})" for rule in rules.rules), flags(rules))

    async def ours() -> None:
        rules.find(text)

    async def theirs() -> None:
        for _ in joined.finditer(text):
            pass

    own, base = await least(max(3, size.rounds // 2), ours, theirs)
    speed = CHARS / own / 1e6
    name = "personal data, whole catalogue, prose"
    return [
        Row(name, "on this machine", speed, "MB/s", 1.0, at_least=True),
        ratio(name, "one alternation", own / base, 3.0, found=float(len(rules.find(text)))),
    ]


def flags(rules: PIIRules) -> int:
    """Return the flags that most patterns share; an alternation can have only one set."""
    return max((rule.pattern.flags for rule in rules.rules), key=[r.pattern.flags for r in rules.rules].count)
