"""What has to go from a text so that nothing is found in what is left of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final

from sluiceway.processors.detectors import Finding, Span, unite

__all__ = ["NEUTRAL", "neutralised"]

NEUTRAL: Final = "[removed]"
"""What stands in the place of a finding."""

_ROUNDS: Final = 4


def neutralised(text: str, findings: Sequence[Finding], find: Callable[[str], Sequence[Span]]) -> Sequence[Finding]:
    """Return the findings, and what else it takes until nothing is found in what is left; in the end all of the text.

    A finding may be the first words of an attack, and what goes on behind it is one still.

    Args:
        text: The text.
        findings: What is in it, in text order and apart.
        find: Finds what is in a text.
    """
    spans = [span for one in findings for span in one.spans]
    for _ in range(_ROUNDS):
        taken = unite(spans)
        left, pieces = _left(text, taken)
        more = [_moved(span, pieces) for span in find(left)]
        if not more:
            return taken
        spans += more
    return unite([*spans, Span(0, len(text), spans[0].type, spans[0].score, spans[0].rule)])


def _left(text: str, taken: Sequence[Finding]) -> tuple[str, Sequence[tuple[int, int, int]]]:
    """Return the text without what is taken, and its pieces: where each begins, and whence it came.

    Every second piece, from the second on, stands in the place of something.
    """
    out: list[str] = []
    pieces: list[tuple[int, int, int]] = []
    size = position = 0
    for start, end, shown in [*((one.start, one.end, NEUTRAL) for one in taken), (len(text), len(text), "")]:
        kept = text[position:start]
        pieces += (size, position, start), (size + len(kept), start, end)
        out += kept, shown
        size += len(kept) + len(shown)
        position = end
    return "".join(out), pieces


def _moved(span: Span, pieces: Sequence[tuple[int, int, int]]) -> Span:
    """Return a span of what is left as one of the text; what stands in the place of something is all of that."""
    (start, _), (_, end) = (_origin(at, pieces) for at in (span.start, span.end - 1))
    return Span(start, end, span.type, span.score, span.rule)


def _origin(at: int, pieces: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
    index = bisect_right(pieces, at, key=lambda piece: piece[0]) - 1
    begins, start, end = pieces[index]
    return (start, end) if index % 2 else (start + at - begins, start + at - begins + 1)
