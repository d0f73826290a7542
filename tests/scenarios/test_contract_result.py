"""The fields of chunks, steps and results."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Agent, Processor
from sluiceway.messages import Chunk, FilePart, SourcePart, Usage
from sluiceway.models import Reply
from tests.support.models import ChunkModel, deltas
from tests.support.processors import tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent, parts_of

pytestmark = pytest.mark.anyio

SOURCE = SourcePart(id="s1", url="https://example.org", title="A page")
FILE = FilePart(data=b"x", media_type="text/plain", filename="x.txt")


def tool_call(id: str, name: str, args: dict[str, Any]) -> Chunk:  # noqa: A002
    """Return the chunk of a call."""
    fields = {"tool_call_id": id, "tool_name": name, "args": args, "provider_executed": False}
    return Chunk("tool-call", fields)


def rich_answer() -> ChunkModel:
    """Return a model that sends every type of chunk, and then a plain answer."""
    first = [
        Chunk("response-metadata", {"id": "r1", "model_id": "m-1", "timestamp": 5}),
        Chunk("reasoning-start", {"id": "r"}),
        Chunk("reasoning-delta", {"id": "r", "text": "hm"}),
        Chunk("reasoning-end", {"id": "r"}),
        *deltas("look"),
        Chunk("source", {"part": SOURCE}),
        Chunk("file", {"part": FILE}),
        tool_call("c1", "good", {"q": 1}),
        tool_call("c2", "bad", {}),
        Chunk(
            "finish",
            {
                "reason": "tool-calls",
                "usage": Usage(5, 7),
                "provider_metadata": {"p": {"k": 1}},
                "warnings": ["temperature is ignored"],
            },
        ),
    ]
    last = [*deltas("done"), Chunk("finish", {"reason": "stop", "usage": Usage(1, 1)})]
    return ChunkModel(first, last)


def rich_agent(**options: Any) -> Agent:
    """Return an agent with that model, a tool that works and one that does not."""
    tools = [tool_named("good", 7), tool_named("bad", RuntimeError("boom"))]
    return Agent(id="a", model=rich_answer(), tools=tools, **options)


async def test_every_chunk_has_the_fields_of_its_type() -> None:
    """At least those; unknown ones of a provider may come along."""
    wanted = {
        "start": {"message_id", "step_number"},
        "step-start": {"message_id", "step_number"},
        "response-metadata": {"id", "model_id", "timestamp"},
        "reasoning-start": {"id"},
        "reasoning-delta": {"id", "text"},
        "reasoning-end": {"id"},
        "text-start": {"id"},
        "text-delta": {"id", "text"},
        "text-end": {"id"},
        "source": {"part"},
        "file": {"part"},
        "tool-call": {"tool_call_id", "tool_name", "args", "provider_executed"},
        "tool-result": {"tool_call_id", "tool_name", "args", "provider_executed", "result"},
        "tool-error": {"tool_call_id", "tool_name", "args", "provider_executed", "error"},
        "step-finish": {"reason", "usage"},
        "finish": {"reason", "usage", "response", "text"},
    }

    ran = await collect(rich_agent(), "hi")

    assert set(ran.types) == set(wanted)
    lacking = {chunk.type: wanted[chunk.type] - chunk.payload.keys() for chunk in ran.chunks}
    assert {type_: fields for type_, fields in lacking.items() if fields} == {}


async def test_chunks_of_one_reply_name_its_message() -> None:
    """`start` and every `step-start` have the id that the reply then has."""
    ran = await collect(rich_agent(), "hi")

    named = {chunk.payload["message_id"] for chunk in ran.of("start", "step-start")}
    assert named == {ran.result.response.messages[0].id}
    assert [chunk.payload["step_number"] for chunk in ran.of("step-start")] == [0, 1]


async def test_a_chunk_is_frozen() -> None:
    """Neither the chunk nor its payload can be changed; `replace` gives another one."""
    ran = await collect(rich_agent(), "hi")
    delta = ran.of("text-delta")[0]

    with pytest.raises(TypeError):
        delta.payload["text"] = "x"  # type: ignore[index]
    with pytest.raises(AttributeError):
        delta.type = "x"  # type: ignore[misc]
    other = delta.replace(text="x")
    assert (delta.text, other.text, other.type, other.run_id) == ("look", "x", "text-delta", delta.run_id)


@each_entry
async def test_a_step_has_all_that_the_model_said(entry: Entry) -> None:
    """Text, reasoning, calls and their outcomes, sources, files, usage, warnings, metadata."""
    ran = await by(entry, rich_agent(), "hi")

    step, last = ran.result.steps
    assert (step.step_number, step.text, step.reasoning) == (0, "look", "hm")
    assert [(c.tool_call_id, c.tool_name, dict(c.args)) for c in step.tool_calls] == [
        ("c1", "good", {"q": 1}),
        ("c2", "bad", {}),
    ]
    assert [(o.tool_call_id, o.tool_name, o.result) for o in step.tool_results] == [
        ("c1", "good", 7),
        ("c2", "bad", None),
    ]
    assert "boom" in (step.tool_results[1].error or "")
    assert [source.url for source in step.sources] == ["https://example.org"]
    assert [file.filename for file in step.files] == ["x.txt"]
    assert (step.finish_reason, step.usage, list(step.warnings)) == (
        "tool-calls",
        Usage(5, 7, 12),
        ["temperature is ignored"],
    )
    assert dict(step.provider_metadata) == {"p": {"k": 1}}
    assert (last.step_number, last.text, last.finish_reason) == (1, "done", "stop")
    assert ran.result.usage == Usage(6, 8, 14)


@each_entry
async def test_the_reply_has_its_parts_in_the_order_of_the_stream(entry: Entry) -> None:
    """One message, its steps parted by a step-start."""
    ran = await by(entry, rich_agent(), "hi")

    assert parts_of(ran.result) == [
        [
            "reasoning:hm",
            "text:look",
            "source",
            "file",
            "tool:good:result",
            "tool:bad:error",
            "step-start",
            "text:done",
        ]
    ]
    (ui,) = ran.result.response.ui_messages
    assert (ui["id"], ui["role"]) == (ran.result.response.messages[0].id, "assistant")
    assert [part["type"] for part in ui["parts"] if part["type"] == "text"] == ["text", "text"]


@each_entry
async def test_the_response_hook_sees_warnings_and_what_the_provider_said(entry: Entry) -> None:
    """Beside the raw chunks."""
    seen: list[Any] = []

    def note(ctx: Any) -> None:
        if ctx.step_number == 0:
            seen.append((list(ctx.warnings), dict(ctx.raw_response), len(ctx.chunks)))

    agent = rich_agent(input_processors=[Processor.of("p", process_llm_response=note)])

    await by(entry, agent, "hi")

    ((warnings, response, count),) = seen
    assert warnings == ["temperature is ignored"]
    assert (response["id"], response["model_id"], response["timestamp"]) == ("r1", "m-1", 5)
    assert count == 12


@each_entry
async def test_a_result_of_an_answer_has_no_object_and_no_tripwire(entry: Entry) -> None:
    """What was not asked for is None."""
    agent, _ = make_agent(Reply(text="ok", usage=Usage(1, 2)))

    result = (await by(entry, agent, "hi")).result

    assert (result.object, result.tripwire, result.edited_after_stream) == (None, None, False)
    assert (result.finish_reason, result.usage) == ("stop", Usage(1, 2, 3))
    assert [message.role for message in result.response.messages] == ["assistant"]
    assert result.run_id != ""


@each_entry
async def test_a_provider_that_reports_no_usage_is_estimated_and_said_so(entry: Entry) -> None:
    """An estimate is marked as one."""
    agent, _ = make_agent("some words of an answer")

    usage = (await by(entry, agent, "a question")).result.usage

    assert usage.estimated is True
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0


@each_entry
async def test_the_newest_reply_can_be_the_next_calls_history(entry: Entry) -> None:
    """What a result gives goes back in as it is: calls, outcomes and texts."""
    agent, model = make_agent(
        Reply(text="look", tool_calls=[calls_tool("t", {"q": 1})]), "done", "again", tools=[tool_named("t", 7)]
    )

    first = await by(entry, agent, "hi")
    await by(entry, agent, ["hi", *first.result.response.messages, "and?"])

    assert lines(model.prompts[2])[1:] == [
        "user: hi",
        'assistant: look + t({"q":1})#c1',
        "tool: c1 -> 7",
        "assistant: done",
        "user: and?",
    ]
