"""The rows as a table for a person, or as JSON for a program."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

from rich.console import Console
from rich.table import Table

from benchmarks._row import Row

__all__ = ["as_json", "machine", "show", "verdict"]

COLUMNS: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("what", "left"),
    ("against", "left"),
    ("target", "right"),
    ("reached", "right"),
    ("", "left"),
)


def figure(value: float, unit: str) -> str:
    """Return the value with three digits that count and its unit."""
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def verdict(row: Row) -> str:
    """Return `ok`, `missed`, or for what fails the program `far off`."""
    return "far off" if row.failed else "ok" if row.reached else "missed"


def machine() -> dict[str, str | int]:
    """Return what the figures were measured on."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count() or 1,
    }


def show(rows: Sequence[Row], console: Console) -> None:
    """Print target and reached of each row side by side, then how many there are and what was missed."""
    table = Table(title="sluiceway: speed", title_justify="left")
    for heading, justify in COLUMNS:
        table.add_column(heading, justify=justify)
    table.add_column("behind it", style="dim")
    colours = {"ok": "green", "missed": "yellow", "far off": "red"}
    for row in rows:
        said = verdict(row)
        bound = f"{'≥' if row.at_least else '≤'} {row.target:g} {row.unit}"
        behind = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in row.details.items())
        mark = f"[{colours[said]}]{said}"
        table.add_row(row.name, row.against, bound, figure(row.value, row.unit), mark, behind)
    console.print(table)
    missed = [row for row in rows if not row.reached]
    console.print(f"{len(rows) - len(missed)} of {len(rows)} targets reached", highlight=False)
    for row in missed:
        off = row.target / row.value if row.at_least else row.value / (row.target or 1.0)
        console.print(f"  {verdict(row)} by {off - 1:.0%}: {row.name}, {row.against}", highlight=False)


def as_json(rows: Sequence[Row]) -> str:
    """Return machine and rows as JSON."""
    listed = [{**asdict(row), "reached": row.reached, "failed": row.failed} for row in rows]
    return json.dumps({"machine": machine(), "rows": listed}, ensure_ascii=False, indent=2)
