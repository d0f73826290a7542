"""Every ledger keeps the same books."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import anyio
import pytest

from sluiceway.processors import CostEntry, CostLedger, InMemoryLedger, PostgresLedger, SQLiteLedger
from tests.support.postgres import fresh_schema, postgres_server

pytestmark = pytest.mark.anyio

MINUTE = 60_000_000


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    """A PostgreSQL server."""
    with postgres_server() as url:
        yield url


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def ledgers(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[list[Any]]:
    """Two ledgers of one kind over one set of books, as two processes would have."""
    if request.param == "memory":
        one = InMemoryLedger()
        yield [one, one]
        return
    if request.param == "sqlite":
        made: list[Any] = [SQLiteLedger(tmp_path / "costs.db") for _ in range(2)]
    else:
        url = fresh_schema(request.getfixturevalue("server"))
        made = [PostgresLedger(url) for _ in range(2)]
    yield made
    for ledger in made:
        await ledger.aclose()


def entry(name: str, nano: int, at_us: int = 100 * MINUTE, *, owner: str = "o", reserved: bool = False) -> CostEntry:
    return CostEntry(id=name, owner=owner, at_us=at_us, nano_usd=nano, reserved=reserved)


async def test_entries_add_up_per_owner_and_time(ledgers: list[CostLedger]) -> None:
    one, two = ledgers
    await one.add(entry("a", 5))
    await two.add(entry("b", 7, 90 * MINUTE))
    await two.add(entry("b", 7, 90 * MINUTE))
    await two.add(entry("c", 100, owner="p"))
    now = 101 * MINUTE
    assert [await one.spent("o", since * MINUTE, now) for since in (0, 89, 90, 100)] == [12, 12, 5, 0]
    assert await two.spent("p", 0, now) == 100
    assert await two.spent("nobody", 0, now) == 0


async def test_a_reservation_counts_until_it_is_settled_dropped_or_old(ledgers: list[CostLedger]) -> None:
    one, two = ledgers
    assert await one.reserve(entry("r1", 20, reserved=True), 0, 45) is None
    assert await two.reserve(entry("r2", 20, reserved=True), 0, 45) is None
    assert await one.reserve(entry("r3", 20, reserved=True), 0, 45) == 40
    await two.add(entry("u1", 3), "r1")
    await one.drop("r2")
    assert await one.spent("o", 0, 101 * MINUTE) == 3
    assert await one.reserve(entry("r4", 20, reserved=True), 0, 45) is None
    assert await two.spent("o", 0, 114 * MINUTE) == 23
    assert await two.spent("o", 0, 116 * MINUTE) == 3
    await one.drop("u1")  # what was spent cannot be taken back
    assert await two.spent("o", 0, 116 * MINUTE) == 3


async def test_many_at_once_never_set_aside_too_much(ledgers: list[CostLedger]) -> None:
    outcomes: list[int | None] = []

    async def take(number: int) -> None:
        outcomes.append(await ledgers[number % 2].reserve(entry(f"r{number}", 10, reserved=True), 0, 55))

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(take, number)
    assert outcomes.count(None) == 5
    assert await ledgers[0].spent("o", 0, 101 * MINUTE) == 50
