"""`sluiceway order`: whether the order of the processors in a list matters."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sluiceway.agent import Agent
from sluiceway.cli._load import Loaded, load
from sluiceway.errors import ConfigurationError
from sluiceway.graphs import CommittedWorkflow, Workflow
from sluiceway.testing import permutations_of, tell_orders

__all__ = ["order"]


class Report(StrEnum):
    """How it is told."""

    text = "text"
    json = "json"
    html = "html"


def order(
    target: Annotated[str, typer.Argument(metavar="FILE[:NAME]", help="The file, and which of it.")],
    form: Annotated[Report, typer.Option("--format", "-f", help="How to tell it.")] = Report.text,
    corpus: Annotated[
        Path | None, typer.Option(help="Texts to try, one a line; of .jsonl the `text` of each line.")
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="How many cases for each pair and hook.")] = 100,
    orders: Annotated[int, typer.Option(min=2, help="How many orders of a list; of a longer one a sample.")] = 120,
    out: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if the order matters anywhere.")] = False,
) -> None:
    """Try the orders of each list: which pairs do not commute, with the smallest example, and whether a rule knows.

    The processors are run, on texts that are made up or those of a corpus.
    """
    texts = None if corpus is None else _texts(corpus)
    lists = [items for items in _lists(load(target)) if len(items) > 1]
    if not lists:
        raise ConfigurationError(f"{target}: no list in it has two processors, so there is no other order")
    reports = [permutations_of(items, texts, examples=examples, orders=orders) for items in lists]
    told = tell_orders(reports, form.value)
    if out is None:
        typer.echo(told, nl=False)
    else:
        out.write_text(told, encoding="utf-8")
    if strict and not all(report.commutes for report in reports):
        raise typer.Exit(1)


def _lists(loaded: Loaded) -> list[list[Any]]:
    """Return the lists of an agent and what is in their workflows, or the processors of a workflow, as written."""
    if not isinstance(loaded, Agent):
        return [_inside(loaded)]
    lists = [list(loaded.lists[kind] or ()) for kind in ("input", "output")]
    workflows = [item for items in lists for item in items if isinstance(item, (Workflow, CommittedWorkflow))]
    return [*lists, *map(_inside, workflows)]


def _inside(workflow: Workflow | CommittedWorkflow) -> list[Any]:
    committed = workflow.commit() if isinstance(workflow, Workflow) else workflow
    return list(committed.processors.values())


def _texts(corpus: Path) -> list[str]:
    try:
        lines = [line for line in corpus.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{corpus}: no text can be read from it: {error}") from error
    texts = [_text(line, f"{corpus}:{number}") for number, line in enumerate(lines, 1)] if _is_jsonl(corpus) else lines
    if not texts:
        raise ConfigurationError(f"{corpus}: there is no text in it")
    return texts


def _is_jsonl(corpus: Path) -> bool:
    return corpus.suffix == ".jsonl"


def _text(line: str, where: str) -> str:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise ConfigurationError(f"{where}: not JSON: {error}") from error
    text = value.get("text") if isinstance(value, dict) else value  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(text, str):
        raise ConfigurationError(f"{where}: a text, or an object with a `text`, not {line[:60]}")
    return text
