"""From FILE[:NAME] to what stands in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sluiceway import Agent
from sluiceway.cli import load
from sluiceway.cli._load import load_agent
from sluiceway.errors import ConfigurationError

ONE = "from sluiceway import Agent\nbot = Agent(id='bot', model='echo/echo')\n"
TWO = ONE + "other = Agent(id='other', model='echo/echo')\n"
FLOW = (
    "from sluiceway import Workflow\nfrom sluiceway.processors import UnicodeNormalizer\n"
    "flow = Workflow('flow').then(UnicodeNormalizer())\n"
)


def file(folder: Path, text: str) -> str:
    path = folder / "app.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_only_one_needs_no_name(tmp_path: Path) -> None:
    assert load(file(tmp_path, ONE)).id == "bot"


def test_a_second_name_for_the_same_is_no_second_one(tmp_path: Path) -> None:
    assert load(file(tmp_path, ONE + "alias = bot\n")).id == "bot"


def test_the_only_agent_goes_before_workflows(tmp_path: Path) -> None:
    assert load(file(tmp_path, ONE + FLOW)).id == "bot"


def test_of_several_the_one_named_agent_is_meant(tmp_path: Path) -> None:
    assert load(file(tmp_path, TWO + "agent = other\n")).id == "other"


def test_a_name_picks(tmp_path: Path) -> None:
    path = file(tmp_path, TWO)
    assert load(f"{path}:other").id == "other"


def test_a_workflow_becomes_the_input_of_an_echo(tmp_path: Path) -> None:
    agent = load_agent(file(tmp_path, FLOW))
    assert isinstance(agent, Agent)
    assert agent.generate_sync("e\u0301").text == "\u00e9"


def test_a_file_can_import_what_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("NAME = 'neighbour'\n", encoding="utf-8")
    path = file(tmp_path, "from beside_it import NAME\n" + ONE.replace("'bot'", "NAME"))
    assert load(path).id == "neighbour"


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        (None, "", "no such file"),
        ("x = 1\n", "", "no agent or workflow in it"),
        (TWO, "", "with one of: bot, other"),
        (ONE, ":nope", "no agent or workflow 'nope' (no such name); there are: bot"),
        (ONE + "n = 5\n", ":n", "(a int has that name)"),
        ("raise RuntimeError('kaput')\n", "", "could not be loaded: RuntimeError: kaput"),
        ("def (:\n", "", "could not be loaded: SyntaxError"),
    ],
)
def test_what_cannot_be_loaded_says_why(tmp_path: Path, text: str | None, name: str, says: str) -> None:
    path = str(tmp_path / "missing.py") if text is None else file(tmp_path, text)
    with pytest.raises(ConfigurationError, match=re.escape(says)):
        load(path + name)
