"""The runner notices every kind of deviation; a runner that agrees with anything is worth nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main
from tests.conformance.load import CASES, Case, expected_failures, load_case
from tests.conformance.run import faults_of


def changed(name: str, change: Callable[[dict[str, Any]], object]) -> Case:
    """Return a case of the collection with something changed in its outcome."""
    case = load_case(CASES / f"{name}.json")
    expect = json.loads(json.dumps(case.expect))
    change(expect)
    return Case(case.id, case.scenario, expect)


def turn(**fields: Any) -> Callable[[dict[str, Any]], object]:
    """Return a change of fields of the first call."""
    return lambda expect: expect["turns"][0].update(fields)


def chunk(place: int, **fields: Any) -> Callable[[dict[str, Any]], object]:
    """Return a change of fields of one chunk of the first call."""
    return lambda expect: expect["turns"][0]["chunks"][place].update(fields)


def prompt(number: int, place: int, **fields: Any) -> Callable[[dict[str, Any]], object]:
    """Return a change of fields of one message of a prompt."""
    return lambda expect: expect["prompts"][number][place].update(fields)


def result_piece(expect: dict[str, Any]) -> dict[str, Any]:
    """Return the tool result in the second prompt."""
    return expect["prompts"][1][3]["parts"][0]


DEVIATIONS = [
    ("order-tool-loop", lambda e: e["hooks"].pop(), "hooks: "),
    ("order-tool-loop", lambda e: e["hooks"].append("o.process_input"), "hooks: "),
    ("order-tool-loop", lambda e: e["hooks"].insert(2, e["hooks"].pop(1)), "hooks: [1]"),
    ("order-tool-loop", lambda e: e["prompts"].pop(), "prompts: 2, not 1"),
    ("order-tool-loop", prompt(1, 1, text="ho"), "prompt 1[1]: "),
    ("order-tool-loop", prompt(1, 1, role="system"), "prompt 1: roles "),
    ("order-tool-loop", lambda e: e["prompts"][1][2]["parts"][0].update(id="c2"), "prompt 1[2]: "),
    ("order-tool-loop", lambda e: e["prompts"][1][2]["parts"][0].update(args={}), "prompt 1[2]: "),
    ("order-tool-loop", lambda e: result_piece(e).update(output={"n": 2}), "prompt 1[3]: "),
    ("toolresult-not-on-error", lambda e: result_piece(e)["output"].update(error_contains="?"),
     "prompt 1[3]: "),
    ("max-steps", lambda e: result_piece(e).update(output=True), "prompt 1[3]: "),
    ("outstep-retry-once", prompt(1, 1, contains="too good"), "prompt 1[1]: "),
    ("input-abort", turn(text="x"), "turn 0: text is '', not 'x'"),
    ("input-abort", turn(finish_reason="stop"), "turn 0: finish_reason is 'other', not 'stop'"),
    ("input-abort", turn(tripwire=None), "turn 0: tripwire is "),
    ("input-abort", lambda e: e["turns"][0]["tripwire"].update(reason="no"), "turn 0: tripwire.reason is "),
    ("input-abort", lambda e: e["turns"][0]["tripwire"].update(metadata={}), "turn 0: tripwire.metadata is "),
    ("result-edit", turn(tripwire={"reason": "r"}), "turn 0: tripwire is None"),
    ("result-edit", turn(raises="boom"), "turn 0: raised nothing"),
    ("input-throw", turn(raises="bang"), "turn 0: raised ('boom', 'a', 'process_input')"),
    ("input-throw", turn(hook="process_output_step"), "turn 0: raised ('boom', 'a', 'process_input')"),
    ("apierror-none", turn(error_contains="yes"), "turn 0: raised ModelError("),
    ("result-edit", chunk(0, text="bye"), "turn 0: chunk 0 (text-delta): text is not "),
    ("result-edit", chunk(1, reason="length"), "turn 0: chunk 1 (step-finish): reason is not "),
    ("order-tool-loop", chunk(1, result={"n": 2}), "turn 0: chunk 1 (tool-result): result is not "),
    ("apierror-none", chunk(0, message="yes"), "turn 0: chunk 0 (error): message is not "),
    ("stream-custom", chunk(0, data={"v": 2}), "turn 0: chunk 0 (data-mark): data is not "),
    ("stream-custom", lambda e: e["turns"][0]["chunks"].pop(0), "turn 0: chunks: [0] is "),
    ("apierror-none", turn(finish_reason="stop"), "turn 0: finish: reason is 'error', not 'stop'"),
    ("state-per-request", lambda e: e["turns"].pop(), "turns: 2, not 1"),
    ("step-active-tools", lambda e: e["calls"][0].update(tools=["t", "u"]), "call 0: tools is "),
    ("step-chain-overrides", lambda e: e["calls"][0].update(tool_choice="auto"), "call 0: tool_choice is "),
    ("step-model-switch", lambda e: e["other_models"].update(m2=2), "model m2: called 1 times, not 2"),
    ("result-edit", lambda e: e.update(stored=[{"role": "user", "text": "hi", "parts": []}]), "stored: "),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "start"), DEVIATIONS)
def test_a_deviation_is_reported(name: str, change: Callable[[dict[str, Any]], object], start: str) -> None:
    faults = faults_of(changed(name, change), "stream", "asyncio")

    assert [fault for fault in faults if fault.startswith(start)] != [], faults


def test_a_case_that_crashes_the_library_is_a_failure_not_a_crash() -> None:
    case = load_case(CASES / "input-abort.json")
    broken = Case("broken", {**case.scenario, "input_processors": [{"id": "a", "hooks": {}}]}, case.expect)

    (fault,) = faults_of(broken, "generate", "trio")

    assert fault.startswith("ConfigurationError: ")


def folder_with(tmp_path: Path, *cases: dict[str, Any]) -> str:
    """Write cases to files and return their folder."""
    for case in cases:
        (tmp_path / f"{case['id']}.json").write_text(json.dumps(case), encoding="utf-8")
    return str(tmp_path)


GOOD: dict[str, Any] = {
    "id": "good",
    "model": [{"text": ["ok"]}],
    "input": "hi",
    "expect": {"hooks": ["model#1"], "turns": [{"text": "ok"}]},
}


def test_the_command_counts_and_says_what_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = {**GOOD, "id": "wrong", "expect": {"turns": [{"text": "no"}]}}

    code = main([folder_with(tmp_path, GOOD, bad)])

    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert lines == ["wrong: [stream asyncio] turn 0: text is 'ok', not 'no'", "1 passed, 1 failed"]


def test_the_command_is_content_where_all_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([folder_with(tmp_path, GOOD)]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"


def test_a_listed_case_that_fails_is_no_surprise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = {**GOOD, "expect": {"turns": [{"text": "no"}]}}

    assert main([folder_with(tmp_path, bad)], {"good": "Later"}) == 0
    assert capsys.readouterr().out.splitlines() == [
        "good: [stream asyncio] turn 0: text is 'ok', not 'no' (expected until issue Later)",
        "0 passed, 1 failed",
    ]


def test_a_listed_case_that_passes_is_a_surprise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([folder_with(tmp_path, GOOD)], {"good": "Later"}) == 1
    assert capsys.readouterr().out.splitlines() == [
        "good: passes, but is listed as failing until issue Later",
        "1 passed, 0 failed",
    ]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({"id": "x", "model": [], "input": "hi"}, "missing keys ['expect']"),
        ({**GOOD, "id": "x", "surprise": 1}, "unknown keys ['surprise']"),
    ],
)
def test_a_file_that_is_no_case_is_named(
    case: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([folder_with(tmp_path, case)]) == 2

    error = capsys.readouterr().err
    assert error.startswith("x.json: ")
    assert said in error


def test_an_empty_folder_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"no case (*.json) in {tmp_path}\n"


@pytest.mark.parametrize("line", ["case-without-issue", "case: ", "case: A\ncase: B"])
def test_a_list_of_failures_without_issues_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(f"# a remark\n{line}\n", encoding="utf-8")

    with pytest.raises(ValueError, match="case-id: issue"):
        expected_failures(path)


def test_the_list_of_failures_gives_the_issue_of_each_case(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("# a remark\n\none: A  # why\ntwo: B\n", encoding="utf-8")

    assert expected_failures(path) == {"one": "A", "two": "B"}
