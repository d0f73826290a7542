"""Where runs are kept that are suspended or have ended."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import anyio

from sluiceway.engine._records import RunStatus
from sluiceway.errors import RunError, StorageError
from sluiceway.storage import SQLite, holder_is_gone, holder_token

__all__ = ["LEASE_S", "Claim", "RunStore", "StoredRun"]

T = TypeVar("T")

LEASE_S: Final = 30.0
"""How long a claim holds that is not renewed, in seconds."""

_MIGRATIONS: Final = (
    """
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY,
        workflow_id TEXT NOT NULL,
        status TEXT NOT NULL,
        document TEXT,
        claim TEXT,
        claimed_until REAL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL
    );
    CREATE INDEX runs_by_status ON runs (workflow_id, status, updated_at)
    """,
)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as it is kept: how it stands, and the rest as JSON text (None: nothing yet).

    Args:
        run_id: The run.
        workflow_id: The workflow.
        status: How it stands.
        document: The rest, as JSON text.
    """

    run_id: str
    workflow_id: str
    status: RunStatus
    document: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on a run; nobody else has it meanwhile.

    Args:
        run_id: The run.
        token: Names who holds it: a machine and a process.
        stored: What was kept when it was claimed; None: nothing.
    """

    run_id: str
    token: str
    stored: StoredRun | None = None


class RunStore:
    """Runs of workflows in an SQLite file.

    Whoever works on a run holds a claim, so that a run is resumed once. A claim ends with
    the process that holds it: at once where that can be seen, else after half a minute.

    Args:
        path: The file; `":memory:"`: none, see `in_memory`; None: `sluiceway/runs.db` in the
            user's folder for program state.

    Examples:
        >>> store = RunStore("/tmp/runs.db")
        >>> store.path.name
        'runs.db'
    """

    __slots__ = ("_db",)

    def __init__(self, path: str | Path | None = None) -> None:
        file = _default_path() if path is None else None if path == ":memory:" else path
        self._db = SQLite(file, component="runs", migrations=_MIGRATIONS)

    @classmethod
    def in_memory(cls) -> RunStore:
        """Return a store that is gone when the process ends."""
        return cls(":memory:")

    @property
    def path(self) -> Path:
        """The file."""
        return self._db.path or Path(":memory:")

    async def __aenter__(self) -> Self:
        await self._db.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._db.__aexit__(exc_type, exc, traceback)

    async def aclose(self) -> None:
        """Close the file, if it is open."""
        await self._db.aclose()

    async def load(self, run_id: str) -> StoredRun | None:
        """Return a run, or None where there is none of that id.

        Raises:
            StorageError: The store cannot be read.
        """
        return await self._db.read(lambda connection: _load(connection, run_id))

    async def list(self, *, workflow_id: str | None = None, status: RunStatus | None = None) -> list[StoredRun]:
        """Return the runs of a workflow, or of all, that stand so; the one changed last first.

        Args:
            workflow_id: The workflow; None: all.
            status: How they stand; None: any.

        Raises:
            StorageError: The store cannot be read.
        """

        def query(connection: sqlite3.Connection) -> list[StoredRun]:
            rows = connection.execute(
                "SELECT run_id, workflow_id, status, document FROM runs "
                "WHERE (?1 IS NULL OR workflow_id = ?1) AND (?2 IS NULL OR status = ?2) "
                "ORDER BY updated_at DESC, rowid DESC",
                (workflow_id, status),
            )
            return [StoredRun(*row) for row in rows]

        return await self._db.read(query)

    async def claim_new(self, run_id: str, workflow_id: str) -> Claim | StoredRun:
        """Begin a run of this id, or return the one that is there.

        Raises:
            RunError: Someone is at it.
            StorageError: The store cannot be written.
        """

        def take(connection: sqlite3.Connection, token: str) -> Claim | StoredRun:
            row = _row(connection, run_id)
            if row is not None and row.stored.status != "running":
                return row.stored
            if row is not None:
                _refuse_if_held(row)
            now = time.time()
            connection.execute(
                "INSERT INTO runs VALUES (?, ?, 'running', NULL, ?, ?, ?, ?) ON CONFLICT (run_id) "
                "DO UPDATE SET claim = excluded.claim, claimed_until = excluded.claimed_until",
                (run_id, workflow_id, token, now + LEASE_S, now, now),
            )
            return Claim(run_id, token)

        return await self._claimed(run_id, take)

    async def claim_suspended(self, run_id: str) -> Claim:
        """Take a suspended run to go on with it.

        Raises:
            RunError: There is no such run, it is not suspended, or someone is at it.
            StorageError: The store cannot be written.
        """

        def take(connection: sqlite3.Connection, token: str) -> Claim:
            row = _row(connection, run_id)
            if row is None:
                raise RunError(f"there is no run {run_id!r} in {self.path}", run_id=run_id)
            _refuse_if_held(row)
            if row.stored.status != "suspended":
                message = f"run {run_id!r} is not suspended but {row.stored.status}; it was already resumed"
                raise RunError(message, run_id=run_id)
            connection.execute(
                "UPDATE runs SET claim = ?, claimed_until = ? WHERE run_id = ?",
                (token, time.time() + LEASE_S, run_id),
            )
            return Claim(run_id, token, row.stored)

        return await self._claimed(run_id, take)

    async def _claimed(self, run_id: str, take: Callable[[sqlite3.Connection, str], T]) -> T:
        """Have a claim taken. Nobody holds it if the caller is cancelled meanwhile."""
        token, wanted = holder_token(), True

        def change(connection: sqlite3.Connection) -> T:
            if not wanted:
                raise RunError(f"the claim of run {run_id!r} is no longer wanted", run_id=run_id)
            return take(connection, token)

        try:
            return await self._db.write(change)
        except anyio.get_cancelled_exc_class():
            # A cancellation by asyncio itself does not wait for the thread, which may go on to claim it.
            wanted = False
            with anyio.CancelScope(shield=True), suppress(StorageError):
                await self.release(Claim(run_id, token))
            raise

    async def renew(self, claim: Claim) -> None:
        """Hold a claim for longer."""

        def change(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE runs SET claimed_until = ? WHERE run_id = ? AND claim = ?",
                (time.time() + LEASE_S, claim.run_id, claim.token),
            )

        await self._db.write(change)

    async def release(self, claim: Claim) -> None:
        """Give a claim back; the run is as it was before."""

        def change(connection: sqlite3.Connection) -> None:
            mine = (claim.run_id, claim.token)
            connection.execute("DELETE FROM runs WHERE run_id = ? AND claim = ? AND status = 'running'", mine)
            connection.execute(
                "UPDATE runs SET claim = NULL, claimed_until = NULL WHERE run_id = ? AND claim = ?", mine
            )

        await self._db.write(change)

    async def save(
        self, run_id: str, workflow_id: str, status: RunStatus, document: str, *, claim: Claim | None = None
    ) -> None:
        """Keep how a run ended or where it waits, and give the claim back.

        Args:
            run_id: The run.
            workflow_id: The workflow.
            status: How it stands.
            document: The rest, as JSON text.
            claim: The right to work on it; None for a run that nobody has claimed.

        Raises:
            RunError: The claim was lost to another, or there is a run of that id already.
            StorageError: The store cannot be written; it is as before.
        """

        def change(connection: sqlite3.Connection) -> None:
            now = time.time()
            if claim is None:
                done = connection.execute(
                    "INSERT INTO runs VALUES (?, ?, ?, ?, NULL, NULL, ?, ?) ON CONFLICT DO NOTHING",
                    (run_id, workflow_id, status, document, now, now),
                )
            else:
                done = connection.execute(
                    "UPDATE runs SET status = ?, document = ?, claim = NULL, claimed_until = NULL, "
                    "updated_at = ? WHERE run_id = ? AND claim = ?",
                    (status, document, now, run_id, claim.token),
                )
            if done.rowcount != 1:
                raise RunError(f"run {run_id!r} has been taken over by another", run_id=run_id)

        await self._db.write(change)

    async def delete(self, run_id: str) -> None:
        """Forget a run; nothing happens where there is none.

        Raises:
            StorageError: The store cannot be written.
        """
        await self._db.write(lambda connection: connection.execute("DELETE FROM runs WHERE run_id = ?", (run_id,)))


@dataclass(frozen=True, slots=True)
class _Row:
    stored: StoredRun
    claim: str | None
    claimed_until: float | None


def _row(connection: sqlite3.Connection, run_id: str) -> _Row | None:
    row = connection.execute(
        "SELECT run_id, workflow_id, status, document, claim, claimed_until FROM runs WHERE run_id = ?",
        (run_id,),
    ).fetchone()
    return None if row is None else _Row(StoredRun(*row[:4]), *row[4:])


def _load(connection: sqlite3.Connection, run_id: str) -> StoredRun | None:
    row = _row(connection, run_id)
    return None if row is None else row.stored


def _refuse_if_held(row: _Row) -> None:
    if row.claim is None or row.claimed_until is None or row.claimed_until < time.time() or holder_is_gone(row.claim):
        return
    run_id = row.stored.run_id
    raise RunError(f"run {run_id!r} was already resumed or started, and is being worked on", run_id=run_id)


def _default_path() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "sluiceway" / "runs.db"
