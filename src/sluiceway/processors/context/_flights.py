"""Single flight: of several calls with one key only the first asks the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from anyio.lowlevel import RunVar

__all__ = ["Flight", "Flights"]


class Flight:
    """A model call that others may wait for."""

    __slots__ = ("_done", "key", "owner")

    def __init__(self, key: str, owner: object) -> None:
        self.key = key
        self.owner = owner
        self._done: anyio.Event | None = None

    async def wait(self, seconds: float) -> None:
        """Wait until it has ended, in whatever way, but no longer than that."""
        if self._done is None:
            self._done = anyio.Event()
        with anyio.move_on_after(seconds):
            await self._done.wait()

    def end(self) -> None:
        """Let those who wait go on."""
        if self._done is not None:
            self._done.set()


class Flights:
    """The calls that are under way, those of each event loop apart."""

    __slots__ = ("_own",)

    def __init__(self) -> None:
        self._own: RunVar[dict[str, Flight]] = RunVar("sluiceway_flights")

    def of(self, key: str) -> Flight | None:
        """Return the call with a key that is under way."""
        return self._all().get(key)

    def begin(self, key: str, owner: object) -> Callable[[], Any]:
        """Say that a call begins; return what ends it. One that is under way under the key stays."""
        flights = self._all()
        if key in flights:
            return _nothing
        flight = flights[key] = Flight(key, owner)

        def end() -> None:
            if flights.get(key) is flight:
                del flights[key]
                flight.end()

        return end

    def _all(self) -> dict[str, Flight]:
        try:
            return self._own.get()
        except LookupError:
            flights: dict[str, Flight] = {}
            self._own.set(flights)
            return flights


def _nothing() -> None:
    """End nothing: the call is somebody else's to end."""
