"""The benchmark program: what counts as met, as missed, and as a fault."""

from __future__ import annotations

import json

import pytest

from benchmarks._measure import least, peak_kb
from benchmarks._report import as_json
from benchmarks._row import Row, growth, ratio, time


@pytest.mark.parametrize(
    ("row", "reached", "failed"),
    [
        (ratio("a", "b", 2.9, 3.0), True, False),
        (ratio("a", "b", 5.9, 3.0), False, False),
        (ratio("a", "b", 6.1, 3.0), False, True),
        (growth("a", 2.3), True, False),
        (growth("a", 2.9), False, False),
        (growth("a", 3.1), False, True),
        (time("a", 7.9, "µs", 8.0), True, False),
        (time("a", 800.0, "µs", 8.0), False, False),
        (Row("a", "b", 1.0, "MB/s", 1.0, at_least=True), True, False),
        (Row("a", "b", 0.9, "MB/s", 1.0, limit=0.5, at_least=True), False, False),
        (Row("a", "b", 0.4, "MB/s", 1.0, limit=0.5, at_least=True), False, True),
    ],
)
def test_only_growth_and_ratios_far_off_are_faults(row: Row, reached: bool, failed: bool) -> None:
    assert (row.reached, row.failed) == (reached, failed)


@pytest.mark.anyio
async def test_works_take_turns_and_a_first_round_warms_up() -> None:
    order: list[str] = []

    async def first() -> None:
        order.append("first")

    async def second() -> None:
        order.append("second")

    seconds = await least(2, first, second)
    assert order == ["first", "second"] * 3
    assert [0 < s < 1 for s in seconds] == [True, True]


@pytest.mark.anyio
async def test_memory_is_what_the_work_held_at_its_peak() -> None:
    async def work() -> None:
        bytearray(500 * 1024)

    assert 500 <= await peak_kb(work) < 600


def test_the_json_has_a_verdict_per_row() -> None:
    [row] = json.loads(as_json([growth("time by chunks", 3.5, n_ms=1.0)]))["rows"]
    assert row == {
        "name": "time by chunks",
        "against": "2n against n",
        "value": 3.5,
        "unit": "×",
        "target": 2.3,
        "limit": 3.0,
        "at_least": False,
        "details": {"n_ms": 1.0},
        "reached": False,
        "failed": True,
    }
