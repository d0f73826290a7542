"""Area L: the message list."""

from __future__ import annotations

import json
from typing import Any

from sluiceway.messages import (
    Chunk,
    FilePart,
    Message,
    MessageList,
    PromptToolCall,
    Reply,
    StepStartPart,
    TextPart,
    ToolPart,
)


def reply(*parts: Any, **fields: Any) -> Message:
    return Message(role="assistant", parts=parts, **fields)


def kinds(message: Message) -> list[str]:
    return [part.type for part in message.parts]


def test_b191_split_and_joined_messages_are_the_same_message() -> None:
    answered = ToolPart("lookup", "c1", {"q": "x"}, "result", {"n": 1})
    messages = MessageList("hi")
    messages.add(reply(answered, StepStartPart(), TextPart("it is 1"), id="r"), "response")

    once, twice = messages.to_prompt(), messages.to_prompt()
    assert once == twice
    assert [(m.role, m.message_id) for m in once.messages[1:]] == [
        ("assistant", "r"),
        ("tool", "r"),
        ("assistant", "r"),
    ]

    split = messages.to_openai()
    joined = MessageList(split)
    assert [kinds(m) for m in joined.all] == [["text"], ["tool", "step-start", "text"]]
    assert joined.to_openai() == split
    assert MessageList(joined.to_openai()).to_openai() == split

    shown = messages.to_ui()
    back = MessageList(shown)
    assert back.to_ui() == shown
    assert back.all[1].id == "r"
    assert len({m.id for m in joined.all}) == len(joined.all)


def test_b192_parts_are_stored_in_the_order_of_the_stream() -> None:
    messages = MessageList("hi")
    building = Reply(messages, "r")
    building.apply(Chunk("tool-call", {"tool_call_id": "c1", "tool_name": "t", "args": {}}))
    building.apply(Chunk("tool-result", {"tool_call_id": "c1", "tool_name": "t", "result": 1}))
    building.start_step()
    for text in ("I am", " here"):
        building.apply(Chunk("text-delta", {"id": "t1", "text": text}))

    stored = json.loads(json.dumps(messages.response[0].to_dict()))
    reloaded = Message.from_dict(stored)
    assert kinds(reloaded) == ["tool", "step-start", "text"]
    assert reloaded.text == "I am here"
    assert reloaded.same_as(messages.response[0])


def test_b193_an_unfinished_call_is_not_in_the_prompt() -> None:
    messages = MessageList()
    stored = reply(TextPart("wait"), ToolPart("t", "c1", {}, "result", 1), ToolPart("t", "c2", {}))
    before = stored.to_dict()
    messages.add(stored, "memory")
    messages.add("and now?")

    prompt = messages.to_prompt().messages
    assert [m.role for m in prompt] == ["assistant", "tool", "user"]
    assert prompt[0].text == "wait"
    calls = [item.tool_call_id for m in prompt for item in m.content if isinstance(item, PromptToolCall)]
    assert calls == ["c1"]
    assert messages.remembered[0].to_dict() == before


def test_b194_a_providers_open_call_is_kept_only_at_the_end() -> None:
    def open_call(call_id: str) -> Message:
        return reply(ToolPart("web_search", call_id, {}, provider_executed=True))

    messages = MessageList()
    messages.add([open_call("older"), Message("go on"), open_call("last")], "memory")

    def calls() -> list[str]:
        content = [item for m in messages.to_prompt().messages for item in m.content]
        return [item.tool_call_id for item in content if isinstance(item, PromptToolCall)]

    assert calls() == ["last"]
    messages.add("never mind")
    assert calls() == []


def test_b198_empty_fields_are_empty_and_json_like_text_is_text() -> None:
    records: list[dict[str, Any]] = [
        {"id": "a", "role": "user", "content": '{"n": 1}'},
        {"id": "b", "role": "assistant"},
        {"id": "c", "role": "assistant", "parts": None, "metadata": None},
        {"id": "d", "role": "assistant", "parts": [{"type": "reasoning"}, {"type": "text", "text": "[1]"}]},
    ]
    messages = MessageList()
    messages.add([Message.from_dict(record) for record in records], "memory")

    assert [m.text for m in messages.all] == ['{"n": 1}', "", "", "[1]"]
    prompt = messages.to_prompt().messages
    assert [(m.role, m.text) for m in prompt] == [("user", '{"n": 1}'), ("assistant", "[1]")]
    assert [m["content"] for m in messages.to_openai()] == ['{"n": 1}', "[1]"]


def test_b204_provider_options_stay_on_their_level() -> None:
    def options(level: str) -> dict[str, Any]:
        return {"p": {"level": level}}

    given = {
        "role": "assistant",
        "provider_options": options("message"),
        "content": [
            {"type": "text", "text": "hi", "providerOptions": options("part")},
            {"type": "tool-call", "tool_call_id": "c1", "tool_name": "t", "provider_metadata": options("call")},
        ],
    }
    file = FilePart(b"x", "a/b", provider_metadata=options("file"))
    messages = MessageList([given, {"role": "tool", "tool_call_id": "c1", "content": "1"}])
    messages.add(Message(parts=[file]))

    def levels(of: MessageList) -> list[Any]:
        prompt = of.to_prompt().messages
        return [
            (
                m.role,
                m.provider_metadata.get("p", {}).get("level"),
                [i.provider_metadata["p"]["level"] for i in m.content],
            )
            for m in prompt
        ]

    expected = [
        ("assistant", "message", ["part", "call"]),
        ("tool", "message", ["call"]),
        ("user", None, ["file"]),
    ]
    assert levels(messages) == expected
    assert levels(MessageList(messages.to_ui())) == expected
    stored = MessageList()
    stored.add([Message.from_dict(json.loads(json.dumps(m.to_dict()))) for m in messages.all], "memory")
    assert levels(stored) == expected
    fork = messages.fork()
    assert levels(fork) == expected
