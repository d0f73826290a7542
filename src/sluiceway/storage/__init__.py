"""Databases: connections, transactions and migrations, for whatever keeps something."""

from sluiceway.storage._holder import holder_is_gone, holder_token
from sluiceway.storage._migrations import migrate
from sluiceway.storage._postgres import PgConnection, Postgres
from sluiceway.storage._sqlite import SQLite

__all__ = ["PgConnection", "Postgres", "SQLite", "holder_is_gone", "holder_token", "migrate"]
