"""Area L, what of it concerns storage: messages as they are stored and read back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sluiceway import Message, Tool
from sluiceway.memory import InMemoryStore, Memory, MessageRow, SQLiteStore, Turn
from sluiceway.messages import ReasoningPart, TextPart, ToolPart
from sluiceway.models import Reply
from tests.support.memory import ON, fill, kept, remembering, said, shape
from tests.support.processors import hooked, tool_named
from tests.support.runs import calls_tool, lines

pytestmark = pytest.mark.anyio


async def test_b191_a_stored_message_stays_one_message_with_one_id() -> None:
    """Sent to a client and back, in either form, twice: the thread has it once, whole."""
    agent, _, memory = remembering(
        Reply("looking", tool_calls=[calls_tool("t", {"x": 1})]),
        "found",
        "again",
        "and again",
        tools=[tool_named("t", 7)],
    )
    result = await agent.generate("q1", memory=ON)
    ids = [message.id for message in await memory.recall("t1")]
    ui = [{"id": ids[0], "role": "user", "parts": [{"type": "text", "text": "q1"}]}, *result.response.ui_messages]
    before = await kept(memory)

    await agent.generate([*ui, "q2"], memory=ON)
    await agent.generate(
        [
            {"role": "user", "content": "q1"},
            {"role": "assistant", "content": "looking", "tool_calls": [calls_tool("t", {"x": 1})]},
            {"role": "tool", "tool_call_id": "c1", "content": "7"},
            {"role": "assistant", "content": "found"},
            {"role": "user", "content": "q2"},
            {"role": "assistant", "content": "again"},
            {"role": "user", "content": "q3"},
        ],
        memory=ON,
    )

    stored = await memory.recall("t1")
    assert [message.id for message in stored][:2] == ids
    assert len({message.id for message in stored}) == len(stored)
    assert shape(stored) == [
        *before,
        ("user", "q2"),
        ("assistant", "again"),
        ("user", "q3"),
        ("assistant", "and again"),
    ]


async def test_b192_parts_are_stored_in_the_order_of_the_stream() -> None:
    agent, _, memory = remembering(
        Reply(tool_calls=[calls_tool("t")]), Reply("I am text", reasoning="thinking"), tools=[tool_named("t", 7)]
    )

    result = await agent.generate("hi", memory=ON)

    stored = (await memory.recall("t1"))[1]
    assert [part.type for part in stored.parts] == ["tool", "step-start", "reasoning", "text"]
    assert stored.same_as(result.response.messages[0])


async def test_b193_an_unfinished_call_in_the_history_is_not_in_the_prompt() -> None:
    """The finished call and the text are; what is stored stays as it is."""
    agent, model, memory = remembering()
    history = [
        "q1",
        Message(
            role="assistant", parts=[ToolPart("t", "c1", {}, "result", 1), ToolPart("t", "c2", {}), TextPart("so")]
        ),
        "q2",
        Message(role="assistant", parts=[ToolPart("t", "c3", {})]),
    ]
    await fill(memory.storage, history)
    before = await kept(memory)

    await agent.generate("q3", memory=ON)

    assert lines(model.prompts[0])[1:] == [
        "user: q1",
        "assistant: t({})#c1 + so",
        "tool: c1 -> 1",
        "user: q2",
        "user: q3",
    ]
    assert (await kept(memory))[:4] == before


async def test_b194_a_providers_open_call_is_kept_only_at_the_end() -> None:
    """A client's result goes on with the last message, in which the provider is still at work; a user's does not."""
    search = ToolPart("search", "p1", {}, provider_executed=True)
    for given, shown in (("new", False), ({"role": "tool", "tool_call_id": "c1", "content": "r"}, True)):
        memory = Memory(InMemoryStore())
        await fill(memory.storage, ["q1", Message(role="assistant", parts=[search, ToolPart("t", "c1", {})])])
        agent, model, _ = remembering(memory=memory)

        await agent.generate([given], memory=ON)

        assert ("p1" in str(lines(model.prompts[0]))) is shown
        assert (await kept(memory))[1][1] == ("search", "p1", {}, "call", None)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ("{}", ""),
        ('{"parts":null}', ""),
        ('{"parts":[{"type":"reasoning"},{"type":"text"}]}', ""),
        ('{"parts":[{"type":"text","text":"{\\"a\\": 1}"}]}', '{"a": 1}'),
        ('{"parts":[{"type":"of-tomorrow","x":1},{"type":"text","text":"hi"}],"metadata":null}', "hi"),
        ('{"parts":[{"type":"tool"},{"type":"file"},{"type":7},5,{"type":"text","text":"hi"}]}', "hi"),
    ],
)
async def test_b198_empty_or_unknown_fields_of_a_stored_message_end_no_turn(document: str, text: str) -> None:
    store = SQLiteStore(":memory:")
    now = datetime.now(UTC)
    rows = [
        MessageRow("t1", "m1", "user", now, '{"parts":["first"]}'),
        MessageRow("t1", "m2", "assistant", now, document),
    ]
    await store.save_turn(Turn("t1", "u1", now, [MessageRow("t1", "m0", "user", now, '{"parts":"q"}'), *rows]))
    agent, model, memory = remembering(memory=Memory(store))

    await agent.generate("next", memory=ON)

    assert [message.text for message in await memory.recall("t1")][:3] == ["q", "", text]
    assert said(model.prompts[0])[0] == "user: q"
    assert said(model.prompts[0])[-1] == "user: next"


async def test_b199_system_messages_are_not_history() -> None:
    """Three turns, a processor that adds system text in each: the fourth prompt has one copy."""
    agent, model, memory = remembering(
        input_processors=[
            hooked("rules", {"process_input": lambda ctx: ctx.message_list.add_system("be kind") and None})
        ]
    )

    for question in ("q1", "q2", "q3", "q4"):
        await agent.generate([{"role": "system", "content": "be brief"}, question], memory=ON)

    system = [message.text for message in model.prompts[3].messages if message.role == "system"]
    assert system == ["sys", "be brief", "be kind"]
    assert {role for role, *_ in await kept(memory)} == {"user", "assistant"}


async def test_b204_provider_options_are_stored_on_their_level() -> None:
    agent, model, memory = remembering()
    options: dict[str, Any] = {"p": {"cache": True}}
    reasoning = ReasoningPart("why", provider_metadata={"p": {"signature": "s"}})
    call = ToolPart("t", "c1", {}, "result", 1, provider_metadata={"p": {"item": "i"}})
    asked = Message(parts=[TextPart("q", provider_metadata=options)], provider_metadata={"p": {"level": "message"}})
    await fill(memory.storage, [asked, Message(role="assistant", parts=[reasoning, call])])

    await agent.generate("next", memory=ON)

    user, assistant, tool = model.prompts[0].messages[1:4]
    assert user.provider_metadata == {"p": {"level": "message"}}
    assert user.content[0].provider_metadata == options
    assert [item.provider_metadata for item in assistant.content] == [
        {"p": {"signature": "s"}},
        {"p": {"item": "i"}},
    ]
    assert tool.content[0].provider_metadata == {"p": {"item": "i"}}


def test_the_tool_of_these_cases_runs_here() -> None:
    """So that no case passes because a call was left to the client."""
    assert isinstance(tool_named("t", 7), Tool)
    assert tool_named("t", 7).run is not None
