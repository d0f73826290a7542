"""One PostgreSQL server for all tests here, and each store on something empty."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from sluiceway.memory import InMemoryStore, MemoryStore, PostgresStore, SQLiteStore
from tests.support.postgres import fresh_schema, postgres_server


@pytest.fixture(scope="session")
def postgres_url() -> Generator[str]:
    """The URL of a PostgreSQL server."""
    with postgres_server() as url:
        yield url


@pytest.fixture(params=["in-memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[MemoryStore]:
    """An empty store of each kind."""
    if request.param == "in-memory":
        made: MemoryStore = InMemoryStore()
    elif request.param == "sqlite":
        made = SQLiteStore(tmp_path / "memory.db")
    else:
        made = PostgresStore(fresh_schema(request.getfixturevalue("postgres_url")))
    async with made:
        yield made
    await made.aclose()
