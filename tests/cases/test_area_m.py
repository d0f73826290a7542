"""Area M: structured output."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from sluiceway import Agent, Workflow
from sluiceway.errors import ProcessorError
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import Processor, StructuredOutputProcessor
from sluiceway.steps import step
from tests.support.runs import Entry, by, collect, each_entry, make_agent

pytestmark = pytest.mark.anyio


class Number(BaseModel):
    n: int


class Note(BaseModel):
    text: str


def rejecting(bad: str) -> Processor:
    def check(ctx: Any) -> None:
        if bad in ctx.text:
            ctx.abort("not that one", retry=True)

    return Processor.of("guard", process_output_step=check)


@each_entry
async def test_b206_the_object_is_that_of_the_accepted_attempt(entry: Entry) -> None:
    agent, _ = make_agent('{"n":1}', '{"n":2}', output_processors=[rejecting("1")], max_processor_retries=1)

    ran = await by(entry, agent, "q", structured_output=Number)

    assert (ran.result.object, ran.result.text) == (Number(n=2), '{"n":2}')


async def test_b207_one_object_is_final() -> None:
    """Also when the guard that rejects stands behind, and so after the object was found."""
    guards = [StructuredOutputProcessor(Number), rejecting("1")]
    agent, _ = make_agent(['{"n":', "1}"], ['{"n":', "2}"], output_processors=guards, max_processor_retries=1)

    ran = await collect(agent, "q")

    objects = [(chunk.get("object"), chunk.get("final")) for chunk in ran.of("object")]
    assert objects == [({}, False), ({"n": 1}, False), ({}, False), ({"n": 2}, False), ({"n": 2}, True)]
    assert ran.types[-3:] == ["object", "step-finish", "finish"]
    assert ran.result.object == Number(n=2)


def structuring(*replies: Any) -> tuple[ScriptedModel, StructuredOutputProcessor]:
    model = ScriptedModel(list(replies), model_id="structuring")
    return model, StructuredOutputProcessor(Number, model=model)


@pytest.mark.parametrize(("limit", "calls"), [(2, 2), (0, 1)])
@each_entry
async def test_b208_a_structuring_model_is_asked_again(entry: Entry, limit: int, calls: int) -> None:
    model, processor = structuring('{"n": "many"}', '{"n": 2}')
    agent, main = make_agent("two", output_processors=[processor], max_processor_retries=limit)

    ran = await by(entry, agent, "q")

    assert (len(model.calls), len(main.calls)) == (calls, 1)
    if limit:
        assert (ran.result.object, ran.result.text) == (Number(n=2), "two")
    else:
        assert ran.result.tripwire is not None
        assert ran.result.tripwire.metadata is not None
        assert ran.result.tripwire.metadata["path"] == "n"


@each_entry
async def test_b208_a_refused_structuring_model_is_an_error(entry: Entry) -> None:
    model, processor = structuring(Reply(error={"status": 401, "message": "no such key"}))
    agent, _ = make_agent("two", output_processors=[processor], max_processor_retries=2)

    ran = await by(entry, agent, "q")

    assert len(model.calls) == 1
    assert isinstance(ran.error, ProcessorError)
    assert "no such key" in str(ran.error)


async def test_b209_a_structuring_model_structures_once_inside_of_a_workflow() -> None:
    model, processor = structuring('{"n": 2}')
    agent = Agent(id="counts", model=ScriptedModel(["two"]), output_processors=[processor])
    seen: list[Any] = []

    async def ask(data: Any) -> str:
        result = await agent.generate(str(data))
        seen.append(result.object)
        return result.text

    outcome = await Workflow("w").then(step(ask)).commit().run("q")

    assert (outcome.output, seen, len(model.calls)) == ("two", [Number(n=2)], 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('```json\n{"text": "plain"}\n```', "plain"),
        (json.dumps({"text": 'see\n```json\n{"text": "inner"}\n```\n'}), 'see\n```json\n{"text": "inner"}\n```\n'),
        ('```\n{"text": "a\\n```\\nb"}\n```', "a\n```\nb"),
        ('{"text": "line\nline\ttab"}', "line\nline\ttab"),
        ('Here it is:\n{"text": "among words"}\nDone.', "among words"),
    ],
)
@each_entry
async def test_b211_fences_and_raw_control_characters(entry: Entry, text: str, expected: str) -> None:
    agent, _ = make_agent(text)

    ran = await by(entry, agent, "q", structured_output=Note)

    assert ran.result.object == Note(text=expected)


BAD = [
    ("not json", "", "the answer is no JSON"),
    ('{"n": 1', "", "the JSON is cut off"),
    ('{"n": "many"}', "n", "Input should be a valid integer"),
]


@pytest.mark.parametrize(("text", "path", "reason"), BAD)
@each_entry
async def test_b212_strict_is_loud(entry: Entry, text: str, path: str, reason: str) -> None:
    agent, _ = make_agent(text, output_processors=[StructuredOutputProcessor(Number)])

    ran = await by(entry, agent, "q")

    tripped = ran.result.tripwire
    assert tripped is not None
    assert tripped.metadata is not None
    assert (ran.result.object, tripped.metadata["path"]) == (None, path)
    assert reason in tripped.metadata["reason"]
    assert reason in tripped.reason


@pytest.mark.parametrize(("text", "path", "reason"), BAD)
@each_entry
async def test_b212_warn_goes_on_without_an_object(entry: Entry, text: str, path: str, reason: str) -> None:
    processor = StructuredOutputProcessor(Number, error_strategy="warn")
    warned: list[Any] = []
    processor.on_violation = lambda violation: warned.append(violation.detail)
    agent, _ = make_agent(text, output_processors=[processor])

    ran = await by(entry, agent, "q")

    assert (ran.result.object, ran.result.text, ran.result.tripwire) == (None, text, None)
    assert [(detail["path"], reason in detail["reason"]) for detail in warned] == [(path, True)]


@pytest.mark.parametrize(("text", "path", "reason"), BAD)
@each_entry
async def test_b212_fallback_gives_the_value(entry: Entry, text: str, path: str, reason: str) -> None:
    processor = StructuredOutputProcessor(Number, error_strategy="fallback", fallback_value={"n": 0})
    agent, _ = make_agent(text, output_processors=[processor])

    ran = await by(entry, agent, "q")

    assert (ran.result.object, ran.result.text, ran.result.tripwire) == ({"n": 0}, text, None)


async def test_b212_the_message_names_what_the_structuring_model_did() -> None:
    _, processor = structuring("I would rather not")
    agent, _ = make_agent("two", output_processors=[processor])

    tripped = (await agent.generate("q")).tripwire

    assert tripped is not None
    assert "of the structuring model: the answer is no JSON" in tripped.reason
