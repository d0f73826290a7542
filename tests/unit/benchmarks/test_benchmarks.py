"""The benchmark program: what counts as met, as missed, and as a fault."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from benchmarks._measure import least, peak_kb
from benchmarks._plot import growth_plot
from benchmarks._report import as_json, show, verdict
from benchmarks._row import Row, growth, ratio, time


def grown(value: float, name: str = "a") -> Row:
    return growth(name, [(10, 1.0), (20, value)], "ms")


@pytest.mark.parametrize(
    ("row", "reached", "failed"),
    [
        (ratio("a", "b", 2.9, 3.0), True, False),
        (ratio("a", "b", 5.9, 3.0), False, False),
        (ratio("a", "b", 6.1, 3.0), False, True),
        (grown(2.3), True, False),
        (grown(2.9), False, False),
        (grown(3.1), False, True),
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
    said = json.loads(as_json([growth("time by chunks", [(5, 1.0), (10, 2.0), (20, 7.0)], "ms")]))
    assert said["rows"] == [
        {
            "name": "time by chunks",
            "against": "2n against n",
            "value": 3.5,
            "unit": "×",
            "target": 2.3,
            "limit": 3.0,
            "at_least": False,
            "details": {"n_ms": 2.0, "twice_n_ms": 7.0},
            "curve": [[5, 1.0], [10, 2.0], [20, 7.0]],
            "reached": False,
            "failed": True,
        }
    ]
    assert sorted(said["machine"]) == ["cores", "machine", "python", "system"]


def test_the_table_has_target_and_reached_side_by_side_and_says_what_was_missed() -> None:
    rows = [
        ratio("a chunk", "by hand", 1.5, 3.0, own_us=2.0),
        ratio("a fan", "a group", 2.4, 2.0),
        grown(3.2, "time by chunks"),
        Row("reading", "on this machine", 0.8, "MB/s", 1.0, at_least=True),
    ]
    console = Console(width=140, record=True, force_terminal=False, color_system=None)
    with console.capture() as shown:
        show(rows, console)
    lines = shown.get().splitlines()
    cells = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in lines if line[:1] in ("│", "┃")]
    assert cells == [
        ["what", "against", "target", "reached", "", "behind it"],
        ["a chunk", "by hand", "≤ 3 ×", "1.5 ×", "ok", "own us 2"],
        ["a fan", "a group", "≤ 2 ×", "2.4 ×", "missed", ""],
        ["time by chunks", "2n against n", "≤ 2.3 ×", "3.2 ×", "far off", "n ms 1, twice n ms 3.2"],
        ["reading", "on this machine", "≥ 1 MB/s", "0.8 MB/s", "missed", ""],
    ]
    assert lines[-4:] == [
        "1 of 4 targets reached",
        "  missed by 20%: a fan, a group",
        "  far off by 39%: time by chunks, 2n against n",
        "  missed by 25%: reading, on this machine",
    ]
    assert [verdict(row) for row in rows] == ["ok", "missed", "far off", "missed"]


def test_the_plot_has_a_panel_for_each_thing_that_grows_and_tells_it_in_words() -> None:
    curve = [(1_000, 2.0), (2_000, 4.0), (4_000, 8.0)]
    rows = [
        growth("time by chunks", curve, "ms"),
        growth("memory by chunks", [(1_000, 10.0), (2_000, 11.0), (4_000, 15.0)], "KB"),
        growth("time by <nodes>", curve, "ms"),
        ratio("no growth", "b", 1.0, 2.0),
    ]
    drawn = growth_plot(rows)
    assert drawn == growth_plot(rows)
    svg = ET.fromstring(drawn)
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if text and text.startswith("by ")] == ["by chunks", "by <nodes>"]
    assert [text for text in texts if text in ("1k", "2k", "4k")] == ["1k", "2k", "4k"] * 2
    assert [text for text in texts if text in ("4.0×", "1.5×")] == ["4.0×", "1.5×", "4.0×"]
    told = svg.findtext("{http://www.w3.org/2000/svg}desc") or ""
    assert told.endswith("4 times the chunks: time 4.0 times, memory 1.5 times. 4 times the <nodes>: time 4.0 times.")
    assert "prefers-color-scheme:dark" in drawn


def test_two_ends_of_curves_that_meet_are_written_below_each_other() -> None:
    rows = [grown(2.0, "time by chunks"), grown(2.01, "memory by chunks")]
    ends = re.findall(r'y="([0-9.]+)"[^>]*>2.0×<', growth_plot(rows))
    assert abs(float(ends[0]) - float(ends[1])) >= 12
