"""`sluiceway graph`: formats, a saved run, differences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sluiceway.cli._graph import graph
from sluiceway.errors import ConfigurationError
from sluiceway.graphs import graph_from_json

APP = typer.Typer()
APP.command()(graph)

SOURCE = """
from sluiceway import Workflow
from sluiceway.processors import PIIDetector, UnicodeNormalizer

checks = Workflow("checks").then(UnicodeNormalizer()).then(PIIDetector(strategy="redact"))
fewer = Workflow("checks").then(UnicodeNormalizer())
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "app.py"
    path.write_text(SOURCE, encoding="utf-8")
    return str(path)


def told(*arguments: str) -> str:
    done = CliRunner().invoke(APP, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_it_shows_a_tree(file: str) -> None:
    assert told(f"{file}:checks").splitlines() == [
        "checks workflow",
        "├── unicode-normalizer  input  edits",
        "└── pii-detector  input · stream · tool result · result  redacts · may block",
    ]


@pytest.mark.parametrize(
    ("form", "start"),
    [("svg", "<svg "), ("dot", 'digraph "checks" {'), ("mermaid", "flowchart LR\n"), ("text", "checks (workflow)\n")],
)
def test_it_writes_every_format_to_a_file(file: str, tmp_path: Path, form: str, start: str) -> None:
    out = tmp_path / "out"
    assert told(f"{file}:checks", "--format", form, "-o", str(out)) == ""
    assert out.read_text(encoding="utf-8").startswith(start)


def test_a_stored_graph_is_shown_and_compared(file: str, tmp_path: Path) -> None:
    stored = tmp_path / "old.json"
    told(f"{file}:checks", "--format", "json", "-o", str(stored))
    assert "checks › processor:pii-detector" in graph_from_json(stored.read_text(encoding="utf-8"))
    assert told("--diff", str(stored), f"{file}:fewer") == "- checks › processor:pii-detector\n"
    assert told("--diff", str(stored), f"{file}:fewer", "--format", "svg").count(">removed<") == 1


def test_a_saved_run_is_put_on_it(file: str, tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    hook = {"hook": "process_input", "processor_id": "pii-detector", "path": "checks › processor:pii-detector",
            "outcome": "tripwire", "duration_ms": 12.5}  # fmt: skip
    run.write_text(json.dumps({"hook": hook}), encoding="utf-8")
    assert "tripwire · 12.5 ms" in told(f"{file}:checks", "--run", str(run), "-f", "mermaid")


def test_what_does_not_go_together_is_refused(file: str) -> None:
    with pytest.raises(ConfigurationError, match="which graph"):
        told()
    with pytest.raises(ConfigurationError, match="--diff OLD NEW takes no other file"):
        told(file, "--diff", file, file)
    with pytest.raises(ConfigurationError, match="--diff gives text or svg, not dot"):
        told("--diff", f"{file}:checks", f"{file}:fewer", "-f", "dot")


def test_a_file_that_cannot_be_written_is_named(file: str, tmp_path: Path) -> None:
    out = str(tmp_path / "missing" / "out.svg")
    with pytest.raises(ConfigurationError, match=r"out\.svg: cannot be written: No such file"):
        told(f"{file}:checks", "--format", "svg", "-o", out)
