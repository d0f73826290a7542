"""Edits of several texts that are read as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sluiceway.messages import TextPart

__all__ = ["edit_texts"]


def edit_texts(parts: Sequence[TextPart], edits: Iterable[tuple[int, int, str]]) -> None:
    """Redact stretches of the texts of several parts, by offsets of these texts joined.

    The new text of a stretch over several parts stands where the stretch begins.

    Args:
        parts: The parts, in order.
        edits: Start, end and new text of each; in order and apart from each other.
    """
    pending = list(edits)
    offset = at = 0
    for part in parts:
        end = offset + len(part.text)
        own: list[tuple[int, int, str]] = []
        while at < len(pending):
            first, last, new = pending[at]
            if first >= end:
                break
            own.append((max(first, offset) - offset, min(last, end) - offset, new if first >= offset else ""))
            if last > end:
                break
            at += 1
        part.edit_all(own, redact=True)
        offset = end
