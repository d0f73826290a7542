"""Figures of `sluiceway eval` as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sluiceway.cli._show import printable
from sluiceway.testing import Counts, Miss, Scores

__all__ = ["show"]

_WHAT: Final = {"pii": "personal data", "injection": "prompt injection"}
_STYLES: Final = {"missed": "red", "cut": "yellow", "wrong": "magenta", "false alarm": "magenta"}
_VALUE_CHARS: Final = 160
_FILE_WIDTH: Final = 132


def show(scores: Sequence[Scores], listed: Collection[str]) -> None:
    """Print the figures.

    Args:
        scores: One after the other.
        listed: The parts whose misses are listed.
    """
    console = Console(highlight=False)
    if not console.is_terminal:  # a file has room for the names of rules
        console.width = _FILE_WIDTH
    for one in scores:
        console.print(Text.assemble((f"{_WHAT[one.task]} · {one.part} · {one.detector}", "bold")))
        console.print(_table(one))
        for line in _below(one):
            console.print(line, markup=False)
        if one.part in listed:
            for miss in one.misses:
                console.print(_line(miss), soft_wrap=True)
        elif one.misses:
            console.print(f"{len(one.misses)} misses, not listed", style="dim")
        console.print()


def _table(scores: Scores) -> Table:
    table = Table(show_edge=False)
    table.add_column("", no_wrap=True)
    for title in ("precision", "recall", "F1", "there", "found", "wrong", "cut", "ms/1k"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_row(*_row("all", scores.total, scores.speed.ms_per_1k_chars), style="bold", end_section=True)
    _add(table, "label" if scores.task == "injection" else "kind", scores.kinds, {})
    _add(table, "rule", scores.rules, scores.rule_ms)
    return table


def _add(table: Table, title: str, counts: Mapping[str, Counts], times: Mapping[str, float]) -> None:
    for name, one in sorted(counts.items()):
        table.add_row(*_row(f"{title} {printable(name)}", one, _time_of(name, times)))
    table.add_section()


def _time_of(rule: str, times: Mapping[str, float]) -> float | None:
    """Return the time of a rule; one that found something behind a trick is timed under its own name."""
    return times.get(rule, times.get(rule.partition(":")[0]))


def _row(name: str, counts: Counts, ms: float | None) -> list[str]:
    shares = [_percent(counts.precision), _percent(counts.recall), _percent(counts.f1)]
    numbers = [str(number) for number in (counts.expected, counts.found, counts.wrong, counts.cut)]
    return [name, *shares, *numbers, "" if ms is None else f"{ms:.3f}"]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _below(scores: Scores) -> list[str]:
    lines: list[str] = []
    if scores.benign:
        lines.append(
            f"false alarms: {scores.alarms} of {scores.benign} benign texts, {_percent(scores.false_alarm_rate)}"
        )
    if scores.beyond.expected:
        beyond = scores.beyond
        lines.append(f"not for rules, and not counted above: {beyond.expected}, of which {beyond.found} were found")
    lines.append(f"{scores.speed.mb_per_s:.2f} MB/s over {scores.speed.chars} characters")
    return lines


def _line(miss: Miss) -> Text:
    line = Text(f"{miss.what:11} ", style=_STYLES[miss.what])
    line.append(f"{printable(miss.id)} {printable(miss.kind)}", style="bold")
    if miss.rule:
        line.append(f" [{printable(miss.rule)}]", style="cyan")
    if miss.value:
        line.append(f" {_short(miss.value)}")
    if miss.found:
        line.append(f" → {_short(miss.found)}", style="dim")
    return line


def _short(text: str) -> str:
    shown = printable(text.replace("\n", "⏎"))
    return shown if len(shown) <= _VALUE_CHARS else f"{shown[:_VALUE_CHARS]}…"
