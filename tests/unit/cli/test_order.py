"""`sluiceway order`: agents, workflows, a corpus, and three ways to tell it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sluiceway.cli._order import order
from sluiceway.errors import ConfigurationError

APP = typer.Typer()
APP.command()(order)

SOURCE = """
from sluiceway import Agent, Workflow
from sluiceway.models import ScriptedModel
from sluiceway.processors import PIIDetector, UnicodeNormalizer
from sluiceway.testing import behaving

matters = Agent(id="matters", model=ScriptedModel(["x"]), input_processors=[UnicodeNormalizer(), PIIDetector()])
apart = Workflow("apart").then(behaving("upper")).then(behaving("digits"))
inside = Agent(id="inside", model=ScriptedModel(["x"]), input_processors=[apart])
single = Agent(id="single", model=ScriptedModel(["x"]), input_processors=[PIIDetector()])
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "app.py"
    path.write_text(SOURCE, encoding="utf-8")
    return str(path)


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(APP, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_an_order_that_matters_is_shown_on_the_corpus(file: str, tmp_path: Path) -> None:
    corpus = tmp_path / "texts.txt"
    corpus.write_text("ａｎｎ＠ｅｘａｍｐｌｅ．ｏｒｇ\n\nhello\n", encoding="utf-8")
    code, text = run(f"{file}:matters", "--corpus", str(corpus), "--strict")
    assert code == 1
    pair, case, first, second = text.splitlines()[1:5]
    assert pair == "unicode-normalizer / pii-detector: the order matters in process_input [no rule]"
    assert "＠" in case
    assert "*" in first
    assert "*" not in second


@pytest.mark.parametrize("name", ["apart", "inside"])
def test_a_workflow_and_one_inside_of_a_list(file: str, name: str) -> None:
    code, text = run(f"{file}:{name}", "--examples", "5", "--strict")
    assert (code, text.splitlines()[0]) == (0, "upper, digits: all 2 orders agree (1 pair, up to 5 cases each)")


def test_json_lines_and_a_file(file: str, tmp_path: Path) -> None:
    corpus, out = tmp_path / "texts.jsonl", tmp_path / "out.json"
    corpus.write_text('{"text": "one"}\n"two"\n', encoding="utf-8")
    assert run(f"{file}:apart", "--corpus", str(corpus), "--examples", "3", "-f", "json", "-o", str(out)) == (0, "")
    assert [report["ids"] for report in json.loads(out.read_text(encoding="utf-8"))] == [["upper", "digits"]]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [("empty.txt", "\n", "no text in it"), ("bad.jsonl", "{", "not JSON"), ("bad.jsonl", "[1]", "a `text`")],
)
def test_a_corpus_that_is_none(file: str, tmp_path: Path, name: str, content: str, says: str) -> None:
    corpus = tmp_path / name
    corpus.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=says):
        run(f"{file}:apart", "--corpus", str(corpus))


def test_a_list_of_one_has_no_order(file: str) -> None:
    with pytest.raises(ConfigurationError, match="no list in it has two processors"):
        run(f"{file}:single")
