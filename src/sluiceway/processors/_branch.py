"""`Branch`: one branch of a `parallel` in the stream, its processors one behind the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Sequence
from typing import cast

from sluiceway.messages import Chunk
from sluiceway.processors._station import Station
from sluiceway.processors._stream import Passed
from sluiceway.processors._stream_runs import Run, compose, width

__all__ = ["Branch"]


class Branch:
    """Feeds its stations and composes what they did.

    Args:
        stations: The entries, in order; none passes everything.
    """

    __slots__ = ("_made", "_stations", "_whole", "side")

    def __init__(self, stations: Sequence[Station]) -> None:
        self._stations = tuple(stations)
        self._made: tuple[deque[Run], ...] = tuple(deque[Run]() for _ in stations)
        """What each station made of what it got."""
        self._whole: tuple[deque[Run], ...] = (*self._made[:1], *(deque[Run]() for _ in stations[1:]))
        """What the branch up to and with each station made of what came in, and nobody has taken."""
        self.side: list[Chunk] = []
        """Data chunks that its processors wrote: they go out whatever is picked."""

    @property
    def stations(self) -> tuple[Station, ...]:
        """The entries."""
        return self._stations

    def feed(self, chunk: Chunk) -> list[Run] | Awaitable[list[Run] | None] | None:
        """Run a chunk through the branch.

        Returns:
            None where it passed as it is with nothing pending; else the runs that are complete,
            or something to await for them.
        """
        stations = self._stations
        for index, station in enumerate(stations):
            passed = station.feed(chunk)
            if passed is chunk and station.quiet:
                continue
            return self._from(index, chunk, passed)
        return None

    async def _from(self, index: int, chunk: Chunk, passed: object) -> list[Run] | None:
        """Go on where a station did more than pass the chunk."""
        stations = self._stations
        while True:
            passed = await _done(passed)
            if stations[index].has_written:
                await self._spread(index)
            if not stations[index].passes(chunk, passed):
                break
            index += 1
            if index == len(stations):
                return None
            passed = stations[index].feed(chunk)
        for before in self._made[:index]:
            before.append(Run(width(chunk), (chunk,), same=True))
        await self._on(index, stations[index].settle(chunk, passed))
        return self._composed()

    async def _on(self, index: int, runs: Sequence[Run]) -> None:
        """Book what a station let go and feed it to the next."""
        self._made[index].extend(runs)
        following = index + 1
        if following == len(self._stations):
            return
        station = self._stations[following]
        for run in runs:
            for chunk in run.chunks:
                passed = await _done(station.feed(chunk))
                if station.has_written:
                    await self._spread(following)
                await self._on(following, station.settle(chunk, passed))

    async def finish(self) -> list[Run]:
        """Have every station let go of what it holds, in order."""
        for index, station in enumerate(self._stations):
            runs = await station.finish()
            await self._spread(index)
            await self._on(index, runs)
        return self._composed()

    async def flush(self, silent_since: float) -> list[Run]:
        """Flush the stations whose time of silence is over."""
        for index, station in enumerate(self._stations):
            runs = await station.flush(silent_since)
            await self._spread(index)
            await self._on(index, runs)
        return self._composed()

    def _composed(self) -> list[Run]:
        """Return what the branch as a whole has made, as far as it is complete."""
        for index in range(1, len(self._stations)):
            self._whole[index].extend(compose(self._whole[index - 1], self._made[index]))
        if not self._whole:
            return []
        runs = list(self._whole[-1])
        self._whole[-1].clear()
        return runs

    async def _spread(self, index: int) -> None:
        """Take the data chunks that a station's hook wrote through the stations behind it."""
        written = self._stations[index].written()
        for station in self._stations[index + 1 :]:
            written = [one for chunk in written for one in await station.runner.push(chunk)]
        self.side.extend(written)


async def _done(passed: object) -> Passed:
    return await cast("Awaitable[Passed]", passed) if hasattr(passed, "__await__") else cast("Passed", passed)
