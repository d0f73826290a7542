"""The reply while it is being received."""

from typing import Any

from sluiceway.messages import (
    Chunk,
    DataPart,
    FilePart,
    Message,
    MessageList,
    ReasoningPart,
    Reply,
    SourcePart,
    TextPart,
    ToolPart,
)


def feed(reply: Reply, *chunks: tuple[str, dict[str, Any]]) -> None:
    for kind, payload in chunks:
        reply.apply(Chunk(kind, payload))


def shape(messages: MessageList) -> list[Any]:
    return [
        (p.type, p.text)
        if isinstance(p, TextPart)
        else (p.type, p.state, p.args)
        if isinstance(p, ToolPart)
        else p.type
        for m in messages.response
        for p in m.parts
    ]


def call(call_id: str, **args: Any) -> tuple[str, dict[str, Any]]:
    return "tool-call", {"tool_call_id": call_id, "tool_name": "t", "args": args}


def test_parts_are_in_the_order_of_the_stream() -> None:
    messages = MessageList("hi")
    reply = Reply(messages, "r")
    feed(
        reply,
        ("reasoning-delta", {"id": "r1", "text": "why"}),
        ("text-start", {"id": "t1"}),
        ("text-delta", {"id": "t1", "text": "let "}),
        ("text-start", {"id": "t2"}),
        ("text-delta", {"id": "t2", "text": "me "}),
        ("text-delta", {"id": "t1", "text": "us "}),
        ("text-end", {"id": "t1"}),
        call("c1", q=1),
        ("text-delta", {"id": "t2", "text": "look"}),
    )
    assert shape(messages) == [
        ("reasoning", "why"),
        ("text", "let us "),
        ("text", "me look"),
        ("tool", "call", {"q": 1}),
    ]
    assert (reply.text, reply.reasoning, [p.text for p in reply.text_parts()]) == (
        "let us me look",
        "why",
        ["let us ", "me look"],
    )
    assert [m.id for m in messages.response] == ["r"]


def test_steps_are_parted_once_something_comes() -> None:
    messages = MessageList("hi")
    reply = Reply(messages)
    reply.start_step()
    assert (messages.response, reply.text, reply.tool_calls) == ((), "", [])
    feed(reply, call("c1"))
    messages.set_tool_result("c1", 1)
    reply.start_step()
    assert (shape(messages), reply.tool_calls) == ([("tool", "result", {})], [])
    feed(reply, ("text-delta", {"id": "t1", "text": "done"}))
    assert shape(messages) == [("tool", "result", {}), "step-start", ("text", "done")]
    assert (reply.text, reply.tool_calls) == ("done", [])


def test_a_block_id_that_comes_again_in_a_later_step_is_another_block() -> None:
    messages = MessageList("hi")
    reply = Reply(messages)
    feed(reply, ("text-delta", {"id": "t1", "text": "a"}))
    reply.start_step()
    feed(reply, ("text-delta", {"id": "t1", "text": "b"}))
    assert shape(messages) == [("text", "a"), "step-start", ("text", "b")]


def test_an_attempt_is_taken_back_with_the_list() -> None:
    messages = MessageList("hi")
    reply = Reply(messages, "r")
    feed(reply, call("c1"))
    messages.set_tool_result("c1", 1)
    before = [m.to_dict() for m in messages.all]
    snapshot = messages.snapshot()
    for _ in range(2):
        reply.start_step()
        feed(reply, ("text-delta", {"id": "t1", "text": "no"}), call("c2"))
        messages.restore(snapshot)
        assert [m.to_dict() for m in messages.all] == before
    reply.start_step()
    feed(reply, ("text-delta", {"id": "t1", "text": "yes"}))
    assert shape(messages) == [("tool", "result", {}), "step-start", ("text", "yes")]


def test_the_first_attempt_is_taken_back_whole() -> None:
    messages = MessageList("hi")
    snapshot = messages.snapshot()
    reply = Reply(messages)
    feed(reply, ("text-delta", {"id": "t1", "text": "no"}))
    messages.restore(snapshot)
    assert [m.text for m in messages.all] == ["hi"]


def test_growth_after_a_snapshot_is_taken_back() -> None:
    messages = MessageList("hi")
    reply = Reply(messages)
    feed(reply, ("text-delta", {"id": "t1", "text": "a"}))
    snapshot = messages.snapshot()
    feed(reply, ("text-delta", {"id": "t1", "text": "b"}))
    messages.restore(snapshot)
    assert shape(messages) == [("text", "a")]


def test_receiving_is_nobodys_edit() -> None:
    messages = MessageList("hi")
    mark_reply = Reply(messages)
    messages.acting = "a"
    feed(mark_reply, ("text-delta", {"id": "t1", "text": "a"}))
    messages.response[0].parts  # noqa: B018 - a processor looks at it while it grows
    feed(mark_reply, ("text-delta", {"id": "t1", "text": "b"}), call("c1"), ("data-x", {"data": 1}))
    assert messages.take_edits() == []


def test_an_edit_of_the_reply_is_booked() -> None:
    messages = MessageList("hi")
    reply = Reply(messages)
    feed(reply, ("text-delta", {"id": "t1", "text": "abc"}))
    messages.acting = "a"
    reply.text_parts()[0].edit(0, 1, "X")
    assert [(e.processor_id, e.action, e.part) for e in messages.take_edits()] == [("a", "edit", 0)]
    assert reply.text == "Xbc"


def test_a_replaced_reply_goes_on() -> None:
    """A hook may put a copy in the place of the reply; the next part joins that one."""
    messages = MessageList("hi")
    reply = Reply(messages, "r")
    feed(reply, call("c1"))
    messages.reconcile(messages.response, [m.replace(metadata={"k": 1}) for m in messages.response], output=True)
    feed(reply, ("tool-result", {"tool_call_id": "c1", "result": {"n": 1}}))
    reply.start_step()
    feed(reply, ("text-delta", {"id": "t1", "text": "done"}))
    assert shape(messages) == [("tool", "result", {}), "step-start", ("text", "done")]
    assert messages.response[0].metadata == {"k": 1}


def test_results_errors_files_sources_and_data() -> None:
    messages = MessageList("hi")
    reply = Reply(messages)
    feed(
        reply,
        call("c1"),
        call("c2"),
        ("tool-result", {"tool_call_id": "c2", "result": 2}),
        ("tool-error", {"tool_call_id": "c1", "error": "broke"}),
        ("tool-result", {"tool_call_id": "dropped", "result": 2}),
        ("source", {"part": SourcePart("s1", "https://x.test")}),
        ("file", {"part": {"type": "file", "mediaType": "a/b", "url": "https://x.test/f"}}),
        ("data-x", {"data": {"n": 1}}),
        ("data-y", {"data": 1, "transient": True}),
        ("step-finish", {"reason": "stop"}),
    )
    parts = messages.response[0].parts
    assert [p.type for p in parts] == ["tool", "tool", "source", "file", "data-x"]
    assert [p.state for p in parts if isinstance(p, ToolPart)] == ["error", "result"]
    assert isinstance(parts[3], FilePart)


def test_a_chunk_and_the_list_share_no_arguments() -> None:
    messages = MessageList("hi")
    args: dict[str, Any] = {"q": [1]}
    Reply(messages).apply(Chunk("tool-call", {"tool_call_id": "c", "tool_name": "t", "args": args}))
    args["q"].append(2)
    part = messages.find_call("c")
    assert part is not None
    assert part.args == {"q": [1]}


def test_provider_metadata_of_blocks() -> None:
    messages = MessageList("hi")
    feed(
        Reply(messages),
        ("reasoning-start", {"id": "r1", "provider_metadata": {"p": {"a": 1}}}),
        ("reasoning-delta", {"id": "r1", "text": "why"}),
        ("reasoning-end", {"id": "r1", "provider_metadata": {"q": {"signature": "s"}}}),
        ("reasoning-start", {"id": "r2"}),
        ("reasoning-end", {"id": "r2", "provider_metadata": {"q": {"redacted": "x"}}}),
        ("text-start", {"id": "t1"}),
        ("text-end", {"id": "t1"}),
    )
    assert [(p.type, p.provider_metadata) for p in messages.response[0].parts] == [
        ("reasoning", {"p": {"a": 1}, "q": {"signature": "s"}}),
        ("reasoning", {"q": {"redacted": "x"}}),
    ]


def test_the_reply_carries_thread_and_resource() -> None:
    messages = MessageList("hi")
    reply = Reply(messages, "r", thread_id="t1", resource_id="u1")
    feed(reply, ("text-delta", {"id": "t", "text": "x"}))
    message = reply.message
    assert isinstance(message, Message)
    assert (message.id, message.thread_id, message.resource_id) == ("r", "t1", "u1")


def test_text_and_reasoning_are_those_of_the_current_step() -> None:
    messages = MessageList("hi")
    reply = Reply(messages, "r", first=True)
    feed(reply, ("text-delta", {"id": "t1", "text": "one"}))
    assert (reply.text, reply.reasoning, len(reply.parts())) == ("one", "", 1)
    reply.start_step()
    assert (reply.text, reply.reasoning, reply.parts()) == ("", "", [])
    feed(reply, ("text-delta", {"id": "t1", "text": "two"}))
    assert (reply.text, reply.reasoning, len(reply.parts())) == ("two", "", 1)
    feed(reply, ("reasoning-delta", {"id": "r1", "text": "so"}))
    assert (reply.text, reply.reasoning, len(reply.parts())) == ("two", "so", 2)


def test_data_keep_their_id() -> None:
    messages = MessageList("hi")
    reply = Reply(messages, "r")
    feed(reply, ("data-x", {"data": 1, "data_id": "d"}))
    (part,) = reply.parts()
    assert isinstance(part, DataPart)
    assert (part.id, part.data) == ("d", 1)


def test_a_block_of_nothing_but_a_signature_is_a_part_with_its_id() -> None:
    messages = MessageList("hi")
    reply = Reply(messages, "r")
    feed(
        reply, ("reasoning-start", {"id": "r1"}), ("reasoning-end", {"id": "r1", "provider_metadata": {"p": {"s": 1}}})
    )
    (part,) = reply.parts()
    assert isinstance(part, ReasoningPart)
    assert (part.id, part.text, part.provider_metadata) == ("r1", "", {"p": {"s": 1}})


def test_what_a_provider_says_when_a_block_begins_is_kept_for_its_end() -> None:
    messages = MessageList("hi")
    reply = Reply(messages, "r")
    feed(
        reply,
        ("reasoning-start", {"id": "r1", "provider_metadata": {"p": {"s": 1}}}),
        ("reasoning-delta", {"id": "r1", "text": "why"}),
        ("reasoning-start", {"id": "r2"}),
        ("reasoning-delta", {"id": "r2", "text": "not"}),
        ("reasoning-end", {"id": "r2"}),
        ("reasoning-end", {"id": "r1"}),
    )
    assert [part.provider_metadata for part in reply.parts()] == [{"p": {"s": 1}}, {}]


def test_what_a_provider_says_of_a_block_without_text_is_kept() -> None:
    messages = MessageList("hi")
    reply = Reply(messages, "r")
    feed(
        reply, ("reasoning-start", {"id": "r1", "provider_metadata": {"p": {"s": 1}}}), ("reasoning-end", {"id": "r1"})
    )
    (part,) = reply.parts()
    assert isinstance(part, ReasoningPart)
    assert (part.id, part.text, part.provider_metadata) == ("r1", "", {"p": {"s": 1}})


def test_a_result_that_is_there_keeps_what_the_model_is_shown() -> None:
    messages = MessageList("hi")
    reply = Reply(messages, "r")
    feed(reply, call("c1"))
    messages.set_tool_result("c1", {"n": 1}, "one")
    feed(reply, ("tool-result", {"tool_call_id": "c1", "result": {"n": 1}}))
    part = messages.find_call("c1")
    assert part is not None
    assert (part.result, part.model_output) == ({"n": 1}, "one")
    feed(reply, ("tool-result", {"tool_call_id": "c1", "result": {"n": 2}}))
    assert part.result == {"n": 2}
