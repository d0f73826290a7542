"""Overlapping spans become one finding over their whole range."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sluiceway.processors.detectors._port import Span

__all__ = ["Finding", "unite"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One stretch of text to act on.

    Args:
        start: Offset of the first character.
        end: Offset behind the last character.
        spans: What was found in it, the longest first; a span that stands alone is the only one.
    """

    start: int
    end: int
    spans: tuple[Span, ...]

    @property
    def type(self) -> str:
        """The type of the longest span."""
        return self.spans[0].type

    @property
    def whole(self) -> bool:
        """Whether the longest span is all of the range."""
        longest = self.spans[0]
        return longest.start == self.start and longest.end == self.end

    def moved(self, by: int) -> Finding:
        """Return the same finding with its offsets counted from elsewhere."""
        spans = tuple(Span(s.start + by, s.end + by, s.type, s.score, s.rule) for s in self.spans)
        return Finding(self.start + by, self.end + by, spans)


def unite(spans: Iterable[Span]) -> list[Finding]:
    """Return the findings of spans in any order: those that share a character become one.

    Named after the longest; of equally long ones after the surer, then the first by name, so
    that the outcome hangs neither on the order of rules nor on how a stream was cut.

    Args:
        spans: In any order.
    """
    findings: list[Finding] = []
    group: list[Span] = []
    end = 0
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        if group and span.start >= end:
            findings.append(_finding(group, end))
            group = []
        end = max(end, span.end) if group else span.end
        group.append(span)
    if group:
        findings.append(_finding(group, end))
    return findings


def _finding(group: list[Span], end: int) -> Finding:
    start = group[0].start
    group.sort(key=lambda s: (s.start - s.end, -s.score, s.start, s.type, s.rule))
    return Finding(start, end, tuple(group))
