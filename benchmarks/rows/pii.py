"""The whole catalogue of personal data on prose, against one alternation of its patterns."""

from __future__ import annotations

from collections.abc import Sequence

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
    patterns = [rule.pattern for rule in rules.rules if isinstance(rule.pattern, regex.Pattern)]
    joined = regex.compile("|".join(f"(?:{pattern.pattern})" for pattern in patterns), flags(patterns))

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


def flags(patterns: Sequence[regex.Pattern[str]]) -> int:
    """Return the flags that most patterns share; an alternation can have only one set."""
    each = [pattern.flags for pattern in patterns]
    return max(each, key=each.count)
