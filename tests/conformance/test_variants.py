"""The outcome of a case does not depend on how its agent is put together.

A list of processors is a workflow of `then`; a processor that does nothing changes nothing;
holding text back changes when it is delivered and nothing else. So every case has to agree
with its own outcome in each of these forms too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import pytest

from tests.conformance.build import build_bench
from tests.conformance.compare import differences
from tests.conformance.load import CASES, Case, expected_failures, load_cases
from tests.conformance.observed import Observed, SeenTurn
from tests.conformance.run import faults_of, observe

LISTS = ("input_processors", "output_processors", "error_processors")
INPUT_HOOKS = ("process_input", "process_input_step", "process_llm_request", "process_llm_response")
OUTPUT_HOOKS = (
    "process_output_stream",
    "finish_output_stream",
    "process_output_step",
    "process_tool_result",
    "process_output_result",
)
ALL = [case for case in load_cases(CASES) if case.id not in expected_failures()]
EACH = pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)

Processors = Sequence[Mapping[str, Any]]


def with_lists(case: Case, change: Any) -> Case:
    """Return a case whose lists are put together in another way, those of its calls too."""

    def changed(source: Mapping[str, Any]) -> dict[str, Any]:
        lists = {name: change(name, source[name]) for name in LISTS if source.get(name)}
        return {**source, **lists}

    scenario = changed(case.scenario)
    if "call" in scenario:
        scenario["call"] = changed(scenario["call"])
    if "turns" in scenario:
        turns = scenario["turns"]
        scenario["turns"] = [{**turn, "call": changed(turn.get("call", {}))} for turn in turns]
    return Case(case.id, scenario, case.expect)


def in_one_workflow(name: str, processors: Processors) -> list[Any]:
    """Return the list as one workflow of `then`."""
    steps = [{"then": processor} for processor in processors]
    return [{"workflow": {"id": f"whole-{name}", "steps": steps}}]


def in_a_workflow_each(name: str, processors: Processors) -> list[Any]:
    """Return the list with every entry in a workflow of its own, within another."""

    def inner(number: int, processor: Mapping[str, Any]) -> dict[str, Any]:
        return {"workflow": {"id": f"inner-{name}-{number}", "steps": [{"then": processor}]}}

    return [
        {"workflow": {"id": f"outer-{name}-{number}", "steps": [{"then": inner(number, processor)}]}}
        for number, processor in enumerate(processors)
    ]


def with_idle_ones(name: str, processors: Processors) -> list[Any]:
    """Return the list with a processor that does nothing in front of, between and behind its entries."""
    hooks = {"input_processors": INPUT_HOOKS, "output_processors": OUTPUT_HOOKS}.get(name, ("process_api_error",))

    def idle(number: int) -> dict[str, Any]:
        return {"id": f"idle-{number}", "hooks": {hook: [] for hook in hooks}}

    spread: list[Any] = [idle(0)]
    for number, processor in enumerate(processors, start=1):
        spread += [processor, idle(number)]
    return spread


@EACH
@pytest.mark.parametrize("form", [in_one_workflow, in_a_workflow_each])
def test_a_list_is_a_workflow_of_then(case: Case, form: Any) -> None:
    changed = with_lists(case, form)

    assert {entry: faults_of(changed, entry, "asyncio") for entry in ("stream", "generate")} == {
        "stream": [],
        "generate": [],
    }


@EACH
def test_processors_that_do_nothing_change_nothing(case: Case) -> None:
    """But for the marks that they leave themselves."""
    seen = anyio.run(observe, with_lists(case, with_idle_ones), "stream")
    seen.hooks = [mark for mark in seen.hooks if not mark.startswith("idle-")]

    assert differences(case, seen) == []


async def observe_held(case: Case, hold: str) -> Observed:
    """Read every call of a case with its text held, and leave out the chunks."""
    bench = build_bench(case)
    wrapped = bench.agent.stream
    bench.agent.stream = lambda said, **options: wrapped(said, hold=hold, **options)
    seen = await observe(case, "stream", bench)
    seen.turns = [
        SeenTurn(turn.text, turn.finish_reason, turn.tripwire, turn.error, chunks=None) for turn in seen.turns
    ]
    return seen


@EACH
@pytest.mark.parametrize("hold", ["step", "run"])
def test_holding_text_changes_neither_hooks_nor_result(case: Case, hold: str) -> None:
    assert differences(case, anyio.run(observe_held, case, hold)) == []
