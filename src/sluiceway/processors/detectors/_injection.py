"""Prompt injection by rules: offline, over the text and its decoded readings."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from time import perf_counter
from typing import Any

import regex

from sluiceway.processors.detectors._concepts import Concepts, lower_case
from sluiceway.processors.detectors._phrases import ENGLISH, Phrase
from sluiceway.processors.detectors._phrases_world import WORLD
from sluiceway.processors.detectors._port import Detection, Span
from sluiceway.processors.detectors._views import View, views
from sluiceway.processors.detectors._weighing import LIGHT, Weighed

__all__ = ["INJECTION_TYPES", "InjectionRules", "meanings_of"]

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
    r"|how~to|when~to|about~to|asks~it~to|told~to|asked~to)|n.t)[\W_]{1,3}\Z".replace("~", r"[\W_]{1,3}")
)
_LOOK_BACK_CHARS = 24
_ABOUT_CHARS = 120
_COMMANDS = ("ignore-", "forget-", "override-", "reveal-", "repeat-", "swapped-")
_QUOTE = regex.compile(r"[\"“„«»「『`][\W_]{0,2}\Z")
_UNQUOTE = regex.compile(r"[^\n\"”“»«」』`]{0,60}[\"”“»«」』`]")
_FIELD = regex.compile(r"\w:[^\n]{0,40}\n")
# These leave most of a text as it is; the others say something else.
_REWRITTEN = frozenset(
    ("leetspeak", "markup", "look-alikes", "hidden-characters", "escapes", "quoted-parts", "comments", "spaced-letters")
)
_WEIGHED = "weighed-"
_SURE_AT = 0.7
_PER_POINT = 0.0005
_SUREST = 0.95


def _mentioned(text: str, match: regex.Match[str], concepts: Concepts) -> bool:
    """Whether what was found is quoted by somebody who speaks about it, or is two fields of a file."""
    start, end = match.span()
    if _FIELD.search(text, start, end):
        return True
    quoted = _QUOTE.search(text, max(0, start - 4), start) and _UNQUOTE.match(text, end)
    return bool(quoted) and concepts.near("meta", (start, end), _ABOUT_CHARS)


class _Reading:
    """A reading of a text, the meanings in it, and what its windows weigh."""

    __slots__ = ("_starts", "concepts", "view", "weighed")

    def __init__(self, view: View, concepts: Concepts, weighed: Sequence[Weighed]) -> None:
        self.view = view
        self.concepts = concepts
        self.weighed = weighed
        self._starts = [one.window[0] for one in weighed]

    def is_light(self, start: int, end: int) -> bool:
        """Whether a stretch lies in windows of which none is near an attack."""
        at = bisect_left(self._starts, end)
        around = [one.points for one in self.weighed[max(0, at - 3) : at] if one.window[1] > start]
        return bool(around) and max(around) < LIGHT


def meanings_of(text: str) -> Iterator[tuple[View, Concepts]]:
    """Yield the readings of a text, and the meanings in each; but for those that say no more than the text itself."""
    plain: Concepts | None = None
    for view in views(text):
        concepts = Concepts(lower_case(view.text))
        plain = plain or concepts
        if view.trick not in _REWRITTEN or concepts.says_more_than(plain) or len(view.text) * 2 <= len(text):
            yield view, concepts


def _readings(text: str) -> list[_Reading]:
    return [_Reading(view, concepts, concepts.weigh(view.trick)) for view, concepts in meanings_of(text)]


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


def _overlaps(taken: Sequence[tuple[int, int]], span: Span) -> bool:
    """Whether a span shares a character with one of these, which are sorted."""
    at = bisect_left(taken, (span.end,))
    return any(end > span.start for _, end in taken[max(0, at - 8) : at])


def _once(found: Iterable[Iterable[Span]]) -> Iterator[Span]:
    """Yield the findings but for those that another reading has shown already."""
    seen: dict[str, list[tuple[int, int]]] = {}
    for span in chain.from_iterable(found):
        if _add_apart(seen.setdefault(span.rule.partition(":")[0], []), span.start, span.end):
            yield span


def _add_apart(taken: list[tuple[int, int]], start: int, end: int) -> bool:
    """Add a span to sorted ones unless it overlaps one of them; return whether it was added."""
    at = bisect_left(taken, (start, end))
    if (at < len(taken) and taken[at][0] < end) or (at and taken[at - 1][1] > start):
        return False
    taken.insert(at, (start, end))
    return True


def _named(rule: str, view: View) -> str:
    return f"{rule}:{view.trick}" if view.trick else rule


class InjectionRules:
    """Finds attempts to take over the model: phrases, and signs in sixteen languages that are weighed together.

    Safe to share.

    The text is read as it stands and with its tricks undone: base64, hex, percent and other
    escapes, digits for letters, look-alike and invisible letters, letters apart, comments. A
    finding's span is the stretch of the original text that it came from; its rule names the
    trick behind a colon, such as `ignore-instructions:base64`. Where many signs stand together the
    rule is named by the meaning that speaks loudest, such as `weighed-reveal`, and the score tells how
    much they outweigh what speaks against them.

    Args:
        types: Which of `INJECTION_TYPES` to look for.
        threshold: Findings less sure than this are left out; from 0 to 1.
    """

    __slots__ = ("_rules", "_threshold", "_types")

    def __init__(self, types: Sequence[str] = INJECTION_TYPES, *, threshold: float = 0.7) -> None:
        self._rules = [rule for rule in _compiled() if rule.phrase.type in types]
        self._threshold = threshold
        self._types = frozenset(types)

    def find(self, text: str) -> tuple[Span, ...]:
        """Return what is in `text`, in text order; spans of two rules may overlap."""
        made = _readings(text)
        spans = list(_once(self._matches(rule, one) for one in made for rule in self._rules))
        # What a phrase has found needs no second finding with a vaguer name.
        taken = sorted((span.start, span.end) for span in spans)
        apart: list[tuple[int, int]] = []
        weighed = sorted(chain.from_iterable(map(self._outweighing, made)), key=lambda span: -span.score)
        spans += [span for span in weighed if not _overlaps(taken, span) and _add_apart(apart, span.start, span.end)]
        return tuple(sorted(spans, key=lambda s: (s.start, s.end, s.rule)))

    def profile(self, text: str) -> dict[str, float]:
        """Return how many seconds each rule takes for all readings of `text`; `readings` is making these."""
        began = perf_counter()
        made = _readings(text)
        taken = {"readings": perf_counter() - began}
        for rule in self._rules:
            began = perf_counter()
            for one in made:
                list(self._matches(rule, one))
            taken[rule.phrase.name] = perf_counter() - began
        return taken

    async def detect(self, text: str, ctx: Any) -> Detection:  # noqa: ARG002 - the port's
        """Return what is in `text`; see `find`."""
        return Detection.of(self.find(text))

    def _outweighing(self, one: _Reading) -> Iterator[Span]:
        """Yield the stretches where many weak signs stand together."""
        for found in one.weighed:
            score = min(_SUREST, round(_SURE_AT + _PER_POINT * found.points, 4))
            if found.points >= 0 and score >= self._threshold and found.type in self._types:
                yield Span(*one.view.origin(*found.stretch), found.type, score, _named(_WEIGHED + found.name, one.view))

    def _matches(self, rule: _Compiled, one: _Reading) -> Iterator[Span]:
        """Yield what a rule of phrases finds."""
        view = one.view
        if rule.phrase.stems and not any(stem in one.concepts.text for stem in rule.phrase.stems):
            return
        for match in rule.pattern.finditer(view.text):
            span = self._span(view, rule.phrase, match)
            if span is not None and not one.is_light(*match.span()) and not _mentioned(view.text, match, one.concepts):
                yield span

    def _span(self, view: View, phrase: Phrase, match: regex.Match[str]) -> Span | None:
        score = phrase.score
        if phrase.name.startswith(_COMMANDS):
            before = view.text[max(0, match.start() - _LOOK_BACK_CHARS) : match.start()]
            score -= _UNSURE if _TOLD.search(before) else 0.0
        if score < self._threshold:
            return None
        return Span(*view.origin(*match.span()), phrase.type, score, _named(phrase.name, view))
