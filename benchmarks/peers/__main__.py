"""`python -m benchmarks.peers [--rounds N] [--json]`, in the environment that `make peers` makes."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from importlib.metadata import version

import anyio
from rich.console import Console
from rich.table import Table

os.environ |= {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false", "OPENAI_AGENTS_DISABLE_TRACING": "1"}

# Tracing is off before they are imported.
from benchmarks._measure import least
from benchmarks._report import machine
from benchmarks.peers import _langchain, _langgraph, _openai_agents, _ours, _pydantic_ai
from benchmarks.peers._work import TASKS, Peer, Task

Figures = dict[Task, dict[str, float]]


async def measure(peers: list[Peer], rounds: int) -> Figures:
    """Return the microseconds that each piece of work takes in each library, the least of several rounds."""
    figures: Figures = {}
    for task in TASKS:
        able = [peer for peer in peers if task in peer.works]
        Console(stderr=True).print(f"measuring {task} …", style="dim")
        seconds = await least(rounds, *(peer.works[task][0] for peer in able))
        figures[task] = {
            peer.name: spent / peer.works[task][1] * 1e6 for peer, spent in zip(able, seconds, strict=True)
        }
    return figures


def versions(peers: list[Peer]) -> dict[str, str]:
    """Return the version of every package that was measured."""
    return {package: version(package) for peer in peers for package in peer.packages}


def show(figures: Figures, peers: list[Peer]) -> None:
    """Print what each takes, and how many times as long as here."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table(title="the same work in other libraries", title_justify="left")
    table.add_column("what")
    for peer in peers:
        table.add_column(peer.name, justify="right")
    for task, told in TASKS.items():
        own = figures[task]["sluiceway"]
        cells = [figures[task].get(peer.name) for peer in peers]
        table.add_row(told, *("–" if us is None else f"{us:,.4g} µs · {us / own:.3g}×" for us in cells))
    console.print(table)
    for peer in peers:
        console.print(f"{peer.name}: {', '.join(f'{p} {version(p)}' for p in peer.packages)}", highlight=False)
        for task, note in peer.notes.items():
            console.print(f"  {task}: {note}", highlight=False, style="dim")


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of which the least counts")
    parser.add_argument("--json", action="store_true", help="JSON on standard output instead of a table")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="The v3 streaming protocol")
    modules = (_ours, _langchain, _langgraph, _pydantic_ai, _openai_agents)
    peers = [module.peer() for module in modules]
    figures = anyio.run(measure, peers, options.rounds)
    if not options.json:
        show(figures, peers)
        return
    notes = {peer.name: dict(peer.notes) for peer in peers}
    said = {"machine": machine(), "versions": versions(peers), "microseconds": figures, "notes": notes}
    sys.stdout.write(json.dumps(said, ensure_ascii=False, indent=2) + "\n")


if __name__ == "__main__":
    main()
