"""`Gate`: where the branches of a `parallel` in the stream meet.

Each branch says, run by run, what it made of the positions that came in. The gate cuts what
came in at the furthest position that every branch has cleared and that lies inside no edit of
any of them, and hands out the segment up to there as each branch made it. So a check that still
looks at text holds it back for all, and a redactor that was picked never lets out what a
sibling has not cleared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import groupby

from sluiceway.errors import MergeConflict
from sluiceway.messages import Chunk
from sluiceway.processors._stream_runs import Run, split_chunks

__all__ = ["Gate", "Segment", "merge_segment"]


class Segment:
    """A stretch of the stream as it came in, and as each branch made it.

    Args:
        base: The chunks as they came in.
        runs: Branch key to its runs, in list order.
    """

    __slots__ = ("base", "runs")

    def __init__(self, base: Sequence[Chunk], runs: dict[str, list[Run]]) -> None:
        self.base = base
        self.runs = runs

    def parts(self, key: str) -> Sequence[Chunk]:
        """Return the chunks that a branch made of it."""
        if all(run.same for run in self.runs[key]):
            return self.base
        return [chunk for run in self.runs[key] for chunk in run.chunks]


class Gate:
    """Holds what came in until every branch has cleared it.

    Args:
        keys: The branches, in list order.
    """

    __slots__ = ("_base", "_keys", "_queues")

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = tuple(keys)
        self._base: deque[Chunk] = deque()
        self._queues: dict[str, deque[Run]] = {key: deque() for key in keys}

    @property
    def empty(self) -> bool:
        """Whether nothing is held."""
        return not self._base

    def enter(self, chunk: Chunk) -> None:
        """Note a chunk that all branches are given."""
        self._base.append(chunk)

    def clear(self, key: str, runs: Sequence[Run]) -> None:
        """Note what a branch has cleared."""
        self._queues[key].extend(runs)

    def take(self) -> Segment | None:
        """Return what every branch has cleared since, or None."""
        cut = self._cut()
        runs = {key: _pop(queue, cut) for key, queue in self._queues.items()}
        if not cut and not any(runs.values()):
            return None
        base, rest = split_chunks(self._base, cut)
        self._base = deque(rest)
        return Segment(base, runs)

    def _cut(self) -> int:
        cut = min(sum(run.n_in for run in queue) for queue in self._queues.values())
        while True:
            lower = min((_edge(queue, cut) for queue in self._queues.values()), default=cut)
            if lower == cut:
                return cut
            cut = lower


def _edge(queue: deque[Run], cut: int) -> int:
    """Return the cut, or the start of the edit that lies across it."""
    at = start = 0
    for run in queue:
        end = at + run.n_in
        if end > cut:
            return cut if run.same and start == at else min(cut, start)
        at = end
        if not run.glue:
            start = at
    return start if start < at else cut


def _pop(queue: deque[Run], cut: int) -> list[Run]:
    taken: list[Run] = []
    while queue and (queue[0].n_in <= cut):
        run = queue.popleft()
        cut -= run.n_in
        taken.append(run)
    if cut and queue:
        left, right = queue.popleft().split(cut)
        queue.appendleft(right)
        taken.append(left)
    return taken


class _Change:
    """An edit of a branch: positions `start` to `end` become the chunks."""

    __slots__ = ("chunks", "end", "exact", "key", "start")

    def __init__(self, key: str, start: int, end: int, chunks: list[Chunk], *, exact: bool) -> None:
        self.key = key
        self.start = start
        self.end = end
        self.chunks = chunks
        self.exact = exact

    def meets(self, other: _Change) -> bool:
        """Whether both change something of the same; an insert at an edge does not."""
        if self.start == self.end and other.start == other.end:
            return self.start == other.start
        return self.start < other.end and other.start < self.end

    def equals(self, other: _Change) -> bool:
        return (self.start, self.end) == (other.start, other.end) and self.chunks == other.chunks


def merge_segment(segment: Segment, prefer: str | None = None) -> Sequence[Chunk]:
    """Return the segment with the edits of all branches.

    Raises:
        MergeConflict: Two branches changed the same positions in different ways.
    """
    changes = [change for key, runs in segment.runs.items() for change in _changes(key, runs)]
    if not changes:
        return segment.base
    keys = {change.key for change in changes}
    if len(keys) == 1:
        return segment.parts(next(iter(keys)))
    order = {key: index for index, key in enumerate(segment.runs)}
    changes.sort(key=lambda change: (change.start, change.end, order[change.key]))
    return _applied(segment.base, [_settled(group, order, prefer) for group in _groups(changes)])


def _changes(key: str, runs: Sequence[Run]) -> list[_Change]:
    changes: list[_Change] = []
    at = 0
    for _, group in groupby(_numbered(runs), key=lambda pair: pair[0]):
        glued = [run for _, run in group]
        n = sum(run.n_in for run in glued)
        if not all(run.same for run in glued):
            chunks = [chunk for run in glued for chunk in run.chunks]
            changes.append(_Change(key, at, at + n, chunks, exact=all(run.exact for run in glued)))
        at += n
    return changes


def _numbered(runs: Sequence[Run]) -> list[tuple[int, Run]]:
    """Number the edits: runs that are glued have one number."""
    out: list[tuple[int, Run]] = []
    number = 0
    for run in runs:
        out.append((number, run))
        if not run.glue:
            number += 1
    return out


def _groups(changes: Sequence[_Change]) -> list[list[_Change]]:
    groups: list[list[_Change]] = []
    for change in changes:
        if groups and any(change.meets(other) for other in groups[-1]):
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _settled(group: list[_Change], order: dict[str, int], prefer: str | None) -> _Change:
    first = min(group, key=lambda change: order[change.key])
    if len({change.key for change in group}) == 1 or all(change.equals(first) for change in group):
        return group[0] if len(group) == 1 else _united(group, first)
    if all(change.exact for change in group):
        return _united(group, first)
    preferred = [change for change in group if change.key == prefer]
    if preferred:
        return _united(preferred, preferred[0])
    other = next(change for change in group if change.key != first.key)
    raise MergeConflict(
        f"{first.key!r} and {other.key!r} both changed the same piece of the stream, in different ways; "
        "pick one with .map(), or give merge.prefer(key)",
        keys=(first.key, other.key),
    )


def _united(group: Sequence[_Change], first: _Change) -> _Change:
    """Make one edit of several over their whole union, with the text of the first in list order."""
    start, end = min(c.start for c in group), max(c.end for c in group)
    return _Change(first.key, start, end, first.chunks, exact=True)


def _applied(base: Sequence[Chunk], changes: Sequence[_Change]) -> list[Chunk]:
    out: list[Chunk] = []
    rest: Sequence[Chunk] = base
    at = 0
    for change in changes:
        same, rest = split_chunks(rest, change.start - at)
        _, rest = split_chunks(rest, change.end - change.start)
        out.extend((*same, *change.chunks))
        at = change.end
    return [*out, *rest]
