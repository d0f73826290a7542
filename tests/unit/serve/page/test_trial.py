"""A workflow tried on a text, in each of the lists that it can stand in."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Agent, Processor, Workflow
from sluiceway.processors import PIIDetector, Retry
from sluiceway.serve import ServeOptions
from sluiceway.serve._house import House
from sluiceway.serve._runs import RunLog
from sluiceway.serve.page._trial import Attempt, Trial, try_workflow

CARD = "4111 1111 1111 1111"
MASKED = "**** **** **** 1111"


async def tried(attempt: Attempt, **lists: Any) -> Trial:
    house = House([Agent(id="a", model="echo/echo", **lists)], ServeOptions())
    return await try_workflow(house.workflows[0], attempt, RunLog())


def hooks(trial: Trial) -> list[tuple[str, str, int]]:
    return [(event.hook, event.outcome, event.attempt) for event in trial.record.events]


@pytest.mark.anyio
async def test_before_the_model() -> None:
    """The model answers with what it was told, so that one sees what of a text reaches it."""
    trial = await tried(Attempt(f"It is {CARD}"), input_processors=[Workflow("w").then(PIIDetector(strategy="redact"))])
    assert (trial.record.state, trial.answer) == ("edited", f"It is {MASKED}")
    assert [(seen.hook, seen.before, seen.after) for seen in trial.seen] == [
        ("process_input", f"It is {CARD}", f"It is {MASKED}")
    ]


@pytest.mark.anyio
async def test_after_the_model() -> None:
    flow = Workflow("w").then(PIIDetector(strategy="redact"))
    trial = await tried(Attempt("hi", f"It is {CARD}"), output_processors=[flow])
    assert trial.answer == f"It is {MASKED}"
    assert "process_output_stream" in {seen.hook for seen in trial.seen}


@pytest.mark.anyio
async def test_on_errors() -> None:
    """It is seen what a provider refuses, and whether it is asked again."""

    def mend(ctx: Any) -> Any:
        return Retry() if "too long" in str(ctx.error) else None

    flow = Workflow("w").then(Processor.of("mender", process_api_error=mend))
    again = await tried(Attempt("hi", error="the prompt is too long"), error_processors=[flow])
    assert (again.record.state, again.answer, again.record.retries) == ("passed", "hi", 1)
    assert hooks(again) == [("process_api_error", "passed", 0)]
    given_up = await tried(Attempt("hi", error="no such model"), error_processors=[flow])
    assert (given_up.record.state, hooks(given_up)) == ("error", [("process_api_error", "passed", 0)])
    assert given_up.record.reason == "no such model"
    quiet = await tried(Attempt("hi"), error_processors=[flow])
    assert (quiet.record.state, hooks(quiet)) == ("passed", [])
