"""`Station` and `Relay`: one entry of a branch in the stream, and what it did with each position."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from sluiceway.messages import Chunk
from sluiceway.processors._held import Release, block_key
from sluiceway.processors._stream import Fed, Passed, StreamRunner
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors._stream_runs import DELTAS, Run, width

__all__ = ["Relay", "Station", "Tracked"]


class _Cell:
    """A chunk that came in, and the runs of it that are known."""

    __slots__ = ("block", "chunk", "known", "n", "runs")

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.n = width(chunk)
        self.block = block_key(chunk) if chunk.type in DELTAS and chunk.text else None
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

    __slots__ = ("_blocks", "_cells", "_context", "_late", "_runner")

    def __init__(self, runner: StreamRunner, context: Any) -> None:
        self._runner = runner
        self._context = context if isinstance(context, StreamContext) else None
        self._cells: deque[_Cell] = deque()
        self._blocks: dict[str, deque[_Cell]] = {}
        """The cells of each block in order; those that are closed go when they are met."""
        self._late: list[Run] = []
        if self._context is not None:
            self._context.watch_releases()
        runner.side = []

    @property
    def wait_s(self) -> float | None:
        """The time of silence after which it wants to be flushed, or None."""
        return self._runner.wait_s

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
        """Run the hook; `settle` says what came of it. Not for data chunks."""
        return self._runner.feed(chunk)

    async def push(self, chunk: Chunk) -> list[Chunk]:
        """Run a chunk that has no position through the hook."""
        return await self._runner.push(chunk)

    def settle(self, chunk: Chunk, passed: Passed) -> list[Run]:
        """Book what the hook made of a chunk; return the runs that are complete, in order."""
        cell = _Cell(chunk)
        self._cells.append(cell)
        if cell.block is not None:
            self._blocks.setdefault(cell.block, deque()).append(cell)
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
        if cell.block is not None:
            self._prune(cell.block)
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

    def drop(self) -> None:
        """Tell the observer what the hook did."""
        self._runner.drop()

    def _releases(self) -> list[Release]:
        return [] if self._context is None else self._context.take_releases()

    def _book(self, releases: Iterable[Release], outputs: list[Chunk]) -> list[Chunk]:
        """Give the cells of each block what was released of them; return the chunks left over."""
        rest = {id(chunk): chunk for chunk in outputs}
        for release in releases:
            sent = [chunk for chunk in release.chunks if id(chunk) in rest]
            for chunk in sent:
                rest.pop(id(chunk), None)
            if len(sent) == len(release.chunks) and release.exact:
                self._exact(release)
            elif sent:
                self._inexact(release, sent)
            else:
                made = [chunk for chunk in outputs if id(chunk) in rest]
                rest = {}
                self._inexact(release, made)
        return [chunk for chunk in outputs if id(chunk) in rest]

    def _open_cells(self, block: str) -> deque[_Cell]:
        """Return the cells of a block from the first open one on; who closes one takes it out."""
        cells = self._blocks.get(block)
        if cells is None:
            return deque()
        _skip(cells)
        return cells

    def _prune(self, block: str) -> None:
        """Forget closed cells at either end of a block."""
        cells = self._blocks[block]
        _skip(cells)
        while cells and not cells[-1].open:
            cells.pop()
        if not cells:
            del self._blocks[block]

    def _exact(self, release: Release) -> None:
        cells = self._open_cells(release.block)
        at = 0
        for start, end, text in (*release.edits, (release.n, release.n, "")):
            _same(cells, start - at)
            _edit(cells, end - start, text, final=(start, end) == (release.n, release.n))
            at = end

    def _inexact(self, release: Release, made: Sequence[Chunk]) -> None:
        left = release.n
        cells = self._open_cells(release.block)
        while left and cells:
            n = min(left, cells[0].open)
            left -= n
            cells[0].edit(n, () if left else made, glue=bool(left))
            _skip(cells)

    def _insert(self, chunks: Sequence[Chunk]) -> None:
        """Put in chunks that stand for nothing that came in, behind what is known so far."""
        if not chunks:
            return
        run = Run(0, list(chunks))
        known = next((cell for cell in reversed(self._cells) if cell.runs), None)
        if known is not None:
            known.runs.append(run)
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


class Tracked(Protocol):
    """A fork or choice inside a branch: it says itself which run became which."""

    @property
    def quiet(self) -> bool:
        """Whether everything that came in has gone out."""
        ...

    @property
    def side(self) -> list[Chunk]:
        """Data chunks that its processors wrote."""
        ...

    @property
    def wait_s(self) -> float | None:
        """The time of silence after which one of its processors wants to be flushed."""
        ...

    def feed(self, ctx: Any, /) -> Any:
        """Run `ctx.part` through it."""
        ...

    async def finish(self, ctx: Any, /) -> Any:
        """Have it let go of everything."""
        ...

    async def flush(self, silent_since: float, /) -> Any:
        """Flush what has waited long enough."""
        ...

    async def push(self, chunk: Chunk, /) -> list[Chunk]:
        """Run a data chunk that has no position through it."""
        ...

    def take_runs(self) -> list[Run]:
        """Return what was let go since this was last asked."""
        ...

    def drop(self) -> None:
        """Tell the observer what the hooks did."""
        ...


class _Part:
    """What a fork or choice gets as its context."""

    __slots__ = ("part",)

    def __init__(self) -> None:
        self.part: Any = None


class Relay:
    """A fork or choice as an entry of a branch.

    Args:
        node: The fork or choice.
    """

    __slots__ = ("_ctx", "_node")

    def __init__(self, node: Tracked) -> None:
        self._node = node
        self._ctx = _Part()

    @property
    def quiet(self) -> bool:
        """Whether everything that came in has gone out."""
        return self._node.quiet

    @property
    def wait_s(self) -> float | None:
        """The time of silence after which it wants to be flushed, or None."""
        return self._node.wait_s

    @property
    def has_written(self) -> bool:
        """Whether a hook in it wrote data chunks."""
        return bool(self._node.side)

    def written(self) -> list[Chunk]:
        """Take the data chunks that hooks in it wrote."""
        written = list(self._node.side)
        self._node.side.clear()
        return written

    def feed(self, chunk: Chunk) -> Fed:
        """Run a chunk through it; `settle` says what came of it."""
        self._ctx.part = chunk
        return self._node.feed(self._ctx)

    async def push(self, chunk: Chunk) -> list[Chunk]:
        """Run a chunk that has no position through it."""
        return await self._node.push(chunk)

    def settle(self, chunk: Chunk, passed: Passed) -> list[Run]:
        """Return the runs that are complete, in order."""
        runs = self._node.take_runs()
        return [Run(width(chunk), (chunk,), same=True)] if passed is chunk and not runs else runs

    async def finish(self) -> list[Run]:
        """Have it let go of everything."""
        await self._node.finish(self._ctx)
        return self._node.take_runs()

    async def flush(self, silent_since: float) -> list[Run]:
        """Flush what has waited long enough."""
        await self._node.flush(silent_since)
        return self._node.take_runs()

    def drop(self) -> None:
        """Tell the observer what the hooks did."""
        self._node.drop()


def _skip(cells: deque[_Cell]) -> None:
    """Forget closed cells at the head of a block."""
    while cells and not cells[0].open:
        cells.popleft()


def _same(cells: deque[_Cell], n: int) -> None:
    while n > 0 and cells:
        take = min(n, cells[0].open)
        cells[0].same(take)
        n -= take
        _skip(cells)


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
        _skip(cells)


def _listed(passed: Passed) -> list[Chunk]:
    if passed is None:
        return []
    return [passed] if isinstance(passed, Chunk) else list(passed)
