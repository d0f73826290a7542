"""A processor as a step: where it stands, what it takes from the processor, what is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Agent, Processor, Workflow, step
from sluiceway.engine import AuditEntry, Call, use_clock
from sluiceway.errors import ProcessorError
from sluiceway.messages import Chunk
from sluiceway.processors import Effects, HookEvent, PIIDetector, RegexFilterProcessor, RegexRule, Violation, run_on
from sluiceway.processors._checks import CheckGroup, grouped
from sluiceway.processors._step import ProcessorStep
from tests.support.models import ChunkModel, deltas
from tests.support.runs import by, collect, make_agent
from tests.support.workflows import FakeClock

pytestmark = pytest.mark.anyio


class Plain:
    """No subclass of `Processor`: an id and a hook are enough."""

    id = "plain"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def process_output_stream(self, ctx: Any) -> Any:
        self.seen.append(ctx.part.type)
        return ctx.part


def test_a_step_stands_where_it_is_told_and_takes_what_its_processor_says() -> None:
    made = ProcessorStep(Plain())
    assert (made.id, made.key, made.path, made.index, made.on_error) == (
        "plain",
        "processor:plain",
        "processor:plain",
        0,
        "raise",
    )
    lenient = Processor.of("lenient", process_input=lambda ctx: None, on_error="continue")
    assert ProcessorStep(lenient).on_error == "continue"
    assert ProcessorStep(lenient, on_error="raise").on_error == "raise"
    moved = made.at("w › x", 3, on_error="continue", thread=True)
    assert (moved.id, moved.path, moved.index, moved.on_error, moved.thread) == ("plain", "w › x", 3, "continue", True)
    assert moved.hooks == made.hooks == ("process_output_stream",)


async def test_data_are_shown_to_who_asks_for_them() -> None:
    plain = Plain()
    chunks = [Chunk("text-delta", {"id": "t", "text": "a"}), Chunk("data-x", {"data": 1}), Chunk("finish", {})]
    call = await run_on([plain], chunks, hook="process_output_stream")
    assert "data-x" not in plain.seen
    assert [part.type for part in call.parts if part.type == "data-x"] == ["data-x"]


async def test_an_error_of_a_step_with_tries_says_where_it_stands() -> None:
    def breaks(ctx: Any) -> None:
        raise KeyError("no")

    inner = Workflow("w").then(step(Processor.of("p", process_input=breaks), retries=1))
    with use_clock(FakeClock()), pytest.raises(ProcessorError) as caught:
        await inner.run_on("hi")
    assert caught.value.path == "w › processor:p"


def test_checks_side_by_side_stand_where_the_first_of_them_does() -> None:
    class Waits(Processor):
        effects = Effects(reads=("messages",), external=True)

        def process_input(self, ctx: Any) -> None:
            return None

    calls = tuple(Call(ProcessorStep(Waits(name)), f"w › {name}") for name in ("a", "b"))
    (node,) = grouped(calls, "process_input")
    assert isinstance(node, Call)
    assert isinstance(node.step, CheckGroup)
    assert node.path == "w › a"
    assert grouped(calls[:1], "process_input") == calls[:1]


async def test_what_is_told_of_a_stream_is_one_event_with_its_attempt() -> None:
    events: list[HookEvent] = []
    agent, _ = make_agent(["mail a@", "b.com"], output_processors=[PIIDetector()])
    result = await agent.generate("hi", observer=events.append)
    (event,) = [one for one in events if one.hook == "process_output_stream"]
    assert (event.run_id, event.processor_id, event.path) == (result.run_id, "pii-detector", "processor:pii-detector")
    assert (event.step_number, event.attempt, event.outcome) == (0, 0, "edited")
    assert event.calls > 1
    assert [one.message for one in event.violations] == ["email found in the answer"]


async def test_several_kinds_are_named_in_one_sentence() -> None:
    told: list[Violation] = []
    guard = PIIDetector(on_violation=told.append)
    await guard.run_on("ann@x.org at 192.168.10.7")
    assert [one.message for one in told] == ["email, ip-address found in the input"]


async def test_only_the_newest_message_is_filtered_if_that_is_wanted() -> None:
    guard = RegexFilterProcessor(rules=[RegexRule("word", "secret")], strategy="redact", last_message_only=True)
    call = await guard.run_on(["a secret", "b secret"])
    first, last = [message.text for message in call.messages]
    assert first == "a secret"
    assert "secret" not in last


async def test_the_chosen_arm_of_a_branch_works_on_the_stream() -> None:
    asked: list[tuple[int, str]] = []

    def is_loud(call: Any, scope: Any) -> bool:
        asked.append((len(call.parts), scope.run_id))
        return True

    def loud(ctx: Any) -> Any:
        return ctx.part.replace(text=ctx.part.text.upper()) if ctx.part.type == "text-delta" else ctx.part

    def mapped(results: Any, scope: Any) -> Any:
        (key,) = results
        return results[key].replace(text=results[key].text + f"<{key}>") if results[key].text else results[key]

    arm = Processor.of("loud", process_output_stream=loud)
    for tail, expected in ((None, "HEY! YOU"), (mapped, "HEY!<processor:loud> YOU<processor:loud>")):
        asked.clear()
        workflow = Workflow("w").branch([(is_loud, arm)])
        workflow = workflow if tail is None else workflow.map(tail)
        model = ChunkModel([*deltas("hey!", " you"), Chunk("finish", {"reason": "stop"})])
        ran = await collect(Agent(id="a", model=model, output_processors=[workflow]), "hi")
        assert ran.emitted == expected
        assert asked == [(1, ran.result.run_id)]


@pytest.mark.parametrize(
    ("act", "outcome"), [(lambda ctx: ctx.abort("no"), "tripwire"), (lambda ctx: {}["missing"], "error")]
)
async def test_the_observer_hears_how_a_hook_ended(act: Any, outcome: str) -> None:
    events: list[HookEvent] = []
    agent, _ = make_agent("ok", input_processors=[Processor.of("p", process_input=act)])
    await by("generate", agent, "hi", observer=events.append)
    (event,) = events
    assert (event.outcome, event.trip is None) == (outcome, outcome == "error")


async def test_what_was_warned_of_is_in_the_audit_with_its_detail() -> None:
    warns = Processor.of("p", process_input=lambda ctx: ctx.warn("odd", {"n": 1}))
    agent, _ = make_agent("ok", input_processors=[warns])
    result = await agent.generate("hi")
    assert [entry for entry in result.audit if entry.status == "flagged"] == [
        AuditEntry("p", "process_input", "flagged", {"n": 1})
    ]
