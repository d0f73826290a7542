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

from sluiceway.messages import Chunk
from sluiceway.processors._segment import Segment
from sluiceway.processors._stream_runs import Run, split_chunks, width

__all__ = ["Gate"]


class Gate:
    """Holds what came in until every branch has cleared it.

    Args:
        keys: The branches, in list order.
    """

    __slots__ = ("_base", "_keys", "_queues", "_totals")

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = tuple(keys)
        self._base: deque[Chunk] = deque()
        self._queues: tuple[deque[Run], ...] = tuple(deque[Run]() for _ in keys)
        self._totals = [0] * len(self._keys)
        """How many positions each branch has cleared that have not gone out."""

    @property
    def empty(self) -> bool:
        """Whether nothing is held."""
        return not self._base

    def enter(self, chunk: Chunk) -> None:
        """Note a chunk that all branches are given."""
        self._base.append(chunk)

    def clear(self, branch: int, runs: Sequence[Run]) -> None:
        """Note what a branch, told by its place, has cleared."""
        self._queues[branch].extend(runs)
        total = 0
        for run in runs:
            total += run.n_in
        self._totals[branch] += total

    def take(self) -> Segment | None:
        """Return what every branch has cleared since, or None."""
        cut = self._cut()
        if not cut and not any(queue and not queue[0].n_in for queue in self._queues):
            return None
        runs = {key: _pop(queue, cut) for key, queue in zip(self._keys, self._queues, strict=True)}
        for branch in range(len(self._totals)):
            self._totals[branch] -= cut
        return Segment(self._pop_base(cut), runs, cut)

    def _cut(self) -> int:
        cut = min(self._totals)
        while cut:
            lower = min(_edge(queue, cut) for queue in self._queues)
            if lower == cut:
                break
            cut = lower
        return cut

    def _pop_base(self, n: int) -> list[Chunk]:
        base = self._base
        taken: list[Chunk] = []
        while n > 0:
            chunk = base.popleft()
            size = width(chunk)
            if size > n:
                (chunk,), rest = split_chunks((chunk,), n)
                base.extendleft(rest)
            taken.append(chunk)
            n -= size
        return taken


def _edge(queue: deque[Run], cut: int) -> int:
    """Return the cut, or the start of the edit that lies across it."""
    at = start = 0
    for run in queue:
        if run.same:
            start = at
        end = at + run.n_in
        if end > cut:
            return cut if run.same else start
        at = end
        if not run.glue:
            start = at
            if at == cut:
                return cut
    return start


def _pop(queue: deque[Run], cut: int) -> list[Run]:
    """Take the runs up to the cut, and those at it that stand for nothing that came in."""
    taken: list[Run] = []
    while queue and queue[0].n_in <= cut:
        run = queue.popleft()
        cut -= run.n_in
        taken.append(run)
    if cut:
        left, right = queue.popleft().split(cut)
        queue.appendleft(right)
        taken.append(left)
    return taken
