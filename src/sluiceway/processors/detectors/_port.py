"""The detector port: what looks at a text and says what it found, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

__all__ = ["Classifier", "Detection", "Detector", "Span"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text that a detector flagged. Holds offsets, never the value.

    Args:
        start: Offset of the first character.
        end: Offset behind the last character.
        type: What it is, such as `email`.
        score: How sure the detector is, from 0 to 1.
        rule: The rule that found it, such as `aws-access-key`; the type where there is one rule.
    """

    start: int
    end: int
    type: str
    score: float = 1.0
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Detection:
    """What a detector found in one text.

    Args:
        scores: The highest score per type, from 0 to 1.
        spans: Where, if the detector can say; in text order.
        reason: Why, for people; `""` if there is nothing to say.
        text: What the text should be instead, if the detector can say; else None.
    """

    scores: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    spans: tuple[Span, ...] = ()
    reason: str = ""
    text: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, spans: tuple[Span, ...], reason: str = "") -> Detection:
        """Return a detection whose scores are the highest of the spans, per type.

        Args:
            spans: What was found.
            reason: Why, in a line.
        """
        scores: dict[str, float] = {}
        for span in spans:
            scores[span.type] = max(span.score, scores.get(span.type, 0.0))
        return cls(scores, spans, reason)


@runtime_checkable
class Detector(Protocol):
    """Looks at one text. Must be usable from many tasks at once."""

    async def detect(self, text: str, ctx: Any) -> Detection:
        """Return what is in `text`. `ctx` is the context of the hook that asks."""
        ...


@runtime_checkable
class Classifier(Protocol):
    """Scores texts: a provider's endpoint, or a small model of one's own. Usable from many tasks at once."""

    async def classify(self, texts: Sequence[str]) -> Sequence[Mapping[str, float]]:
        """Return for each text the score of each category, from 0 to 1, in order."""
        ...
