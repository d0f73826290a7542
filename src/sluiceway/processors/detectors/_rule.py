"""A rule: a pattern, where it can start, and a check of what it matched.

Rules are pure data over the module `regex`. The same rule serves a whole text (`find`) and
a stream (`HoldBack`), so what it may look at is bounded: a check sees the match and at most
`CONTEXT_CHARS` characters before it, and a gate must hit wherever a match can start, also
where the end of the text cuts that start off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import regex

from sluiceway.processors.detectors._patience import Patience
from sluiceway.processors.detectors._port import Span
from sluiceway.processors.detectors._probe import probe_of
from sluiceway.processors.detectors._words import WordMatch, Words

__all__ = ["CONTEXT_CHARS", "Check", "Rule", "find", "opens_with"]

CONTEXT_CHARS = 64
"""How far before a match a check or a lookbehind of a built-in rule may look."""

Check: TypeAlias = Callable[[str, int, int], "tuple[int, int] | None"]
"""`check(text, start, end)`: the span to flag, within the match, or None for none."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One pattern and what belongs to it.

    Args:
        type: What a match is, such as `api-key`.
        name: The rule; a named group of a pattern of our own that took part names it instead.
        pattern: Must not match the empty text. `Words` are a tree of words instead of a pattern.
        check: Narrows or refuses a match; after a refusal the search goes on one further.
        gate: Where a match, or the cut-off beginning of one, can start; None: anywhere.
        needs: A literal that every match contains; `""` for none.
        score: How sure a match is, from 0 to 1.
        bounded: Whether the pattern's matches are of bounded length.
        timeout_s: For patterns that are not our own: see `Patience`.
        lookbehind_chars: How many characters before a match the pattern may look at.
    """

    type: str
    name: str
    pattern: regex.Pattern[str] | Words
    check: Check | None = None
    gate: re.Pattern[str] | None = None
    needs: str = ""
    score: float = 1.0
    bounded: bool = True
    timeout_s: float | None = None
    lookbehind_chars: int = CONTEXT_CHARS
    probe: regex.Pattern[str] | Words = field(init=False, repr=False)

    def __post_init__(self) -> None:
        probe = self.pattern if isinstance(self.pattern, Words) else probe_of(self.pattern)
        object.__setattr__(self, "probe", probe)

    def judge(self, text: str, match: regex.Match[str] | WordMatch) -> Span | None:
        """Return the span to flag for a match, or None if the check refuses it."""
        start, end = match.span()
        if self.check is not None:
            span = self.check(text, start, end)
            if span is None:
                return None
            start, end = span
        # The groups of a pattern that is not our own name what its author likes.
        own = self.timeout_s is None
        name = match.lastgroup.replace("_", "-") if own and match.lastgroup else self.name
        return Span(start, end, self.type, self.score, name)

    def matches(self, text: str) -> Iterator[Span]:
        """Yield the spans of this rule in a whole text, in order.

        Of a bounded rule a span may overlap the one before it, and then ends behind it: a second
        address that begins inside of the first is found too. A rule of unbounded length goes on
        behind its match, or a search would not stay linear.
        """
        if self.needs and self.needs not in text:
            return
        position, size, last = 0, len(text), 0
        search, match_at = self.pattern.search, self.pattern.match
        if self.timeout_s is not None:
            patience = Patience(self.timeout_s, size)
            search, match_at = patience.over(search), patience.over(match_at)
        while position < size:
            if self.gate is None:
                match = search(text, position)
                if match is None:
                    return
            else:
                opening = self.gate.search(text, position)
                if opening is None:
                    return
                position = opening.start()
                match = match_at(text, position)
            span = None if match is None or match.start() == match.end() else self.judge(text, match)
            if span is None:
                position = (position if match is None else match.start()) + 1
            else:
                if span.end > last:
                    last = span.end
                    yield span
                position = span.start + 1 if self.bounded else span.end


def find(rules: Iterable[Rule], text: str) -> tuple[Span, ...]:
    """Return what the rules find in a whole text, in text order; spans of two rules may overlap.

    Args:
        rules: What is looked for.
        text: The whole text.

    Raises:
        TimeoutError: A pattern that is not our own took longer than its limit.
    """
    spans = [span for rule in rules for span in rule.matches(text)]
    spans.sort(key=lambda span: (span.start, span.end))
    return tuple(spans)


def opens_with(literals: Sequence[str], edge: str = r"(?<![0-9A-Za-z])", flags: int = 0) -> re.Pattern[str]:
    r"""Return a gate that hits where one of the literals starts, or starts and is cut off.

    The literals become a trie in which every node may also end at the end of the text, so
    that `AKIA` hits in `…AK` too. The standard library's `re` does this faster than `regex`.

    Args:
        literals: What a match can begin with.
        edge: What must be true just before; a pattern of zero width.
        flags: Flags of the module `re`.
    """
    return re.compile(edge + _trie(list(literals), top=True), flags)


def _trie(words: list[str], *, top: bool = False) -> str:
    if "" in words:
        return ""
    branches: dict[str, list[str]] = {}
    for word in words:
        branches.setdefault(word[0], []).append(word[1:])
    arms = [re.escape(head) + _trie(tails) for head, tails in branches.items()]
    if not top:
        arms.append(r"\Z")
    return f"(?:{'|'.join(arms)})"
