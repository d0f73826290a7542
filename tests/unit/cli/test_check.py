"""`sluiceway check`: findings and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sluiceway.cli._check import check

APP = typer.Typer()
APP.command()(check)

SOURCE = """
from sluiceway import Processor, Workflow
from sluiceway.processors import Effects, PIIDetector, UnicodeNormalizer

class Judge(Processor):
    effects = Effects(("messages",), external=True)

    def process_input(self, ctx):
        pass

leaks = Workflow("wf").then(Judge("judge")).then(PIIDetector(strategy="redact"))
opens = Workflow("wf").then(PIIDetector(on_error="continue"))
good = Workflow("wf").then(PIIDetector(strategy="redact")).then(Judge("judge"))
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "app.py"
    path.write_text(SOURCE, encoding="utf-8")
    return str(path)


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(APP, arguments)
    return done.exit_code, done.output


@pytest.mark.parametrize(("name", "code"), [("leaks", 2), ("opens", 1), ("good", 0)])
def test_the_exit_code_tells_the_worst(file: str, name: str, code: int) -> None:
    assert run(f"{file}:{name}")[0] == code


def test_it_says_where_what_and_how_to_mend_it(file: str) -> None:
    assert run(f"{file}:leaks")[1].splitlines() == [
        "wf › processor:pii-detector",
        (
            "  error SW103 leak-before-redaction: 'judge' stands before it in process_input and sends the text "
            "to another service, with all that this takes out."
        ),
        "  Put it before 'judge'.",
        "1 finding",
    ]
    assert run(f"{file}:good") == (0, "no findings\n")


def test_a_rule_can_be_left_out(file: str) -> None:
    assert run(f"{file}:leaks", "--ignore", "SW103") == (0, "no findings\n")


def test_findings_for_other_programs(file: str, tmp_path: Path) -> None:
    code, text = run(f"{file}:leaks", "--format", "json")
    assert (code, [finding["rule"] for finding in json.loads(text)]) == (2, ["SW103"])
    out = tmp_path / "out.sarif"
    assert run(f"{file}:leaks", "--format", "sarif", "-o", str(out)) == (2, "")
    (result,) = json.loads(out.read_text(encoding="utf-8"))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert (result["ruleId"], place) == ("SW103", file)
