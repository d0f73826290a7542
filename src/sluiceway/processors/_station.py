"""`Station`: one processor of a branch in the stream, and what it did with each position."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from sluiceway.messages import Chunk
from sluiceway.processors._held import Release
from sluiceway.processors._stream import Fed, Passed, StreamRunner
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors._stream_runs import DELTAS, Run, width

__all__ = ["Station"]


class _Cell:
    """A chunk that came in, and the runs of it that are known."""

    __slots__ = ("block", "chunk", "known", "n", "runs")

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.n = width(chunk)
        self.block = str(chunk.get("id", "")) if chunk.type in DELTAS and chunk.text else None
        self.known = 0
        self.runs: list[Run] = []

    @property
    def open(self) -> int:
        """How many of its positions nothing is known of."""
        return self.n - self.known

    def same(self, n: int) -> None:
        """The next `n` positions go on as they are."""
        part = self.chunk
        if n < self.n:
            part = part.replace(text=part.text[self.known : self.known + n])
        self.known += n
        self.runs.append(Run(n, (part,), same=True))

    def edit(self, n: int, chunks: Sequence[Chunk], *, exact: bool = False, glue: bool = False) -> None:
        """The next `n` positions become these chunks."""
        self.known += n
        self.runs.append(Run(n, chunks, exact=exact, glue=glue))


class Station:
    """One entry of a branch. What it lets go comes out in the order in which it came in.

    Args:
        runner: Runs just this entry.
        context: Its context, where it is a processor; says what is held.
    """

    __slots__ = ("_cells", "_context", "_late", "_runner")

    def __init__(self, runner: StreamRunner, context: Any) -> None:
        self._runner = runner
        self._context = context if isinstance(context, StreamContext) else None
        self._cells: deque[_Cell] = deque()
        self._late: list[Run] = []
        if self._context is not None:
            self._context.watch_releases()
        runner.side = []

    @property
    def runner(self) -> StreamRunner:
        """What runs the entry."""
        return self._runner

    @property
    def has_written(self) -> bool:
        """Whether the hook wrote data chunks."""
        return bool(self._runner.side)

    def written(self) -> list[Chunk]:
        """Take the data chunks that the hook wrote."""
        written, self._runner.side = self._runner.side or [], []
        return written

    @property
    def quiet(self) -> bool:
        """Whether everything that came in has gone out."""
        return not self._cells

    def feed(self, chunk: Chunk) -> Fed:
        """Run the hook; `settle` says what came of it."""
        if chunk.type.startswith("data-"):
            return self._runner.push(chunk)
        return self._runner.feed(chunk)

    def passes(self, chunk: Chunk, passed: Passed) -> bool:
        """Whether the chunk went on as it is with nothing else pending."""
        return passed is chunk and not self._cells

    def settle(self, chunk: Chunk, passed: Passed) -> list[Run]:
        """Book what the hook made of a chunk; return the runs that are complete, in order."""
        cell = _Cell(chunk)
        self._cells.append(cell)
        outputs = _listed(passed)
        releases = self._releases()
        tracked = self._context is not None and self._context.has_taken(chunk)
        left = self._book(releases, outputs)
        if tracked and cell.block is None:  # a delta without text: there is nothing of it to hold
            cell.same(1)
        elif tracked:
            self._insert(left)
        elif len(left) == 1 and left[0] is chunk:
            cell.same(cell.open)
        elif any(one is chunk for one in left):
            at = next(i for i, one in enumerate(left) if one is chunk)
            self._insert(left[:at])
            cell.same(cell.open)
            self._insert(left[at + 1 :])
        else:
            cell.edit(cell.open, left)
        return self._ready()

    async def finish(self) -> list[Run]:
        """Have the processor let go of what it holds; what it does not is dropped."""
        outputs = await self._runner.finish()
        left = self._book(self._releases(), outputs)
        for cell in self._cells:
            if cell.open:
                cell.edit(cell.open, ())
        self._insert(left)
        return self._ready()

    async def flush(self, silent_since: float) -> list[Run]:
        """Flush the processor if its time of silence is over."""
        outputs = await self._runner.flush(silent_since)
        left = self._book(self._releases(), outputs)
        self._insert(left)
        return self._ready()

    def _releases(self) -> list[Release]:
        return [] if self._context is None else self._context.take_releases()

    def _book(self, releases: Iterable[Release], outputs: list[Chunk]) -> list[Chunk]:
        """Give the cells of each block what was released of them; return the chunks left over."""
        left = list(outputs)
        for release in releases:
            sent = [chunk for chunk in release.chunks if any(chunk is one for one in left)]
            exact = len(sent) == len(release.chunks) and release.exact
            left = [chunk for chunk in left if not any(chunk is one for one in sent)]
            if exact:
                self._exact(release)
            else:
                made, left = (sent or left), ([] if not sent else left)
                self._inexact(release, made)
        return left

    def _open_cells(self, block: str) -> list[_Cell]:
        return [cell for cell in self._cells if cell.block == block and cell.open]

    def _exact(self, release: Release) -> None:
        cells = deque(self._open_cells(release.block))
        at = 0
        for start, end, text in (*release.edits, (release.n, release.n, "")):
            _same(cells, start - at)
            _edit(cells, end - start, text, final=(start, end) == (release.n, release.n))
            at = end

    def _inexact(self, release: Release, made: Sequence[Chunk]) -> None:
        left = release.n
        for cell in self._open_cells(release.block):
            n = min(left, cell.open)
            left -= n
            if n:
                cell.edit(n, () if left else made, glue=bool(left))

    def _insert(self, chunks: Sequence[Chunk]) -> None:
        """Put in chunks that stand for nothing that came in, behind what is known so far."""
        if not chunks:
            return
        run = Run(0, list(chunks))
        known = [cell for cell in self._cells if cell.runs]
        if known:
            known[-1].runs.append(run)
        elif self._cells:
            self._cells[0].runs.append(run)
        else:
            self._late.append(run)

    def _ready(self) -> list[Run]:
        ready, self._late = self._late, []
        while self._cells:
            cell = self._cells[0]
            ready.extend(cell.runs)
            cell.runs = []
            if cell.open:
                break
            self._cells.popleft()
        return ready


def _same(cells: deque[_Cell], n: int) -> None:
    while n > 0 and cells:
        take = min(n, cells[0].open)
        cells[0].same(take)
        n -= take
        if not cells[0].open:
            cells.popleft()


def _edit(cells: deque[_Cell], n: int, text: str, *, final: bool) -> None:
    """The next `n` positions become a text; it goes out with the last of them."""
    if not n:
        if text and not final and cells:
            cells[0].edit(0, (cells[0].chunk.replace(text=text),), exact=True)
        return
    while n > 0 and cells:
        cell = cells[0]
        take = min(n, cell.open)
        n -= take
        made = (cell.chunk.replace(text=text),) if text and not n else ()
        cell.edit(take, made, exact=True, glue=n > 0)
        if not cell.open:
            cells.popleft()


def _listed(passed: Passed) -> list[Chunk]:
    if passed is None:
        return []
    return [passed] if isinstance(passed, Chunk) else list(passed)
