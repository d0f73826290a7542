"""`sluiceway serve`: what it takes from a file, and what it refuses before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluiceway import Agent, Workflow
from sluiceway.cli import app
from sluiceway.cli._load import load_all
from sluiceway.errors import ConfigurationError

AGENTS = """
from sluiceway import Agent, Workflow
flow = Workflow("flow").then(str.upper)
one = Agent(id="one", model="echo/echo")
again = one
two = Agent(id="two", model="echo/echo")
_hidden = Agent(id="hidden", model="echo/echo")
"""


def written(folder: Path, text: str) -> str:
    path = folder / "app.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_all_agents_of_a_file_are_served_each_once(tmp_path: Path) -> None:
    path = written(tmp_path, AGENTS)
    assert [thing.id for thing in load_all(path)] == ["one", "two"]
    assert [thing.id for thing in load_all(f"{path}:two")] == ["two"]
    [flow] = load_all(f"{path}:flow")
    assert isinstance(flow, Workflow)


def test_a_file_without_agents_gives_its_workflow(tmp_path: Path) -> None:
    [flow] = load_all(written(tmp_path, 'from sluiceway import Workflow\nw = Workflow("w").then(str.upper)\n'))
    assert not isinstance(flow, Agent)
    with pytest.raises(ConfigurationError, match="no agent or workflow in it"):
        load_all(written(tmp_path, "x = 1\n"))


def test_options_that_cannot_work_are_refused_before_it_starts(tmp_path: Path) -> None:
    path = written(tmp_path, AGENTS)
    for options in (["--hold", "never"], ["--port", "70000"], ["--max-body", "0"]):
        assert CliRunner().invoke(app, ["serve", path, *options]).exit_code == 2
    done = CliRunner().invoke(app, ["serve", path, "--api-key", " "])
    assert isinstance(done.exception, ConfigurationError)


def test_help_names_every_option() -> None:
    told = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "160", "TERM": "dumb"}).output
    for option in ("--host", "--port", "--hold", "--upstream", "--api-key", "--page", "--show-values"):
        assert option in told
