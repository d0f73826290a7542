"""Area L: the history of one provider, sent to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sluiceway import Agent
from sluiceway.errors import ModelError
from sluiceway.messages import (
    Message,
    Prompt,
    PromptReasoning,
    PromptToolCall,
    ReasoningPart,
    TextPart,
    ToolPart,
)
from sluiceway.models import ModelRequest, ScriptedModel
from sluiceway.processors import PrefillErrorHandler, ProviderHistoryCompat
from tests.support.runs import Entry, by, each_entry, lines, make_agent
from tests.support.storing import THREAD, new_memory, stored

pytestmark = pytest.mark.anyio


class PickyModel(ScriptedModel):
    """Refuses prompts of a kind, so many times."""

    def __init__(self, refuses: Callable[[Prompt], bool], message: str, times: int = 10**9) -> None:
        super().__init__(["ok"])
        self.refuses = refuses
        self.message = message
        self.times = times
        self.refused = 0

    def stream(self, request: ModelRequest) -> Any:
        if self.refuses(request.prompt) and self.refused < self.times:
            self.refused += 1
            self.calls.append(request)
            raise ModelError(self.message, provider="picky", status=400)
        return super().stream(request)


def has_orphan(prompt: Prompt) -> bool:
    """Whether a message has an item id but no reasoning."""
    return any(
        "item_id" in item.provider_metadata.get("openai", {})
        for message in prompt.messages
        if not any(isinstance(item, PromptReasoning) for item in message.content)
        for item in message.content
    )


def orphaned() -> Message:
    text = TextPart("a1", provider_metadata={"openai": {"item_id": "msg_1", "other": 1}})
    return Message(role="assistant", parts=[text])


ORPHAN = "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'."


@each_entry
async def test_b196_item_ids_without_their_reasoning_are_dropped(entry: Entry) -> None:
    """That is one retry."""
    compat = ProviderHistoryCompat()
    model = PickyModel(has_orphan, ORPHAN)
    agent = Agent(id="a", model=model, input_processors=[compat], error_processors=[compat])
    history = [Message("q1"), orphaned(), Message("q2")]

    ran = await by(entry, agent, history)

    assert (ran.result.text, len(model.calls)) == ("ok", 2)
    metadata = model.prompts[1].messages[1].content[0].provider_metadata
    assert metadata == {"openai": {"other": 1}}


async def test_b196_a_stored_message_works_at_once_in_the_next_turn() -> None:
    compat = ProviderHistoryCompat()
    model = PickyModel(has_orphan, ORPHAN, times=1)
    memory = new_memory()
    first, _ = make_agent(memory=memory)
    await first.generate([Message("q1"), orphaned(), Message("q2")], memory=THREAD)
    agent = Agent(id="a", model=model, memory=memory, input_processors=[compat], error_processors=[compat])

    assert (await agent.generate("q3", memory=THREAD)).text == "ok"
    assert len(model.calls) == 2
    assert (await agent.generate("q4", memory=THREAD)).text == "ok"
    assert len(model.calls) == 3


async def test_b196_a_rule_that_removes_reasoning_removes_the_ids_that_go_with_it() -> None:
    thought = ReasoningPart("hm", provider_metadata={"openai": {"item_id": "rs_1"}})
    reply = Message(role="assistant", parts=[thought, *orphaned().parts])
    model = ScriptedModel(["ok"], provider="cerebras")
    agent = Agent(id="a", model=model, input_processors=[ProviderHistoryCompat()])

    await agent.generate([Message("q1"), reply, Message("q2")])

    sent = model.prompts[0].messages[1].content
    assert [(type(item).__name__, item.provider_metadata) for item in sent] == [
        ("PromptText", {"openai": {"other": 1}})
    ]


def thought(text: str, provider: str) -> ReasoningPart:
    return ReasoningPart(text, provider_metadata={provider: {"signature": f"signed-{text}"}})


@pytest.mark.parametrize(
    ("provider", "sent"),
    [
        ("q", ["user: one", "assistant: answer of p", "user: two", "assistant: (of q) + answer of q", "user: three"]),
        (
            "anthropic",
            [
                "user: one",
                "assistant: (of p) + answer of p",
                "user: two",
                "assistant: answer of q",
                "user: three",
                "assistant: (of p, alone)",
            ],
        ),
    ],
)
async def test_b201_only_the_models_own_reasoning_is_sent(provider: str, sent: list[str]) -> None:
    """A turn that is nothing else goes; what is stored stays."""
    memory = new_memory()
    writer, _ = make_agent(memory=memory)
    await writer.generate(
        [
            Message("one"),
            Message(role="assistant", parts=[thought("of p", "anthropic"), TextPart("answer of p")]),
            Message("two"),
            Message(role="assistant", parts=[thought("of q", "q"), TextPart("answer of q")]),
            Message("three"),
            Message(role="assistant", parts=[thought("of p, alone", "anthropic")]),
            Message("four"),
        ],
        memory=THREAD,
    )
    before = await stored(memory)
    model = ScriptedModel(["ok"], provider=provider)
    agent = Agent(id="a", model=model, memory=memory, input_processors=[ProviderHistoryCompat()])

    await agent.generate("five", memory=THREAD)

    assert lines(model.prompts[0]) == [*sent, "user: four", "assistant: ok", "user: five"]
    assert (await stored(memory))[: len(before)] == before


def odd_id(prompt: Prompt) -> bool:
    calls = [item for m in prompt.messages for item in m.content if isinstance(item, PromptToolCall)]
    return any(not call.tool_call_id.replace("_", "").replace("-", "").isalnum() for call in calls)


PATTERN = "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"


@each_entry
async def test_b202_odd_call_ids_are_mended_once(entry: Entry) -> None:
    """The rule is in both lists, and is applied once; a model that never takes it ends the run."""
    compat = ProviderHistoryCompat()
    history: list[Any] = [
        Message("q1"),
        Message(
            role="assistant", parts=[ToolPart("t", "a.b:1", {}, "result", 1), ToolPart("t", "a_b_1", {}, "result", 2)]
        ),
        Message("q2"),
    ]
    model = PickyModel(odd_id, PATTERN)
    agent = Agent(id="a", model=model, input_processors=[compat], error_processors=[compat])
    ran = await by(entry, agent, history)
    assert (ran.result.text, len(model.calls)) == ("ok", 2)
    assert lines(model.prompts[1])[1:3] == ["assistant: t({})#a_b_1_2 + t({})#a_b_1", "tool: a_b_1_2 -> 1 + a_b_1 -> 2"]

    model = PickyModel(lambda _: True, PATTERN)
    agent = Agent(id="a", model=model, input_processors=[compat], error_processors=[compat])
    ran = await by(entry, agent, history)
    assert len(model.calls) == 2
    assert isinstance(ran.error, ModelError)


@pytest.mark.parametrize("times", [1, 10])
@each_entry
async def test_b202_a_refused_last_message_is_mended_once(entry: Entry, times: int) -> None:
    """The reminder is in no visible history."""
    model = PickyModel(lambda _: True, "This model does not support assistant message prefill.", times=times)
    handler = PrefillErrorHandler()
    agent = Agent(id="a", model=model, input_processors=[handler], error_processors=[handler])

    ran = await by(entry, agent, [Message("q"), Message(role="assistant", parts=[TextPart("so")])])

    assert len(model.calls) == 2
    assert lines(model.prompts[1])[-1] == "user: <system-reminder>continue</system-reminder>"
    if times == 1:
        assert ran.result.text == "ok"
        assert ["continue" in str(message) for message in ran.result.response.ui_messages] == [False]
    else:
        assert isinstance(ran.error, ModelError)
