"""Read case files and the list of cases that cannot pass yet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CASES", "Case", "Turn", "expected_failures", "load_case", "load_cases"]

HERE = Path(__file__).parent
CASES = HERE / "cases"
EXPECTED_FAILURES = HERE / "expected_failures.txt"

SCENARIO_KEYS = frozenset(
    {
        "about",
        "agent",
        "call",
        "error_processors",
        "expect",
        "follows_documents",
        "id",
        "ignore_map_on_control_chunks",
        "input",
        "input_processors",
        "memory",
        "model",
        "models",
        "output_processors",
        "turns",
    }
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One call of a scenario: what is said, and the options of the call."""

    input: str
    call: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario and its outcome.

    Args:
        id: Its name.
        scenario: Everything but the outcome, as the file has it.
        expect: The outcome, as the file has it.
    """

    id: str
    scenario: Mapping[str, Any]
    expect: Mapping[str, Any]

    @property
    def turns(self) -> Sequence[Turn]:
        """The calls, in order; a scenario with `input` has one."""
        listed = self.scenario.get("turns")
        if listed is None:
            return [Turn(self.scenario["input"], self.scenario.get("call", {}))]
        return [Turn(turn["input"], turn.get("call", {})) for turn in listed]


def load_case(path: Path) -> Case:
    """Read one case file.

    Raises:
        ValueError: It is no JSON object, lacks a key, or has one that the runner does not know.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise ValueError(f"{path.name}: a case is a JSON object")
    missing = {"id", "model", "expect"} - data.keys()
    unknown = data.keys() - SCENARIO_KEYS
    if missing or unknown or not ({"input", "turns"} & data.keys()):
        raise ValueError(
            f"{path.name}: missing keys {sorted(missing)}, unknown keys {sorted(unknown)}"
            " (and one of `input` and `turns` is needed)"
        )
    return Case(data["id"], {k: v for k, v in data.items() if k != "expect"}, data["expect"])


def load_cases(folder: Path) -> list[Case]:
    """Read all cases of a folder, by name.

    Raises:
        ValueError: The folder has no case, or one of them cannot be read.
    """
    cases = [load_case(path) for path in sorted(folder.glob("*.json"))]
    if not cases:
        raise ValueError(f"no case (*.json) in {folder}")
    return cases


def expected_failures(path: Path = EXPECTED_FAILURES) -> dict[str, str]:
    """Return the cases that cannot pass yet, each with the issue that brings it.

    Raises:
        ValueError: A line names no issue, or a case is listed twice.
    """
    listed: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if not text:
            continue
        case, _, issue = text.partition(":")
        if not issue.strip() or case in listed:
            raise ValueError(f"{path.name}: `{line}` needs to be `case-id: issue`, once per case")
        listed[case] = issue.strip()
    return listed
