"""`StreamCall`: messages that are forked when a hook asks for them, and brought back."""

from __future__ import annotations

from sluiceway.messages import MessageList
from sluiceway.processors._call import HookCall
from sluiceway.processors._stream_call import StreamCall, join_lists, mark_of


def texts(messages: MessageList) -> list[str]:
    return [message.text for message in messages.all]


def test_what_one_call_did_to_its_messages_comes_back_when_it_is_joined() -> None:
    outer = HookCall("process_output_stream", MessageList("one"))
    call = StreamCall(outer, "only")
    join_lists([call])
    assert (texts(outer.message_list), mark_of(call)) == (["one"], 0)
    call.message_list.add("two")
    assert texts(outer.message_list) == ["one"]
    join_lists([call])
    assert texts(outer.message_list) == ["one", "two"]
    call.message_list.add("three")
    call.drop()
    join_lists([call])
    assert texts(outer.message_list) == ["one", "two"]
