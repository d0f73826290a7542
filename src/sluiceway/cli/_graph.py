"""`sluiceway graph`: a workflow or agent as a picture or text."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from sluiceway.cli._load import load
from sluiceway.cli._write import write
from sluiceway.errors import ConfigurationError
from sluiceway.graphs import (
    GraphDiff,
    Outline,
    diff,
    diff_to_svg,
    graph_from_json,
    graph_to_json,
    outline,
    to_dot,
    to_mermaid,
    to_svg,
    to_text,
)

__all__ = ["graph"]

_STYLES: Final = {
    "tripwire": "bold red", "error": "bold red", "skipped": "dim", "added": "green", "removed": "red",
    "moved": "blue", "changed": "yellow",
}  # fmt: skip
_KINDS: Final = {"processor": "cyan", "function": "green", "agent": "magenta", "tool": "yellow", "model": "magenta"}


class Format(StrEnum):
    """What a graph is printed as."""

    svg = "svg"
    dot = "dot"
    mermaid = "mermaid"
    text = "text"
    json = "json"


class Colours(StrEnum):
    """The colours of a picture."""

    auto = "auto"
    light = "light"
    dark = "dark"


def graph(
    target: Annotated[str | None, typer.Argument(metavar="FILE[:NAME]", help="The file, and which of it.")] = None,
    form: Annotated[Format, typer.Option("--format", "-f", help="What to print.")] = Format.text,
    run: Annotated[Path | None, typer.Option(help="A run to put on it: JSON lines of `sluiceway run --json`.")] = None,
    out: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", metavar="OLD NEW", help="Compare two: FILE[:NAME], or a graph stored as .json."),
    ] = None,
    theme: Annotated[Colours, typer.Option(help="Colours of the picture.")] = Colours.auto,
) -> None:
    """Show a workflow or agent as a tree, a picture, or for another program."""
    if compare is not None:
        if target is not None or run is not None:
            raise ConfigurationError("--diff OLD NEW takes no other file and no --run")
        _show_diff(diff(_loaded(compare[0]), _loaded(compare[1])), form, out, theme)
        return
    if target is None:
        raise ConfigurationError("which graph? Give FILE or FILE:NAME, or --diff OLD NEW")
    thing = _loaded(target)
    given = None if run is None else str(run)
    if form is Format.text and out is None:
        Console().print(_tree(outline(thing, run=given)))
        return
    made = {
        Format.svg: lambda: to_svg(thing, run=given, theme=theme.value),
        Format.dot: lambda: to_dot(thing, run=given),
        Format.mermaid: lambda: to_mermaid(thing, run=given),
        Format.text: lambda: to_text(thing, run=given),
        Format.json: lambda: graph_to_json(thing, run=given),
    }
    _write(made[form](), out)


def _loaded(target: str) -> object:
    path = Path(target)
    if path.suffix == ".json" and path.is_file():
        return graph_from_json(path.read_text(encoding="utf-8"))
    return load(target)


def _show_diff(difference: GraphDiff, form: Format, out: Path | None, theme: Colours) -> None:
    if form is Format.svg:
        _write(diff_to_svg(difference, theme=theme.value), out)
    elif form is Format.text:
        _write(difference.to_text(), out)
    else:
        raise ConfigurationError(f"--diff gives text or svg, not {form.value}")


def _write(text: str, out: Path | None) -> None:
    if out is not None:
        write(out, text)
    else:
        typer.echo(text, nl=False)


def _tree(top: Outline) -> Tree:
    tree = Tree(Text.assemble((top.label, "bold"), (f" {top.kind}", "dim")))
    _grow(tree, top)
    return tree


def _grow(tree: Tree, item: Outline) -> None:
    for child in item.children:
        style = _STYLES.get(child.status) or _STYLES.get(child.change) or _KINDS.get(child.kind, "")
        line = Text(child.label, style=style)
        for words in child.details:
            line.append(f"  {words}", style="dim" if child.status not in ("tripwire", "error") else "red")
        _grow(tree.add(line), child)
