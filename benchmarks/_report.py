"""The rows as a table for a person, or as JSON for a program."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from benchmarks._row import Row

__all__ = ["as_json", "show"]

BAR = 24


def figure(value: float, unit: str) -> str:
    """Return the value with three digits that count and its unit."""
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def show(rows: Sequence[Row], console: Console) -> None:
    """Print the table, then how much of what is allowed each growth takes up."""
    table = Table(title="sluiceway: speed", title_justify="left")
    for heading, justify in (
        ("what", "left"),
        ("against", "left"),
        ("reached", "right"),
        ("target", "right"),
    ):
        table.add_column(heading, justify=justify)  # pyright: ignore[reportArgumentType]
    table.add_column("")
    table.add_column("behind it", style="dim")
    for row in rows:
        verdict = "[red]too far off" if row.failed else "[green]met" if row.reached else "[yellow]missed"
        bound = "≥" if row.at_least else "≤"
        behind = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in row.details.items())
        table.add_row(row.name, row.against, figure(row.value, row.unit), f"{bound} {row.target:g}", verdict, behind)
    console.print(table)
    grown = [row for row in rows if row.against == "2n against n"]
    if grown:
        console.print("\ngrowth: time or memory at 2n over n (2 is linear, 4 is quadratic)")
    for row in grown:
        bar = "█" * max(1, round(BAR * min(row.value, 4.0) / 4.0))
        console.print(f"  {row.name:<24} {bar:<{BAR}} {row.value:.2f}", highlight=False)


def as_json(rows: Sequence[Row]) -> str:
    """Return machine and rows as JSON."""
    listed = [{**asdict(row), "reached": row.reached, "failed": row.failed} for row in rows]
    machine = {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
    }
    return json.dumps({"machine": machine, "rows": listed}, ensure_ascii=False, indent=2)
