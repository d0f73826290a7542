"""`StructuredOutputProcessor`, beyond the cases from practice."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel

from sluiceway import Agent, Processor, Tool
from sluiceway.errors import ConfigurationError, SluicewayError
from sluiceway.messages import Chunk, Usage
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import PIIDetector, StructuredOutputProcessor
from sluiceway.processors.context._structured_value import Misfit, Shape, Value, _embedded, partial_value
from tests.support.models import ChunkModel
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent


class Item(BaseModel):
    name: str
    price: float


class Basket(BaseModel):
    items: list[Item]
    day: date | None = None


class Contact(BaseModel):
    mail: str
    name: str = ""


BASKET = '{"items": [{"name": "tea", "price": 2.5}, {"name": "milk", "price": 1}], "day": "2030-01-02"}'


# --- from text to an object


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ('{"items": [{"name": "tea", "price": "dear"}]}', "items[0].price", "Input should be a valid number"),
        ('{"items": [{"price": 1}]}', "items[0].name", "Field required"),
        ("[]", "", "Input should be an object"),
        ("", "", "the answer is empty"),
        ("I cannot.", "", "the answer is no JSON"),
        (BASKET[:-1], "", "the JSON is cut off"),
        ("[" * 100_000, "", "the answer is no JSON: recursion limit exceeded"),
    ],
)
def test_what_does_not_fit_says_where_and_why(text: str, path: str, reason: str) -> None:
    found = Shape(Basket).parse(text)
    assert isinstance(found, Misfit)
    assert found.path == path
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BASKET, 2),
        (f"```json\n{BASKET}\n```", 2),
        (f"Sure [1]:\n\n```\n{BASKET}\n```\nAnything else?", 2),
        (f"Let me see {{...}}: {BASKET}", None),
        ('{"items": [{"name": "tea", "price": 2.5},]}', 1),
        ("{'items': [{'name': 'tea', 'price': 2.5}]}", 1),
        ('{"items": []} {"items": [{"name": "second", "price": 1}]}', 0),
    ],
)
def test_objects_are_found_in_what_models_write(text: str, expected: int | None) -> None:
    found = Shape(Basket).parse(text)
    if expected is None:
        assert isinstance(found, Misfit)
    else:
        assert isinstance(found, Value)
        assert len(found.made.items) == expected


def test_a_json_schema_is_checked_and_never_fetched() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert Shape(schema).parse('{"n": 1}') == Value({"n": 1}, {"n": 1})
    assert Shape(schema).parse('{"n": "secret"}') == Misfit("n", "it does not fit 'type': \"integer\"")
    assert Shape(schema).parse("{}") == Misfit("", "'n' is a required property")
    away = Shape({"$ref": "http://127.0.0.1:9/schema.json"})
    assert isinstance(away.parse("{}"), Misfit)


@pytest.mark.parametrize(
    ("shape", "text", "made"),
    [(list[int], "[1, 2]", [1, 2]), (int, "7", 7), (dict[str, date], '{"a": "2030-01-02"}', {"a": date(2030, 1, 2)})],
)
def test_any_type_that_pydantic_takes_will_do(shape: Any, text: str, made: Any) -> None:
    found = Shape(shape).parse(text)
    assert isinstance(found, Value)
    assert found.made == made


def test_no_reason_holds_a_value_of_the_answer() -> None:
    for shape in (Contact, {"type": "object", "properties": {"mail": {"type": "integer"}}}):
        found = Shape(shape).parse(
            '{"mail": ["ann@example.org"]}' if shape is Contact else '{"mail": "ann@example.org"}'
        )
        assert isinstance(found, Misfit)
        assert "ann" not in found.text


def test_partial_objects_are_read() -> None:
    assert [partial_value(BASKET[:end]) for end in (0, 1, 11, 20, 30)] == [
        None,
        {},
        {"items": []},
        {"items": [{}]},
        {"items": [{"name": "tea"}]},
    ]
    assert partial_value('Sure: {"a": "b') == {"a": "b"}
    assert partial_value("{,") is None


# --- in a run


pytestmark = pytest.mark.anyio


async def test_the_object_grows_on_the_stream() -> None:
    agent, model = make_agent([BASKET[i : i + 9] for i in range(0, len(BASKET), 9)])

    ran = await collect(agent, "q", structured_output=Basket)

    *partial, final = ran.of("object")
    assert model.calls[0].structured_output is Basket
    assert [chunk.get("final") for chunk in ran.of("object")] == [*[False] * len(partial), True]
    assert final.get("object") == json.loads(BASKET)
    lengths = [len(json.dumps(chunk.get("object"))) for chunk in partial]
    assert lengths == sorted(lengths)
    assert len(partial) > 5
    assert ran.result.object == Basket.model_validate_json(BASKET)
    assert ran.result.text == BASKET


async def test_a_long_answer_is_not_read_anew_for_every_delta() -> None:
    text = json.dumps({"items": [{"name": f"n{i}", "price": i} for i in range(2000)]})
    agent, _ = make_agent([text[i : i + 4] for i in range(0, len(text), 4)])

    ran = await collect(agent, "q", structured_output=Basket)

    assert len(ran.result.object.items) == 2000
    assert len(ran.of("object")) < 1000


@each_entry
async def test_the_steps_that_call_tools_are_not_looked_at(entry: Entry) -> None:
    def look() -> str:
        """Look."""
        return "seen"

    agent, _ = make_agent(Reply(text="let me look", tool_calls=[calls_tool("look")]), BASKET, tools=[look])

    ran = await by(entry, agent, "q", structured_output=Basket)

    assert len(ran.result.object.items) == 2


@each_entry
async def test_the_model_is_told_what_is_wrong(entry: Entry) -> None:
    agent, model = make_agent('{"items": [{"name": "tea"}]}', BASKET, max_processor_retries=1)

    ran = await by(entry, agent, "q", structured_output=Basket)

    assert len(ran.result.object.items) == 2
    assert "at items[0].price: Field required" in lines(model.prompts[1])[1]


@pytest.mark.parametrize(("strategy", "outcome"), [("strict", "tripwire"), ("warn", None), ("fallback", {"n": 0})])
@each_entry
async def test_a_run_that_ends_without_an_answer_has_no_object(entry: Entry, strategy: Any, outcome: Any) -> None:
    def look() -> str:
        """Look."""
        return "seen"

    fallback: dict[str, Any] = {"fallback_value": {"n": 0}} if strategy == "fallback" else {}
    processor = StructuredOutputProcessor(Basket, error_strategy=strategy, **fallback)
    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("look")]), tools=[look], output_processors=[processor], max_steps=1
    )

    ran = await by(entry, agent, "q")

    if outcome == "tripwire":
        assert ran.result.tripwire is not None
        assert ran.result.tripwire.metadata == {"path": "", "reason": "the run ended without an answer"}
    else:
        assert (ran.result.object, ran.result.tripwire) == (outcome, None)


@pytest.mark.parametrize("first", [True, False])
@each_entry
async def test_a_guard_sees_the_object_wherever_it_stands(entry: Entry, *, first: bool) -> None:
    """No order lets a mail address through, in text, chunks or result."""
    guard = PIIDetector(redaction_method="placeholder")
    order = [guard, StructuredOutputProcessor(Contact)]
    agent, _ = make_agent(
        ['{"mail": "ann@exa', 'mple.org", "na', 'me": "Ann"}'], output_processors=order if first else order[::-1]
    )

    ran = await by(entry, agent, "q")

    assert ran.result.object == Contact(mail="[EMAIL]", name="Ann")
    assert ran.result.text == '{"mail": "[EMAIL]", "name": "Ann"}'
    assert all("ann@" not in repr(chunk) for chunk in ran.chunks)


async def test_an_object_that_a_later_processor_drops_is_none() -> None:
    drops = Processor.of("drops", process_output_stream=lambda ctx: None if ctx.part.type == "object" else ctx.part)
    agent, _ = make_agent(BASKET, output_processors=[StructuredOutputProcessor(Basket), drops])

    result = await agent.generate("q")

    assert (result.object, result.tripwire, result.text) == (None, None, BASKET)


async def test_an_edited_object_that_no_longer_fits_is_given_as_it_is() -> None:
    def spoil(ctx: Any) -> Any:
        part = ctx.part
        if part.type == "object":
            return part.replace(payload={**part.payload, "object": {"items": "none"}})
        return part

    processor = StructuredOutputProcessor(Basket)
    warned: list[str] = []
    processor.on_violation = lambda violation: warned.append(violation.message)
    agent, _ = make_agent(BASKET, output_processors=[processor, Processor.of("spoils", process_output_stream=spoil)])

    result = await agent.generate("q")

    assert result.object == {"items": "none"}
    assert warned == ["the object no longer fits after an edit: at items: Input should be a valid array"]


@pytest.mark.parametrize("hold", ["step", "run"])
async def test_held_streams_have_the_objects_of_the_accepted_attempt_only(hold: Any) -> None:
    agent, _ = make_agent("{}", BASKET, max_processor_retries=1)

    ran = await collect(agent, "q", structured_output=Basket, hold=hold)

    assert [chunk.get("object") for chunk in ran.of("object") if chunk.get("final")] == [json.loads(BASKET)]
    assert {} not in [chunk.get("object") for chunk in ran.of("object")][-2:]
    assert ran.result.object == Basket.model_validate_json(BASKET)


async def test_the_calls_of_a_structuring_model_are_booked() -> None:
    model = ScriptedModel([Reply(text="no", usage=Usage(1, 1)), Reply(text=BASKET, usage=Usage(10, 20))])
    agent, _ = make_agent(
        Reply(text="tea and milk", usage=Usage(100, 200)),
        output_processors=[StructuredOutputProcessor(Basket, model=model, instructions="Prices in euros.")],
        max_processor_retries=1,
    )

    result = await agent.generate("q")

    assert result.object == Basket.model_validate_json(BASKET)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (111, 221)
    assert [call.structured_output for call in model.calls] == [Basket, Basket]
    told = lines(model.prompts[1])
    assert told[1] == "system: Prices in euros."
    assert "was not the JSON that was asked for" in told[2]
    assert told[3] == "user: tea and milk"


async def test_a_structuring_model_that_breaks_off_is_an_error() -> None:
    model = ChunkModel([Chunk("text-delta", {"id": "t", "text": BASKET}), Chunk("finish", {"reason": "error"})])
    agent, _ = make_agent("tea", output_processors=[StructuredOutputProcessor(Basket, model=model)])
    with pytest.raises(SluicewayError, match=r"the structuring model \S+ ended with an error"):
        await agent.generate("q")


def test_a_text_full_of_objects_is_looked_at_up_to_a_bound() -> None:
    found = list(_embedded("{} " * 1000))
    assert 1 <= len(found) < 1000
    assert found == [{}] * len(found)


@pytest.mark.parametrize(("strategy", "object_"), [("warn", None), ("fallback", 0)])
async def test_a_refused_structuring_model_is_no_error_where_there_is_a_way_out(strategy: Any, object_: Any) -> None:
    model = ScriptedModel([Reply(error={"status": 401, "message": "no key"})])
    fallback: dict[str, Any] = {"fallback_value": 0} if strategy == "fallback" else {}
    agent, _ = make_agent(
        "text", output_processors=[StructuredOutputProcessor(Basket, model=model, error_strategy=strategy, **fallback)]
    )

    result = await agent.generate("q")

    assert (result.object, result.text, len(model.calls)) == (object_, "text", 1)


async def test_the_agents_own_model_is_asked_for_the_shape_of_a_listed_processor() -> None:
    agent, model = make_agent(BASKET, "text", output_processors=[StructuredOutputProcessor(Basket)])
    await agent.generate("q")
    assert model.calls[0].structured_output is Basket

    structuring = ScriptedModel([BASKET])
    agent, model = make_agent("text", output_processors=[StructuredOutputProcessor(Basket, model=structuring)])
    await agent.generate("q")
    assert model.calls[0].structured_output is None


async def test_runs_of_one_agent_do_not_mix_their_objects() -> None:
    agent = Agent(id="a", model=ScriptedModel(["7"]))
    assert [(await agent.generate("q", structured_output=shape)).object for shape in (int, str, float)][::2] == [7, 7.0]


@pytest.mark.parametrize("wanted", ["int", 5, {"type": 5}])
async def test_what_is_no_shape_is_refused(wanted: Any) -> None:
    agent, model = make_agent(BASKET)
    with pytest.raises(ConfigurationError):
        await agent.generate("q", structured_output=wanted)
    assert model.calls == []


@pytest.mark.anyio
@pytest.mark.parametrize("strategy", ["strict", "warn", "fallback"])
@each_entry
async def test_a_run_that_ends_in_a_clients_call_has_no_object(entry: Entry, strategy: Any) -> None:
    """The client answers the call, and the run that goes on with it makes the object."""

    def look() -> str:
        """Look."""
        return "seen"

    fallback: dict[str, Any] = {"fallback_value": {"n": 0}} if strategy == "fallback" else {}
    processor = StructuredOutputProcessor(Basket, error_strategy=strategy, **fallback)
    client = Tool("ask", "Ask the user.", {"type": "object"}, None)
    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("look"), calls_tool("ask", id="c2")]),
        BASKET,
        tools=[look, client],
        output_processors=[processor],
    )

    ran = await by(entry, agent, "q")

    assert (ran.result.finish_reason, ran.result.object, ran.result.tripwire) == ("tool-calls", None, None)
    assert ran.of("object", "tripwire") == []

    asked: dict[str, Any] = {"id": "c1", "name": "ask", "arguments": "{}"}
    answered = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c1", "content": "tea"},
    ]
    assert len((await by(entry, agent, answered)).result.object.items) == 2


@pytest.mark.anyio
async def test_a_fallback_value_is_each_runs_own() -> None:
    processor = StructuredOutputProcessor(Basket, error_strategy="fallback", fallback_value={"items": []})
    agent, _ = make_agent("no", "no", output_processors=[processor])

    first = (await agent.generate("q")).object
    first["items"].append("tea")

    assert (await agent.generate("q")).object == {"items": []}


def test_what_is_inside_of_a_cut_object_is_not_taken_for_it() -> None:
    for text in ('See [1]: {"outer": {"mail": "a"}', 'See [1]: {"outer": oops, "inner": {"mail": "a"}}'):
        assert isinstance(Shape(Contact).parse(text), Misfit)


async def test_two_shapes_for_one_answer_are_refused() -> None:
    agent, model = make_agent(BASKET, output_processors=[StructuredOutputProcessor(Basket)])
    assert isinstance((await agent.generate("q", structured_output=Basket)).object, Basket)

    with pytest.raises(ConfigurationError, match="another shape than that of 'structured-output'"):
        await agent.generate("q", structured_output=Contact)
    assert len(model.calls) == 1


async def test_a_structuring_model_is_not_joined_by_the_agents_own() -> None:
    """The call names the shape that the list has: the agent's answer stays free text."""
    structuring = StructuredOutputProcessor(Basket, model=ScriptedModel([BASKET]))
    agent, model = make_agent("text", output_processors=[structuring])
    assert isinstance((await agent.generate("q", structured_output=Basket)).object, Basket)
    assert model.calls[0].structured_output is None
