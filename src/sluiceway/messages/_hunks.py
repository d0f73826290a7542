"""Edits of a text, as hunks in the coordinates of the text that they began from."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Edit", "Hunk", "Track", "apply_hunks", "changed_span", "diff"]

Edit: TypeAlias = "tuple[int, int, str, bool, bool]"
"""Start, end (of the text before it), new text, whether it redacts, whether it is exact."""

_Piece: TypeAlias = "tuple[int, int, str | None, bool, bool]"
"""Base start, base end, the text that stands there now (None: the base's own), redact, exact."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One stretch of a base text and what replaces it.

    Args:
        start: Where it begins in the base text.
        end: Where it ends there; equal to `start` for an insert.
        text: What stands there now.
        redact: Whether it takes out something that must not come back.
        exact: Whether the span was given by the editor, not found by comparing.
    """

    start: int
    end: int
    text: str
    redact: bool = False
    exact: bool = True


def changed_span(old: str, new: str) -> tuple[int, int, int]:
    """Return start and end of what differs in the old text, and its end in the new one.

    By common prefix and suffix, the prefix first.
    """
    limit = min(len(old), len(new))
    prefix = _common(old, new, limit)
    rest = limit - prefix
    suffix = 0
    if rest:
        suffix = _common_end(old, new, rest)
    return prefix, len(old) - suffix, len(new) - suffix


def diff(old: str, new: str) -> tuple[Hunk, ...]:
    """Return the one inexact hunk between two texts, or nothing where they are equal."""
    if old == new:
        return ()
    start, end, new_end = changed_span(old, new)
    return (Hunk(start, end, new[start:new_end], redact=False, exact=False),)


def apply_hunks(base: str, hunks: Iterable[Hunk]) -> str:
    """Return the text that ascending, disjoint hunks make of the base."""
    out: list[str] = []
    position = 0
    for hunk in hunks:
        out += (base[position : hunk.start], hunk.text)
        position = hunk.end
    out.append(base[position:])
    return "".join(out)


def _common(old: str, new: str, limit: int) -> int:
    low, high = 0, limit
    while low < high:  # bisection over slices: ten megabytes take milliseconds
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(old: str, new: str, limit: int) -> int:
    low, high = 0, limit
    size, other = len(old), len(new)
    while low < high:
        middle = (low + high + 1) // 2
        if old[size - middle : size - low] == new[other - middle : other - low]:
            low = middle
        else:
            high = middle - 1
    return low


class Track:
    """The edits of one text since its base, in batches that are applied in one pass each.

    Edits that come in ascending or descending order join one batch, so that replaying them
    is linear in their number.
    """

    __slots__ = ("_batches", "_shift", "base")

    def __init__(self, base: str) -> None:
        self.base = base
        self._batches: list[list[Edit]] = []
        self._shift = 0

    @property
    def edited(self) -> bool:
        """Whether any edit was noted."""
        return bool(self._batches)

    def copy(self) -> Track:
        """Return a track that goes on by itself."""
        new = Track(self.base)
        new._batches = [list(batch) for batch in self._batches]
        new._shift = self._shift
        return new

    def add(self, start: int, end: int, text: str, *, redact: bool, exact: bool) -> None:
        """Note one edit, in coordinates of the text as it stands."""
        batch = self._batches[-1] if self._batches else None
        if batch:
            if end <= batch[0][0]:
                batch.insert(0, (start, end, text, redact, exact))
                self._shift += len(text) - (end - start)
                return
            if start >= batch[-1][1] + self._shift:
                batch.append((start - self._shift, end - self._shift, text, redact, exact))
                self._shift += len(text) - (end - start)
                return
        self._batches.append([(start, end, text, redact, exact)])
        self._shift = len(text) - (end - start)

    def add_all(self, edits: Sequence[tuple[int, int, str]], *, redact: bool) -> None:
        """Note several edits at once: ascending, disjoint, in coordinates of one text."""
        self._batches.append([(start, end, text, redact, True) for start, end, text in edits])
        self._shift = sum(len(text) - (end - start) for start, end, text in edits)

    def hunks(self) -> tuple[Hunk, ...]:
        """Return what all edits come to, ascending, in coordinates of the base."""
        pieces: list[_Piece] = [(0, len(self.base), None, False, True)]
        for batch in self._batches:
            pieces = _apply(pieces, batch)
        out: list[Hunk] = []
        for start, end, text, redact, exact in pieces:
            if text is None or (text == self.base[start:end] and not redact):
                continue
            if out and start == end == out[-1].start == out[-1].end:
                last = out.pop()
                out.append(Hunk(start, end, last.text + text, last.redact and redact, last.exact and exact))
            else:
                out.append(Hunk(start, end, text, redact, exact))
        return tuple(out)


def _apply(pieces: list[_Piece], batch: list[Edit]) -> list[_Piece]:
    walk = _Walk(pieces)
    for i, edit in enumerate(batch):
        if edit[0] < walk.position:
            # Starts inside an earlier replacement that the edit before took in whole:
            # what is left of the batch goes over the outcome, in a pass of its own.
            shift = sum(len(text) - (end - start) for start, end, text, _, _ in batch[:i])
            rest = [(s + shift, e + shift, t, r, x) for s, e, t, r, x in batch[i:]]
            return _apply(walk.finish(), rest)
        walk.replace(edit)
    return walk.finish()


class _Walk:
    """One pass over pieces that replaces stretches of the current text, ascending."""

    __slots__ = ("_index", "_out", "_pieces", "_rest", "position")

    def __init__(self, pieces: list[_Piece]) -> None:
        self._pieces = pieces
        self._index = 0
        self._rest: _Piece | None = pieces[0] if pieces else None
        self._out: list[_Piece] = []
        self.position = 0

    def replace(self, edit: Edit) -> None:
        start, end, text, redact, exact = edit
        self._pass_up_to(start)
        piece = self._rest
        begin = self._base_here()
        stop = begin
        prefix = suffix = ""
        if piece is not None and self.position < start:
            if piece[2] is None:
                begin = stop = piece[0] + start - self.position
                self._out.append((piece[0], begin, None, False, True))
                self._rest = (begin, piece[1], None, False, True)
                self.position = start
            else:
                prefix = piece[2][: start - self.position]
        size = len(text)
        while (piece := self._rest) is not None and self.position < max(end, start + bool(prefix)):
            length = _length(piece)
            if piece[2] is None:
                taken = min(length, end - self.position)
                stop = piece[0] + taken
                self._take(piece, taken)
                continue
            stop = piece[1]
            redact, exact = redact and piece[3], exact and piece[4]
            suffix = piece[2][end - self.position :] if self.position + length > end else ""
            self.position += length
            self._next()
        if size or begin != stop or prefix or suffix:
            self._out.append((begin, stop, prefix + text + suffix, redact, exact))

    def finish(self) -> list[_Piece]:
        while self._rest is not None:
            self._out.append(self._rest)
            self._next()
        return self._out

    def _pass_up_to(self, start: int) -> None:
        while (piece := self._rest) is not None and self.position + _length(piece) <= start:
            self._out.append(piece)
            self.position += _length(piece)
            self._next()

    def _take(self, piece: _Piece, taken: int) -> None:
        self.position += taken
        if taken == piece[1] - piece[0]:
            self._next()
        else:
            self._rest = (piece[0] + taken, piece[1], None, False, True)

    def _next(self) -> None:
        self._index += 1
        self._rest = self._pieces[self._index] if self._index < len(self._pieces) else None

    def _base_here(self) -> int:
        if self._rest is not None:
            return self._rest[0]
        return self._out[-1][1] if self._out else 0


def _length(piece: _Piece) -> int:
    return piece[1] - piece[0] if piece[2] is None else len(piece[2])
