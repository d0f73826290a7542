"""`CostLedger`: what was spent by whom, in memory, in SQLite or in PostgreSQL."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from sluiceway.storage import PgConnection, Postgres, SQLite

__all__ = ["CostEntry", "CostLedger", "InMemoryLedger", "PostgresLedger", "SQLiteLedger"]

RESERVED_US: Final = 15 * 60 * 1_000_000
"""How long money set aside counts; whoever set it aside may have died."""
_SLACK_US: Final = 60 * 1_000_000
"""How much longer an entry is kept than it counts: clocks are set back, and who asks has looked at one before."""

_TABLE: Final = """
CREATE TABLE cost_entries (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    at_us BIGINT NOT NULL,
    nano_usd BIGINT NOT NULL,
    reserved INTEGER NOT NULL,
    estimated INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL
);
CREATE INDEX cost_entries_owner ON cost_entries (owner, at_us)
"""
_SPENT: Final = (
    "SELECT COALESCE(SUM(nano_usd), 0) FROM cost_entries WHERE owner = :owner AND at_us > :since_us "
    "AND (reserved = 0 OR at_us > :live_us)"
)
_ADD: Final = (
    "INSERT INTO cost_entries (id, owner, at_us, nano_usd, reserved, estimated, run_id, model, input_tokens, "
    "output_tokens) VALUES (:id, :owner, :at_us, :nano_usd, :reserved, :estimated, :run_id, :model, :input_tokens, "
    ":output_tokens) ON CONFLICT (id) DO NOTHING"
)
_DROP: Final = "DELETE FROM cost_entries WHERE id = :id AND reserved = 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEntry:
    """One call of a model, or money set aside for one.

    Args:
        id: Of the entry; adding one twice is adding it once.
        owner: Whose budget it is: guard, scope and whoever it is about.
        at_us: When, in microseconds since 1970.
        nano_usd: What it cost, in billionths of a US dollar.
        reserved: Whether it is only set aside.
        estimated: Whether the provider did not say how many tokens it took.
        run_id: The run.
        model: The model.
        input_tokens: What the prompt took.
        output_tokens: What the answer took.
        counts_us: For how long it counts, in microseconds; None: as long as anybody asks.
            `InMemoryLedger` drops it afterwards; the others keep all.
    """

    id: str
    owner: str
    at_us: int
    nano_usd: int
    reserved: bool = False
    estimated: bool = False
    run_id: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    counts_us: int | None = None


class CostLedger(Protocol):
    """Where costs are kept. Usable from many tasks, and where it says so from many processes."""

    async def spent(self, owner: str, since_us: int, now_us: int) -> int:
        """Return what an owner has spent and set aside since a time, in billionths of a US dollar.

        Raises:
            StorageError: It cannot be read.
        """
        ...

    async def add(self, entry: CostEntry, settles: str | None = None) -> None:
        """Add an entry, and take away the reservation that it settles, both or neither.

        Args:
            entry: What was spent.
            settles: What `reserve` returned, or None.

        Raises:
            StorageError: It cannot be written.
        """
        ...

    async def reserve(self, entry: CostEntry, since_us: int, limit_nano_usd: int) -> int | None:
        """Set money aside unless that would exceed a limit; nobody else gets in between.

        Returns:
            None if it was set aside; else what was spent and set aside before.

        Raises:
            StorageError: It cannot be written.
        """
        ...

    async def drop(self, reservation: str) -> None:
        """Take back a reservation.

        Raises:
            StorageError: It cannot be written.
        """
        ...


class InMemoryLedger:
    """A ledger for one process, gone with it. It keeps what still counts: older entries are dropped.

    How long an entry counts is what it says itself, or as long ago as anybody asks about,
    whichever is the longest. What has no such time is kept until its owner is forgotten; a guard
    with `scope="run"` forgets a run when it is over. Safe to use from several tasks and threads.
    """

    __slots__ = ("_dated", "_entries", "_lock", "_longest_us", "_newest_us", "_owners")

    def __init__(self) -> None:
        self._entries: dict[str, CostEntry] = {}
        self._owners: dict[str, dict[str, CostEntry]] = {}
        self._dated: OrderedDict[str, int] = OrderedDict()  # what can be dropped, as it came
        self._longest_us = RESERVED_US
        self._newest_us = 0
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """How many entries are kept."""
        return len(self._entries)

    async def spent(self, owner: str, since_us: int, now_us: int) -> int:
        """Return what an owner has spent and set aside since a time; from 0 on, all that is kept of it."""
        with self._lock:
            return self._sum(owner, since_us, now_us)

    async def add(self, entry: CostEntry, settles: str | None = None) -> None:
        """Add an entry, and take away the reservation that it settles."""
        with self._lock:
            self._put(entry)
            if settles is not None:
                self._drop_reservation(settles)

    async def reserve(self, entry: CostEntry, since_us: int, limit_nano_usd: int) -> int | None:
        """Set money aside unless that would exceed a limit."""
        with self._lock:
            spent = self._sum(entry.owner, since_us, entry.at_us)
            if spent + entry.nano_usd > limit_nano_usd:
                return spent
            self._put(entry)
            return None

    async def drop(self, reservation: str) -> None:
        """Take back a reservation."""
        with self._lock:
            self._drop_reservation(reservation)

    def forget(self, owner: str) -> None:
        """Drop all that is kept of an owner.

        Args:
            owner: As in its entries.
        """
        with self._lock:
            for id_ in tuple(self._owners.get(owner, ())):
                self._remove(id_)

    def _sum(self, owner: str, since_us: int, now_us: int) -> int:
        if since_us > 0:  # a total of all is no window
            self._longest_us = max(self._longest_us, now_us - since_us)
        live = now_us - RESERVED_US
        return sum(
            entry.nano_usd
            for entry in self._owners.get(owner, {}).values()
            if entry.at_us > since_us and (not entry.reserved or entry.at_us > live)
        )

    def _put(self, entry: CostEntry) -> None:
        if entry.id in self._entries:
            return
        self._entries[entry.id] = entry
        self._owners.setdefault(entry.owner, {})[entry.id] = entry
        self._newest_us = max(self._newest_us, entry.at_us)
        if entry.counts_us is not None:
            self._longest_us = max(self._longest_us, entry.counts_us)
            self._dated[entry.id] = entry.at_us
        # What was booked late stands behind newer entries, and goes with them.
        oldest_us = self._newest_us - self._longest_us - _SLACK_US
        while self._dated:
            id_ = next(iter(self._dated))
            if self._dated[id_] > oldest_us:
                break
            self._remove(id_)

    def _drop_reservation(self, reservation: str) -> None:
        entry = self._entries.get(reservation)
        if entry is not None and entry.reserved:
            self._remove(reservation)

    def _remove(self, id_: str) -> None:
        entry = self._entries.pop(id_)
        self._dated.pop(id_, None)
        of_owner = self._owners[entry.owner]
        del of_owner[id_]
        if not of_owner:
            del self._owners[entry.owner]


class SQLiteLedger:
    """A ledger in an SQLite file, for any number of processes on one machine.

    Args:
        path: The file, made if it is not there, for its owner only; None: in memory.
    """

    def __init__(self, path: str | Path | None) -> None:
        self._db = SQLite(path, component="costs", migrations=(_TABLE,))

    async def spent(self, owner: str, since_us: int, now_us: int) -> int:
        """Return what an owner has spent and set aside since a time."""
        return await self._db.read(lambda connection: _spent(connection, owner, since_us, now_us))

    async def add(self, entry: CostEntry, settles: str | None = None) -> None:
        """Add an entry, and take away the reservation that it settles."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_ADD, _row(entry))
            if settles is not None:
                connection.execute(_DROP, {"id": settles})

        await self._db.write(work)

    async def reserve(self, entry: CostEntry, since_us: int, limit_nano_usd: int) -> int | None:
        """Set money aside unless that would exceed a limit."""

        def work(connection: sqlite3.Connection) -> int | None:
            spent = _spent(connection, entry.owner, since_us, entry.at_us)
            if spent + entry.nano_usd > limit_nano_usd:
                return spent
            connection.execute(_ADD, _row(entry))
            return None

        return await self._db.write(work)

    async def drop(self, reservation: str) -> None:
        """Take back a reservation."""
        await self._db.write(lambda connection: connection.execute(_DROP, {"id": reservation}) and None)

    async def aclose(self) -> None:
        """Close the file, if it is open. A later call opens it again."""
        await self._db.aclose()

    async def __aenter__(self) -> Self:
        await self._db.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._db.__aexit__(exc_type, exc, traceback)


class PostgresLedger:
    """A ledger in PostgreSQL, for any number of machines: extra `postgres`.

    Args:
        dsn: Such as `postgresql://user@host/database`.
        pool_size: How many connections, and calls at once.

    Raises:
        ConfigurationError: The address is none of PostgreSQL, or a package is missing.
    """

    def __init__(self, dsn: str, *, pool_size: int = 8) -> None:
        self._db = Postgres(dsn, component="costs", migrations=(_TABLE,), pool_size=pool_size)

    async def spent(self, owner: str, since_us: int, now_us: int) -> int:
        """Return what an owner has spent and set aside since a time."""
        return await self._db.read(lambda connection: self._spent(connection, owner, since_us, now_us))

    async def add(self, entry: CostEntry, settles: str | None = None) -> None:
        """Add an entry, and take away the reservation that it settles."""

        def work(connection: PgConnection) -> None:
            connection.execute(self._db.sql(_ADD), _row(entry))
            if settles is not None:
                connection.execute(self._db.sql(_DROP), {"id": settles})

        await self._db.write(work)

    async def reserve(self, entry: CostEntry, since_us: int, limit_nano_usd: int) -> int | None:
        """Set money aside unless that would exceed a limit."""

        def work(connection: PgConnection) -> int | None:
            # One at a time per owner: two who look at once would both find room.
            lock = "SELECT pg_advisory_xact_lock(hashtextextended(:owner, 0))"
            connection.execute(self._db.sql(lock), {"owner": f"sluiceway costs {entry.owner}"})
            spent = self._spent(connection, entry.owner, since_us, entry.at_us)
            if spent + entry.nano_usd > limit_nano_usd:
                return spent
            connection.execute(self._db.sql(_ADD), _row(entry))
            return None

        return await self._db.write(work)

    async def drop(self, reservation: str) -> None:
        """Take back a reservation."""
        await self._db.write(lambda connection: connection.execute(self._db.sql(_DROP), {"id": reservation}) and None)

    async def aclose(self) -> None:
        """Close the connections. A later call opens them again."""
        await self._db.aclose()

    async def __aenter__(self) -> Self:
        await self._db.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._db.__aexit__(exc_type, exc, traceback)

    def _spent(self, connection: PgConnection, owner: str, since_us: int, now_us: int) -> int:
        return int(connection.execute(self._db.sql(_SPENT), _asked(owner, since_us, now_us)).scalar())


def _spent(connection: sqlite3.Connection, owner: str, since_us: int, now_us: int) -> int:
    return int(connection.execute(_SPENT, _asked(owner, since_us, now_us)).fetchone()[0])


def _asked(owner: str, since_us: int, now_us: int) -> dict[str, Any]:
    return {"owner": owner, "since_us": since_us, "live_us": now_us - RESERVED_US}


def _row(entry: CostEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "owner": entry.owner,
        "at_us": entry.at_us,
        "nano_usd": entry.nano_usd,
        "reserved": int(entry.reserved),
        "estimated": int(entry.estimated),
        "run_id": entry.run_id,
        "model": entry.model,
        "input_tokens": entry.input_tokens,
        "output_tokens": entry.output_tokens,
    }
