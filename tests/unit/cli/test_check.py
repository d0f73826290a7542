"""`sluiceway check`: findings and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sluiceway.cli._check import check
from sluiceway.graphs.rules import RULES, Rule

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

BAD_ORDERS = """
from sluiceway import Agent, Processor, Workflow, step
from sluiceway.engine import merge
from sluiceway.memory import InMemoryStore, MessageHistory
from sluiceway.models import ScriptedModel
from sluiceway.processors import *

class Heavy(Processor):
    effects = Effects(("chunk",), external=True)

    async def process_output_stream(self, ctx):
        return ctx.part

class Late(Processor):
    def process_input(self, ctx): ...

    def process_output_result(self, ctx):
        if not ctx.text:
            ctx.abort("nothing said")

@guard("output")
def again(text):
    return Retry("no")

def agent(input=(), output=()):
    return Agent("a", model="echo/echo", input_processors=input, output_processors=output)

judge = PromptInjectionDetector()
asks = PromptInjectionDetector(model=ScriptedModel(["{}"]))
sw101 = Workflow("w").parallel([PIIDetector(), judge]).map(merge.pick("processor:prompt-injection-detector"))
sw102 = Workflow("w").parallel([UnicodeNormalizer(), PIIDetector()])
sw103 = agent([asks, PIIDetector()])
sw104 = agent([TokenLimiter(1000), ToolCallFilter()])
sw105 = agent((), [Heavy("heavy")])
sw106 = agent([Late("late")])
sw107 = agent((), [again])
sw108 = Workflow("w").branch([(lambda call: True, PIIDetector()), (lambda call: call.text, judge)])
sw109 = agent([judge, MessageHistory(InMemoryStore())])
sw110 = agent([step(PIIDetector(), on_error="continue")])
sw111 = agent((), [step(PIIDetector(strategy="block"), hooks=["process_output_result"])])
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


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_each_bad_order_in_a_file_is_found(tmp_path: Path, rule: Rule) -> None:
    path = tmp_path / "bad.py"
    path.write_text(BAD_ORDERS, encoding="utf-8")
    code, text = run(f"{path}:{rule.id.lower()}", "--format", "json")
    assert [finding["rule"] for finding in json.loads(text)] == [rule.id]
    assert code == {"error": 2, "warning": 1, "note": 0}[rule.severity]


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
