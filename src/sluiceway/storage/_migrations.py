"""Bringing the tables of one component up to date, a version at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from sluiceway.errors import StorageError

__all__ = ["migrate"]


def migrate(connection: sqlite3.Connection, component: str, steps: Sequence[str]) -> None:
    """Run the steps that a database has not seen yet, all of them or none.

    Several components may share one database; each has a version of its own. Processes that
    open it at the same time wait for one another.

    Args:
        connection: Outside of a transaction.
        component: Whose tables they are.
        steps: One script of SQL statements per version. What was published is never changed;
            a change is a further step.

    Raises:
        StorageError: The database was written by a newer version.
    """
    if _version(connection, component) == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS sluiceway_schema (component TEXT PRIMARY KEY, version INTEGER NOT NULL)"
        )
        done = _version(connection, component)
        if done > len(steps):
            raise StorageError(
                f"the tables of {component!r} have version {done}, this program knows {len(steps)}; "
                "use the newer version that wrote them"
            )
        for script in steps[done:]:
            for statement in script.split(";"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(
            "INSERT INTO sluiceway_schema VALUES (?, ?) "
            "ON CONFLICT (component) DO UPDATE SET version = excluded.version",
            (component, len(steps)),
        )
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, component: str) -> int:
    there = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'sluiceway_schema'"
    ).fetchone()
    if there is None:
        return 0
    row = connection.execute("SELECT version FROM sluiceway_schema WHERE component = ?", (component,)).fetchone()
    return 0 if row is None else int(row[0])
