"""A process that is killed between any two statements loses its turn whole, and blocks nobody."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]

LIST = """
import sys, json, anyio
from sluiceway.memory import Memory, SQLiteStore
found = anyio.run(Memory(SQLiteStore(sys.argv[1])).recall, "t")
print(json.dumps([(m.role, m.text) for m in found]))
"""

NOTHING = {"messages": [], "working": None, "pending": 0, "then": 2}
ALL = {
    "messages": [["user", "I am Ann"], ["assistant", "notedhello Ann"]],
    "working": "- Name: Ann",
    "then": 4,
}


def outcomes(*arguments: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.memory.killed", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(runs: list[dict[str, Any]]) -> None:
    assert [run["n"] for run in runs] == list(range(1, len(runs) + 1)), "each left a line"
    assert len(runs) > 20
    assert [run["killed"] for run in runs] == [True] * (len(runs) - 1) + [False]
    halves = [run for run in runs if not any(run | whole == run for whole in (NOTHING, ALL))]
    assert halves == []
    kinds = ["all" if run | ALL == run else "nothing" for run in runs]
    assert kinds == sorted(kinds, reverse=True), "from the commit on it is there"
    # What was saved but not yet embedded waits for a later turn.
    assert {run["pending"] for run in runs if run["messages"]} == {0, 2}


def test_sqlite(tmp_path: Path) -> None:
    check(outcomes("sqlite", str(tmp_path)))


def test_postgres(postgres_url: str) -> None:
    check(outcomes("postgres", postgres_url))


@pytest.mark.parametrize("count", [3])
def test_several_processes_on_one_file_wait_for_one_another(tmp_path: Path, count: int) -> None:
    """Every turn of every process is there, none is torn apart by another."""
    code = (
        "import sys, anyio\n"
        "from sluiceway import Agent\n"
        "from sluiceway.memory import Memory, SQLiteStore\n"
        "async def main(name, path):\n"
        "    agent = Agent(id='a', model='echo/echo', memory=Memory(SQLiteStore(path), last_messages=2))\n"
        "    for n in range(8):\n"
        "        await agent.generate(f'{name}{n}', memory={'thread': 't', 'resource': 'u'})\n"
        "anyio.run(main, *sys.argv[1:])\n"
    )
    path = tmp_path / "memory.db"
    running = [
        subprocess.Popen([sys.executable, "-c", code, name, str(path)], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for name in "abc"[:count]
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors

    listed = subprocess.run(
        [
            sys.executable,
            "-c",
            LIST,
            str(path),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    messages = json.loads(listed.stdout)
    said = [text for role, text in messages if role == "user"]
    assert sorted(said) == sorted(f"{name}{n}" for name in "abc"[:count] for n in range(8))
    assert messages == [[role, text] for text in said for role in ("user", "assistant")]
