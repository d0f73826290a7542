"""`Branch`: one branch of a `parallel` in the stream, its processors one behind the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Generator, Sequence
from typing import Any, TypeAlias, cast

from sluiceway.messages import Chunk
from sluiceway.processors._station import Relay, Station
from sluiceway.processors._stream import Passed
from sluiceway.processors._stream_runs import Run, compose, width

__all__ = ["Branch", "Cleared"]

Cleared: TypeAlias = "list[Run] | None"
"""The runs of a branch that are complete; None: the chunk passed as it is, with nothing pending."""

_Work: TypeAlias = "Generator[Awaitable[Passed], Passed, Cleared]"
"""What a branch does with a chunk; it yields what has to be awaited."""


class _Driven:
    """Work that met something to await. Closed, if it is never awaited, with what it waits for."""

    __slots__ = ("_waiting", "_work")

    def __init__(self, work: _Work, waiting: Awaitable[Passed]) -> None:
        self._work = work
        self._waiting = waiting

    def __await__(self) -> Generator[Any, Any, Cleared]:
        while True:
            try:
                value = yield from self._waiting.__await__()
            except BaseException as error:  # noqa: BLE001 - handed on to the work, whatever it is
                step = self._work.throw(error)
            else:
                try:
                    step = self._work.send(value)
                except StopIteration as end:
                    return end.value
            self._waiting = step

    def close(self) -> None:
        """Give it up."""
        self._work.close()
        close = getattr(self._waiting, "close", None)
        if close is not None:
            close()


class Branch:
    """Feeds its stations and composes what they did.

    Args:
        stations: The entries, in order; none passes everything.
    """

    __slots__ = ("_feeds", "_made", "_stations", "_whole", "side")

    def __init__(self, stations: Sequence[Station | Relay]) -> None:
        self._stations = tuple(stations)
        self._feeds = tuple((index, station.feed, station) for index, station in enumerate(stations))
        self._made: tuple[deque[Run], ...] = tuple(deque[Run]() for _ in stations)
        """What each station made of what it got."""
        self._whole: tuple[deque[Run], ...] = (*self._made[:1], *(deque[Run]() for _ in stations[1:]))
        """What the branch up to and with each station made of what came in, and nobody has taken."""
        self.side: list[Chunk] = []
        """Data chunks that its processors wrote: they go out whatever is picked."""

    @property
    def stations(self) -> tuple[Station | Relay, ...]:
        """The entries."""
        return self._stations

    @property
    def quiet(self) -> bool:
        """Whether everything that came in has gone out."""
        return all(station.quiet for station in self._stations)

    def feed(self, chunk: Chunk) -> Cleared | Awaitable[Cleared]:
        """Run a chunk through the branch.

        Returns:
            None where it passed as it is with nothing pending; else the runs that are complete,
            or something to await for them.
        """
        for index, feed, station in self._feeds:
            passed = feed(chunk)
            if passed is not chunk or not station.quiet:
                return self._driven(self._from(index, chunk, passed))
        return None

    def _driven(self, work: _Work) -> Cleared | Awaitable[Cleared]:
        try:
            return _Driven(work, next(work))
        except StopIteration as end:
            return cast("Cleared", end.value)

    def _from(self, index: int, chunk: Chunk, passed: object) -> _Work:
        """Go on where a station did more than pass the chunk."""
        stations = self._stations
        while True:
            if hasattr(passed, "__await__"):
                passed = yield cast("Awaitable[Passed]", passed)
            if stations[index].has_written:
                yield from self._spread(index)
            if passed is not chunk or not stations[index].quiet:
                break
            index += 1
            if index == len(stations):
                return None
            passed = stations[index].feed(chunk)
        for before in self._made[:index]:
            before.append(Run(width(chunk), (chunk,), same=True))
        yield from self._on(index, stations[index].settle(chunk, cast("Passed", passed)))
        return self._composed()

    def _on(self, index: int, runs: Sequence[Run]) -> Generator[Awaitable[Passed], Passed, None]:
        """Book what a station let go and feed it to the next."""
        self._made[index].extend(runs)
        following = index + 1
        if following == len(self._stations):
            return
        station = self._stations[following]
        for run in runs:
            for chunk in run.chunks:
                passed = station.feed(chunk)
                if hasattr(passed, "__await__"):
                    passed = yield cast("Awaitable[Passed]", passed)
                if station.has_written:
                    yield from self._spread(following)
                yield from self._on(following, station.settle(chunk, cast("Passed", passed)))

    async def finish(self) -> list[Run]:
        """Have every station let go of what it holds, in order."""
        for index, station in enumerate(self._stations):
            await self._let_go(index, await station.finish())
        return self._composed()

    async def flush(self, silent_since: float) -> list[Run]:
        """Flush the stations whose time of silence is over."""
        for index, station in enumerate(self._stations):
            await self._let_go(index, await station.flush(silent_since))
        return self._composed()

    async def push(self, chunk: Chunk) -> list[Chunk]:
        """Run a data chunk that somebody wrote through the stations; it has no position."""
        chunks = [chunk]
        for station in self._stations:
            chunks = [one for each in chunks for one in await station.push(each)]
        return chunks

    async def _let_go(self, index: int, runs: Sequence[Run]) -> None:
        for work in (self._spread(index), self._on(index, runs)):
            outcome = self._driven(cast("_Work", work))
            if isinstance(outcome, _Driven):
                await outcome

    def _composed(self) -> list[Run]:
        """Return what the branch as a whole has made, as far as it is complete."""
        for index in range(1, len(self._stations)):
            self._whole[index].extend(compose(self._whole[index - 1], self._made[index]))
        if not self._whole:
            return []
        runs = list(self._whole[-1])
        self._whole[-1].clear()
        return runs

    def _spread(self, index: int) -> Generator[Awaitable[Any], Any, None]:
        """Take the data chunks that a station's hook wrote through the stations behind it."""
        written = self._stations[index].written()
        for station in self._stations[index + 1 :]:
            passed: list[Chunk] = []
            for chunk in written:
                passed.extend((yield station.push(chunk)))
            written = passed
        self.side.extend(written)
