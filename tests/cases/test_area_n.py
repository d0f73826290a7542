"""Area N: workflows in an agent's lists."""

from __future__ import annotations

import itertools
from typing import Any

import anyio
import pytest

from sluiceway import Agent, Processor, Workflow, step
from sluiceway.engine import StepContext
from sluiceway.errors import GraphError, MergeConflict, ProcessorError
from sluiceway.models import ScriptedModel
from tests.support.runs import Entry, by, each_entry, make_agent

pytestmark = pytest.mark.anyio


def replacer(name: str, old: str, new: str, *, delay_s: float = 0) -> Processor:
    """Return a processor that replaces a word in the input, after a while."""

    async def run(ctx: Any) -> None:
        await anyio.sleep(delay_s)
        for message in ctx.messages:
            for part in message.parts:
                if part.type == "text" and old in part.text:
                    at = part.text.index(old)
                    part.edit(at, at + len(old), new)

    return Processor.of(name, process_input=run)


def checker(name: str, *, delay_s: float = 0) -> Processor:
    """Return a processor that looks at the input and changes nothing."""

    async def run(ctx: Any) -> None:
        await anyio.sleep(delay_s)
        assert all(message.text for message in ctx.messages)

    return Processor.of(name, process_input=run)


def prompt_of(model: ScriptedModel) -> list[str]:
    return [message.text for message in model.prompts[0].messages if message.role == "user"]


@pytest.mark.parametrize("delays", list(itertools.permutations([0, 0.01, 0.02])))
@pytest.mark.parametrize("order", list(itertools.permutations([0, 1, 2])))
async def test_b214_a_picked_redaction_does_not_depend_on_timing(
    order: tuple[int, ...], delays: tuple[float, ...]
) -> None:
    """Whichever branch ends last, the picked one's text is what the model gets."""
    redact, check, other = delays
    branches = [
        replacer("redact", "secret", "[R]", delay_s=redact),
        checker("check", delay_s=check),
        checker("other", delay_s=other),
    ]
    workflow = Workflow("w").parallel([branches[i] for i in order]).map("processor:redact")
    agent, model = make_agent("ok", input_processors=[workflow])

    await agent.generate("a secret token")

    assert prompt_of(model) == ["a [R] token"]


@each_entry
async def test_b216_branches_without_a_map_are_merged(entry: Entry) -> None:
    """Edits of different places both arrive."""
    workflow = Workflow("w").parallel([replacer("one", "secret", "[R]", delay_s=0.01), replacer("two", "token", "[T]")])
    agent, model = make_agent("ok", input_processors=[workflow])

    ran = await by(entry, agent, "a secret token")

    assert prompt_of(model) == ["a [R] [T]"]
    assert ran.result.text == "ok"


@each_entry
async def test_b216_a_conflict_names_both_branches(entry: Entry) -> None:
    workflow = Workflow("w").parallel([replacer("one", "secret", "[1]"), replacer("two", "secret", "[2]")])
    agent, model = make_agent("ok", input_processors=[workflow])

    ran = await by(entry, agent, "a secret token")

    assert isinstance(ran.error, MergeConflict)
    assert ran.error.keys == ("processor:one", "processor:two")
    assert (ran.error.path, model.calls) == ("w › parallel[0]", [])


@each_entry
async def test_b217_a_branch_without_a_true_condition_changes_nothing(entry: Entry) -> None:
    asked: list[str] = []
    workflow = (
        Workflow("w")
        .branch([(lambda call: asked.append(call.text), replacer("redact", "secret", "[R]"))])
        .map(lambda results: pytest.fail("the map of a branch that did not run was asked"))
    )
    agent, model = make_agent("ok", input_processors=[workflow])

    ran = await by(entry, agent, "a secret")

    assert (prompt_of(model), ran.result.text, len(model.calls)) == (["a secret"], "ok", 1)
    assert asked == ["a secret"]


async def test_b217_in_a_plain_workflow_the_next_step_gets_the_input() -> None:
    workflow = (
        Workflow("w")
        .branch([(lambda data: False, step(lambda data: "no", id="arm"))])
        .then(step(lambda data: f"next {data}", id="next"))
        .commit()
    )
    assert (await workflow.run("in")).output == "next in"


@each_entry
async def test_b218_a_block_in_one_branch_stops_all(entry: Entry) -> None:
    """The slow branch is cancelled and the model is not called."""
    ended: list[str] = []

    async def slow(ctx: Any) -> None:
        try:
            await anyio.sleep(5)
        finally:
            ended.append("slow")

    async def block(ctx: Any) -> None:
        await anyio.sleep(0.01)
        ctx.abort("stop", metadata={"rule": 7})

    workflow = Workflow("w").parallel(
        [Processor.of("slow", process_input=slow), Processor.of("blocker", process_input=block)]
    )
    agent, model = make_agent("never", input_processors=[workflow])

    with anyio.fail_after(2):
        ran = await by(entry, agent, "hi")

    trip = ran.result.tripwire
    assert trip is not None
    assert (trip.reason, trip.processor_id, trip.metadata) == ("stop", "blocker", {"rule": 7})
    assert trip.path == "w › parallel[0] › processor:blocker"
    assert (len(model.calls), ended) == (0, ["slow"])


@each_entry
async def test_b219_a_sequence_keeps_every_change(entry: Entry) -> None:
    workflow = Workflow("w").then(replacer("one", "secret", "[R]")).then(replacer("two", "token", "[T]"))
    agent, model = make_agent("ok", input_processors=[workflow])

    await by(entry, agent, "a secret token")

    assert prompt_of(model) == ["a [R] [T]"]


@each_entry
async def test_b221_a_failing_step_is_named(entry: Entry) -> None:
    """Step, workflow and what it said."""

    def run(ctx: Any) -> None:
        raise RuntimeError("kaput")

    workflow = Workflow("guards").parallel([Processor.of("broken", process_input=run), checker("fine")])
    agent, model = make_agent("never", input_processors=[workflow])

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert (ran.error.processor_id, ran.error.hook) == ("broken", "process_input")
    assert ran.error.path == "guards › parallel[0] › processor:broken"
    assert "kaput" in str(ran.error)
    assert isinstance(ran.error.__cause__, RuntimeError)
    assert len(model.calls) == 0


def test_b223_a_step_that_can_suspend_is_refused_in_an_agent() -> None:
    """When the agent is built, with the step's place."""

    def human_check(call: Any, ctx: StepContext) -> Any:
        ctx.suspend(call.text)

    workflow = Workflow("w").then(checker("fine")).then(human_check)

    with pytest.raises(GraphError, match=r"w › human_check can suspend"):
        Agent(id="a", model=ScriptedModel(["x"]), input_processors=[workflow])
