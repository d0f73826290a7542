"""`sluiceway check`: what is likely wrong with a workflow or agent."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from sluiceway.cli._load import load
from sluiceway.cli._write import write
from sluiceway.graphs import Finding, findings_to_json, findings_to_sarif, findings_to_text
from sluiceway.graphs import check as check_graph

__all__ = ["check"]

_STYLES: Final = {"error": "bold red", "warning": "yellow", "note": "blue"}
_EXIT: Final = {"error": 2, "warning": 1, "note": 0}


class Report(StrEnum):
    """How findings are told."""

    text = "text"
    json = "json"
    sarif = "sarif"


def check(
    target: Annotated[str, typer.Argument(metavar="FILE[:NAME]", help="The file, and which of it.")],
    form: Annotated[Report, typer.Option("--format", "-f", help="How to tell it.")] = Report.text,
    ignore: Annotated[list[str] | None, typer.Option(help="A rule to leave out; may be given again.")] = None,
    out: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Look for orders and options that are likely not what was meant. Nothing is run.

    The exit code is 2 if there is an error, 1 if there is a warning, else 0.
    """
    findings = check_graph(load(target), ignore=ignore or ())
    if form is Report.text and out is None:
        _print(findings)
    else:
        text = _told(findings, form, target)
        if out is not None:
            write(out, text)
        else:
            typer.echo(text, nl=False)
    code = max((_EXIT[finding.severity] for finding in findings), default=0)
    if code:
        raise typer.Exit(code)


def _told(findings: list[Finding], form: Report, target: str) -> str:
    match form:
        case Report.json:
            return findings_to_json(findings)
        case Report.sarif:
            return findings_to_sarif(findings, file=_file(target))
        case Report.text:
            return findings_to_text(findings)


def _file(target: str) -> str:
    path = Path(target)
    return (path if path.exists() else Path(target.rpartition(":")[0])).as_posix()


def _print(findings: list[Finding]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    for finding in findings:
        head = Text(finding.path, style="bold")
        head.append(f"\n  {finding.severity}", style=_STYLES[finding.severity])
        head.append(f" {finding.rule} {finding.name}: {finding.why}.")
        head.append(f"\n  {finding.fix}.", style="green")
        console.print(head)
    count = len(findings)
    console.print(f"{count} finding{'' if count == 1 else 's'}" if count else "no findings")
