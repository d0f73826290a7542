"""An SQLite database, used from worker threads."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import anyio

from sluiceway.errors import StorageError
from sluiceway.storage._migrations import migrate
from sluiceway.storage._worker import in_thread

__all__ = ["SQLite"]

T = TypeVar("T")

BUSY_S: Final = 10.0
_PAUSE_S: Final = 0.005
_FIXES: Final = (
    ("locked", "another program holds it; try again"),
    ("busy", "another program holds it; try again"),
    ("readonly", "it may only be read; see to the rights of the file and its folder"),
    ("full", "there is no space left on the disk"),
    ("unable to open", "the file or its folder cannot be opened"),
    ("not a database", "the file is something else, or damaged"),
    ("malformed", "the file is damaged; restore it from a copy"),
)


class SQLite:
    """One SQLite file, or a database in memory, in WAL mode.

    Every call runs in a worker thread, one at a time, in a transaction of its own: wholly or
    not at all, cancelled or not. Any number of tasks, event loops, threads and processes may
    use one file. The file is open only during a call, or for the length of
    `async with database:`; a database in memory stays open until `aclose()`.

    Args:
        path: The file, made if it is not there along with its folder (both for their owner
            only), or None: in memory.
        component: Whose tables these are.
        migrations: See `migrate`.
        busy_s: How long a call waits for another program that writes, in seconds; None: ten.
    """

    __slots__ = (
        "_busy_s",
        "_component",
        "_connection",
        "_counting",
        "_file",
        "_holders",
        "_lock",
        "_migrations",
        "path",
    )

    def __init__(
        self, path: str | Path | None, *, component: str, migrations: Sequence[str], busy_s: float | None = None
    ) -> None:
        self.path = None if path is None else Path(path).expanduser()
        self._component = component
        self._migrations = tuple(migrations)
        self._busy_s = busy_s
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._holders = 0

    async def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query and return what it returns.

        Raises:
            StorageError: The database cannot be read.
        """
        return await in_thread(self._run, query, "BEGIN")

    async def write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Run a change in a transaction and return what it returns.

        Raises:
            StorageError: The database cannot be written; it is as before.
        """
        return await in_thread(self._run, change, "BEGIN IMMEDIATE")

    async def __aenter__(self) -> Self:
        with self._counting:
            self._holders += 1
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._counting:
            self._holders -= 1
        if not self._holders and self.path is not None:
            await self.aclose()

    async def aclose(self) -> None:
        """Close the file, if it is open. A later call opens it again."""
        with anyio.CancelScope(shield=True):
            await in_thread(self._close)

    def _run(self, work: Callable[[sqlite3.Connection], T], begin: str) -> T:
        with self._lock:
            try:
                connection = self._open()
                connection.execute(begin)
                try:
                    result = work(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except (sqlite3.Error, OSError, OverflowError, UnicodeEncodeError) as error:
                raise self._failure(error) from error
            finally:
                if not self._holders and self.path is not None:
                    self._drop()
            return result

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None:
            if self._file == _identity(self.path):
                return self._connection
            self._drop()  # another file is there now, or none; what is written to this one nobody will find
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self.path.exists():
                self.path.touch(mode=0o600)
        busy_s = BUSY_S if self._busy_s is None else self._busy_s
        connection = sqlite3.connect(
            ":memory:" if self.path is None else self.path,
            timeout=busy_s,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            if self.path is not None:
                _keep_a_log(connection, busy_s)
                connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            migrate(connection, self._component, self._migrations)
        except BaseException:
            connection.close()
            raise
        self._connection, self._file = connection, _identity(self.path)
        return connection

    def _close(self) -> None:
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _failure(self, error: Exception) -> StorageError:
        said = str(error)
        fix = next((fix for sign, fix in _FIXES if sign in said.lower()), "see the cause")
        return StorageError(f"the database {self.path or 'in memory'}: {said}; {fix}")


def _keep_a_log(connection: sqlite3.Connection, busy_s: float) -> None:
    """Turn on WAL mode. SQLite itself does not wait for another program that is about to write, or turns it on too."""
    until = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(_PAUSE_S)


def _identity(path: Path | None) -> tuple[int, int] | None:
    """Return what tells a file from another of its name; None: there is none."""
    try:
        found = None if path is None else path.stat()
    except FileNotFoundError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)
