"""Runs: how stretches of a stream's input became its output, and how two steps of that compose.

Positions are counted over what came in: a character of a delta is one, any other chunk is one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from sluiceway.messages import Chunk

__all__ = ["DELTAS", "Run", "compose", "split_chunks", "width"]

DELTAS: Final = frozenset({"text-delta", "reasoning-delta"})


def width(chunk: Chunk) -> int:
    """Return how many positions a chunk takes."""
    return (len(chunk.text) or 1) if chunk.type in DELTAS else 1


class Run:
    """A stretch of `n_in` positions that became these chunks, `n_out` positions of them.

    Args:
        same: Whether they are what came in; such a run can be split anywhere.
        exact: Whether it is one edit by span, and no more than that.
        glue: Whether it and the next run are one edit that must not be parted.
    """

    __slots__ = ("chunks", "exact", "glue", "n_in", "n_out", "same")

    def __init__(
        self,
        n_in: int,
        chunks: Sequence[Chunk],
        *,
        same: bool = False,
        exact: bool = False,
        glue: bool = False,
    ) -> None:
        self.n_in = n_in
        self.chunks = chunks
        self.n_out = n_in if same else sum(map(width, chunks))
        self.same = same
        self.exact = exact
        self.glue = glue

    def split(self, n: int) -> tuple[Run, Run]:
        """Part an unchanged run behind `n` positions."""
        left, right = split_chunks(self.chunks, n)
        return Run(n, left, same=True), Run(self.n_in - n, right, same=True)


def split_chunks(chunks: Iterable[Chunk], n: int) -> tuple[list[Chunk], list[Chunk]]:
    """Part chunks behind `n` positions; a delta that lies across is split."""
    left: list[Chunk] = []
    right: list[Chunk] = []
    for chunk in chunks:
        size = width(chunk)
        if n >= size:
            left.append(chunk)
            n -= size
        elif n > 0:
            left.append(chunk.replace(text=chunk.text[:n]))
            right.append(chunk.replace(text=chunk.text[n:]))
            n = 0
        else:
            right.append(chunk)
    return left, right


def compose(first: deque[Run], then: deque[Run]) -> list[Run]:
    """Compose what one processor did with what the next made of it, as far as both go.

    Unchanged stretches stay unchanged. An edit of either widens until both sides end at one
    place. What cannot be composed yet stays in the two queues.
    """
    out: list[Run] = []
    while first and then:
        a, b = first[0], then[0]
        if a.same and b.same:
            n = min(a.n_out, b.n_in)
            _take(first, n)
            out.append(_take(then, n))
            continue
        joined = _joined(first, then)
        if joined is None:
            break
        out.append(joined)
    while first and not first[0].n_out and not first[0].same:  # taken out, and nobody after saw it
        a = first.popleft()
        out.append(Run(a.n_in, (), exact=a.exact, glue=a.glue))
    return out


def _take(queue: deque[Run], n: int) -> Run:
    """Take the next run; of an unchanged one no more than `n` positions."""
    run = queue.popleft()
    if run.same and run.n_in > n:
        run, rest = run.split(n)
        queue.appendleft(rest)
    return run


def _joined(first: deque[Run], then: deque[Run]) -> Run | None:
    """Take an edit and whatever it touches on the other side; None where some of that is not there yet."""
    before, after = deque(first), deque(then)
    taken: list[Run] = []
    made: list[Run] = []
    (taken if not before[0].same else made).append((before if not before[0].same else after).popleft())
    while (gap := sum(r.n_out for r in taken) - sum(r.n_in for r in made)) != 0:
        queue, into = (before, taken) if gap < 0 else (after, made)
        if not queue:
            return None
        into.append(_take(queue, abs(gap)))
    first.clear()
    first.extend(before)
    then.clear()
    then.extend(after)
    edits = [run for run in (*taken, *made) if not run.same]
    return Run(
        sum(run.n_in for run in taken) if taken else sum(run.n_in for run in made),
        [chunk for run in made for chunk in run.chunks] if made else (),
        exact=len(edits) == 1 and edits[0].exact,
        glue=any(run.glue for run in (*taken[-1:], *made[-1:])),
    )
