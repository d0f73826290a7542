"""A PostgreSQL database, used from worker threads: extra `postgres`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar

import anyio
from anyio.lowlevel import RunVar

from sluiceway.errors import ConfigurationError, StorageError
from sluiceway.storage._worker import in_thread

__all__ = ["PgConnection", "Postgres"]

T = TypeVar("T")

PgConnection: TypeAlias = Any
"""A `sqlalchemy.Connection` in a transaction."""

_SCHEMES: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
_MIGRATION_LOCK: Final = 5_284_710_336_401


def _sqlalchemy() -> Any:
    """Return SQLAlchemy, which is loaded at its first use.

    Raises:
        ConfigurationError: It is not installed, or psycopg is not.
    """
    try:
        import psycopg
        import sqlalchemy
    except ImportError as error:
        raise ConfigurationError(
            "PostgreSQL needs SQLAlchemy and psycopg: pip install 'sluiceway[postgres]'"
        ) from error
    del psycopg
    return sqlalchemy


class Postgres:
    """One PostgreSQL database, through SQLAlchemy Core and psycopg.

    Every call runs in a worker thread, in a transaction of its own: wholly or not at all,
    cancelled or not. Connections are open only during a call, or for the length of
    `async with database:`, and at most `pool_size` at once.

    Args:
        dsn: Such as `postgresql://user@host/database`.
        component: Whose tables these are.
        migrations: One script of SQL statements, parted by `;`, per version; see `migrate`.
        pool_size: How many connections, and calls at once.

    Raises:
        ConfigurationError: The address is none of PostgreSQL, or a package is missing.
    """

    def __init__(self, dsn: str, *, component: str, migrations: Sequence[str], pool_size: int = 8) -> None:
        scheme = next((scheme for scheme in _SCHEMES if dsn.startswith(scheme)), None)
        if scheme is None:
            raise ConfigurationError("the address of a PostgreSQL database begins with postgresql://")
        self._url = f"postgresql+psycopg://{dsn.removeprefix(scheme)}"
        self._sa = _sqlalchemy()
        self._component = component
        self._migrations = tuple(migrations)
        self._pool_size = pool_size
        self._limiter: RunVar[anyio.CapacityLimiter] = RunVar("sluiceway_postgres_limiter")
        self._lock = threading.Lock()
        self._engine: Any = None
        self._users = 0
        self._holders = 0

    @property
    def key(self) -> str:
        """What is the same for two objects that stand for one database."""
        return self._url

    async def read(self, query: Callable[[PgConnection], T]) -> T:
        """Run a query and return what it returns.

        Raises:
            StorageError: The database cannot be read.
        """
        return await self._call(query)

    async def write(self, change: Callable[[PgConnection], T]) -> T:
        """Run a change in a transaction and return what it returns.

        Raises:
            StorageError: The database cannot be written; it is as before.
        """
        return await self._call(change)

    def sql(self, text: str) -> Any:
        """Return a statement with named parameters such as `:thread_id`."""
        return self._sa.text(text)

    async def __aenter__(self) -> Self:
        with self._lock:
            self._holders += 1
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._holders -= 1
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, unless they are in use or held. A later call opens them again."""
        with anyio.CancelScope(shield=True):
            await in_thread(self._drop_unused)

    async def _call(self, work: Callable[[PgConnection], T]) -> T:
        try:
            limiter = self._limiter.get()
        except LookupError:
            limiter = anyio.CapacityLimiter(self._pool_size)
            self._limiter.set(limiter)
        return await in_thread(self._run, work, limiter=limiter)

    def _run(self, work: Callable[[PgConnection], T]) -> T:
        try:
            engine = self._use()
            try:
                with engine.begin() as connection:
                    return work(connection)
            finally:
                with self._lock:
                    self._users -= 1
                self._drop_unused()
        except (self._sa.exc.SQLAlchemyError, UnicodeEncodeError) as error:
            raise self._failure(error) from error

    def _use(self) -> Any:
        with self._lock:
            if self._engine is None:
                engine = self._sa.create_engine(
                    self._url,
                    pool_size=self._pool_size,
                    max_overflow=self._pool_size,
                    pool_pre_ping=True,
                    hide_parameters=True,
                )
                try:
                    with engine.begin() as connection:
                        self._migrate(connection)
                except BaseException:
                    engine.dispose()
                    raise
                self._engine = engine
            self._users += 1
            return self._engine

    def _drop_unused(self) -> None:
        with self._lock:
            if self._users or self._holders or self._engine is None:
                return
            engine, self._engine = self._engine, None
        engine.dispose()

    def _migrate(self, connection: PgConnection) -> None:
        run = connection.exec_driver_sql
        done = self._version(connection)
        if done == len(self._migrations):
            return
        run("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
        run("CREATE TABLE IF NOT EXISTS sluiceway_schema (component TEXT PRIMARY KEY, version INTEGER NOT NULL)")
        done = self._version(connection)
        if done > len(self._migrations):
            raise StorageError(
                f"the tables of {self._component!r} have version {done}, this program knows "
                f"{len(self._migrations)}; use the newer version that wrote them"
            )
        for script in self._migrations[done:]:
            for statement in script.split(";"):
                if statement.strip():
                    run(statement)
        run(
            "INSERT INTO sluiceway_schema VALUES (%s, %s) "
            "ON CONFLICT (component) DO UPDATE SET version = excluded.version",
            (self._component, len(self._migrations)),
        )

    def _version(self, connection: PgConnection) -> int:
        run = connection.exec_driver_sql
        if run("SELECT to_regclass('sluiceway_schema')").scalar() is None:
            return 0
        row = run("SELECT version FROM sluiceway_schema WHERE component = %s", (self._component,)).first()
        return 0 if row is None else int(row[0])

    def _failure(self, error: Any) -> StorageError:
        said = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        url = self._sa.make_url(self._url)
        return StorageError(f"the database {url.database!r} at {url.host or 'this machine'}: {said or 'see the cause'}")
