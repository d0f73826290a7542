"""Prompt injection by rules: offline, over the text and its decoded readings."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import Any

import regex

from sluiceway.processors.detectors._phrases import ENGLISH, Phrase
from sluiceway.processors.detectors._phrases_world import WORLD
from sluiceway.processors.detectors._port import Detection, Span
from sluiceway.processors.detectors._views import View, views

__all__ = ["INJECTION_TYPES", "InjectionRules"]

INJECTION_TYPES: tuple[str, ...] = (
    "injection",
    "jailbreak",
    "tool-exfiltration",
    "data-exfiltration",
    "system-override",
    "role-manipulation",
)
"""What the rules tell apart."""

_GAP = r"[\W_]{0,12}"
_UNSURE = 0.3
# "can ignore", "do not ignore", "they ignored": somebody speaks about it, nobody commands it.
_TOLD = regex.compile(
    r"(?i)(?:\b(?:not|never|can|cannot|may|could|might|would|did|does|who|which|they|he|she|we|people|users?|drivers?|students?"
    r"|attackers?|often|sometimes|usually|safely|tends?~to|tempted~to|tries~to|tried~to|try~to|easy~to|likely~to|happens~if~you"
    r"|how~to|when~to|about~to|asks~it~to)|n.t)[\W_]{1,3}\Z".replace("~", r"[\W_]{1,3}")
)
_LOOK_BACK_CHARS = 24
_COMMANDS = ("ignore-", "forget-", "override-", "reveal-", "repeat-")


class _Compiled:
    __slots__ = ("pattern", "phrase")

    def __init__(self, phrase: Phrase) -> None:
        self.phrase = phrase
        source = phrase.pattern
        for words in range(1, 9):
            # A word and what parts it from the one before are taken whole, so that a long run of
            # letters can be read in one way only and a search stays linear.
            between = rf"(?:[\W_]{{1,12}}+[^\W_]{{1,24}}+){{0,{words}}}?{_GAP}"
            source = source.replace(f"~<{words}>", between).replace(f"<{words}>", between)
        self.pattern = regex.compile(source.replace("~", _GAP), regex.IGNORECASE)


@cache
def _compiled() -> tuple[_Compiled, ...]:
    """Return the phrases compiled; at first use, since importing shall cost little."""
    return tuple(_Compiled(phrase) for phrase in (*ENGLISH, *WORLD))


def _add_apart(taken: list[tuple[int, int]], start: int, end: int) -> bool:
    """Add a span to sorted ones unless it overlaps one of them; return whether it was added."""
    at = bisect_left(taken, (start, end))
    if (at < len(taken) and taken[at][0] < end) or (at and taken[at - 1][1] > start):
        return False
    taken.insert(at, (start, end))
    return True


class InjectionRules:
    """Finds attempts to take over the model, by phrases in nine languages. Safe to share.

    The text is read as it stands and with its tricks undone: base64, hex, percent and other
    escapes, digits for letters, look-alike and invisible letters, letters apart, comments. A
    finding's span is the stretch of the original text that it came from; its rule names the
    trick behind a colon, such as `ignore-instructions:base64`.

    Args:
        types: Which of `INJECTION_TYPES` to look for.
        threshold: Findings less sure than this are left out; from 0 to 1.
    """

    __slots__ = ("_rules", "_threshold")

    def __init__(self, types: Sequence[str] = INJECTION_TYPES, *, threshold: float = 0.7) -> None:
        self._rules = [rule for rule in _compiled() if rule.phrase.type in types]
        self._threshold = threshold

    def find(self, text: str) -> tuple[Span, ...]:
        """Return what is in `text`, in text order; spans of two rules may overlap."""
        seen: dict[str, list[tuple[int, int]]] = {}
        spans: list[Span] = []
        for view in views(text):
            # What one reading shows, the next shows again.
            spans.extend(
                span
                for span in self._in_view(view)
                if _add_apart(seen.setdefault(span.rule.partition(":")[0], []), span.start, span.end)
            )
        return tuple(sorted(spans, key=lambda s: (s.start, s.end, s.rule)))

    async def detect(self, text: str, ctx: Any) -> Detection:  # noqa: ARG002 - the port's
        """Return what is in `text`; see `find`."""
        return Detection.of(self.find(text))

    def _in_view(self, view: View) -> list[Span]:
        lowered = view.text.lower()
        return [
            span
            for rule in self._rules
            if not rule.phrase.stems or any(stem in lowered for stem in rule.phrase.stems)
            for match in rule.pattern.finditer(view.text)
            if (span := self._span(view, rule.phrase, match)) is not None
        ]

    def _span(self, view: View, phrase: Phrase, match: regex.Match[str]) -> Span | None:
        score = phrase.score
        if phrase.name.startswith(_COMMANDS):
            before = view.text[max(0, match.start() - _LOOK_BACK_CHARS) : match.start()]
            score -= _UNSURE if _TOLD.search(before) else 0.0
        if score < self._threshold:
            return None
        name = f"{phrase.name}:{view.trick}" if view.trick else phrase.name
        return Span(*view.origin(*match.span()), phrase.type, score, name)
