"""The typer application."""

from __future__ import annotations

import sys

import typer
from rich.console import Console
from rich.text import Text

from sluiceway.cli._check import check
from sluiceway.cli._eval import evaluate
from sluiceway.cli._graph import graph
from sluiceway.cli._order import order
from sluiceway.cli._run import run
from sluiceway.cli._serve import serve
from sluiceway.errors import SluicewayError

__all__ = ["app", "main"]

app = typer.Typer(
    name="sluiceway",
    help="Run, look at and check guarded agents and workflows.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
"""The typer application."""


@app.callback()
def _root() -> None:
    """Run, look at and check guarded agents and workflows."""


app.command()(run)
app.command()(serve)
app.command()(graph)
app.command()(check)
app.command()(order)
app.command("eval")(evaluate)


def main() -> None:
    """Run the command line; an error of the library is one line on standard error, exit code 1."""
    try:
        app()
    except SluicewayError as error:
        Console(stderr=True).print(Text.assemble(("error: ", "bold red"), str(error)))
        sys.exit(1)
