"""`python -m benchmarks [--full] [--json] [--plot FILE] [GROUP ...]`."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import anyio
from rich.console import Console

from benchmarks._plot import growth_plot
from benchmarks._report import as_json, show
from benchmarks._row import FULL, SHORT, Benchmark, Row, Size
from benchmarks.rows import (
    call,
    checks,
    chunk,
    growth,
    idle,
    imports,
    memory,
    merge,
    models,
    parallel,
    pii,
    response_cache,
    serve,
    stream_gate,
    stream_redaction,
    token_limiter,
    tool_search,
    workflow,
)

GROUPS: dict[str, Benchmark] = {
    "chunk": chunk.measure,
    "workflow": workflow.measure,
    "call": call.measure,
    "parallel": parallel.measure,
    "checks": checks.measure,
    "merge": merge.measure,
    "pii": pii.measure,
    "stream-redaction": stream_redaction.measure,
    "stream-gate": stream_gate.measure,
    "growth": growth.measure,
    "models": models.measure,
    "memory": memory.measure,
    "token-limiter": token_limiter.measure,
    "tool-search": tool_search.measure,
    "response-cache": response_cache.measure,
    "serve": serve.measure,
    "idle": idle.measure,
    "imports": imports.measure,
}


TRIES = 3
"""A fault counts if it shows every time: another program may have been busy."""


async def measure(groups: list[str], size: Size, log: Console) -> list[Row]:
    """Run the groups one after the other, one with a fault in it again."""
    rows: list[Row] = []
    for name in groups:
        measured: list[Row] = []
        for number in range(TRIES):
            log.print(f"measuring {name}{' again' if number else ''} …", style="dim")
            measured = await GROUPS[name](size)
            if not any(row.failed for row in measured):
                break
        rows += measured
    return rows


def main() -> int:
    """Measure, report, and return 1 only for growth and ratios that are far off."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS], metavar="GROUP", help=", ".join(GROUPS))
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--short", action="store_true", help="fewer chunks and rounds (the default)")
    length.add_argument("--full", action="store_true", help="20,000 chunks, the least of nine rounds")
    parser.add_argument("--json", action="store_true", help="JSON on standard output instead of a table")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a picture of growth, in SVG")
    parser.add_argument("--backend", choices=["asyncio", "trio"], default="asyncio")
    options = parser.parse_args()
    groups = list(options.groups) or list(GROUPS)
    size = FULL if options.full else SHORT
    rows = anyio.run(partial(measure, groups, size, Console(stderr=True)), backend=options.backend)
    if options.json:
        sys.stdout.write(as_json(rows) + "\n")
    else:
        show(rows, Console(width=None if sys.stdout.isatty() else 140))
    if options.plot is not None and any(row.curve for row in rows):
        options.plot.parent.mkdir(parents=True, exist_ok=True)
        options.plot.write_text(growth_plot(rows), encoding="utf-8")
        Console(stderr=True).print(f"growth: {options.plot}")
    return 1 if any(row.failed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
