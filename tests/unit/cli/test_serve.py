"""`sluiceway serve`: what it takes from a file, and what it refuses before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluiceway import Agent, Workflow
from sluiceway.cli import app
from sluiceway.cli._load import load_all
from sluiceway.errors import ConfigurationError
from sluiceway.serve import Server

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


def does_not_start(self: Server, started: object) -> None:
    """A server that would start holds up no test."""


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


@pytest.mark.parametrize("keys", ["", "  "])
def test_an_empty_list_of_keys_does_not_let_anyone_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: str
) -> None:
    monkeypatch.setenv("SLUICEWAY_API_KEY", keys)
    monkeypatch.setattr(Server, "run", does_not_start)
    result = CliRunner().invoke(app, ["serve", written(tmp_path, AGENTS)])
    assert isinstance(result.exception, ConfigurationError)
    assert "holds no key" in str(result.exception)


@pytest.mark.parametrize("url", ["127.0.0.1:1", "ftp://x/", "", "http://user:pw@127.0.0.1:1/v1"])
def test_an_address_behind_that_is_none_is_refused_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setattr(Server, "run", does_not_start)
    result = CliRunner().invoke(app, ["serve", written(tmp_path, AGENTS), "--upstream", url])
    assert isinstance(result.exception, ConfigurationError)
    assert "base_url" in str(result.exception)


def test_help_names_every_option() -> None:
    told = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "160", "TERM": "dumb"}).output
    for option in ("--host", "--port", "--hold", "--upstream", "--api-key", "--page", "--show-values"):
        assert option in told
