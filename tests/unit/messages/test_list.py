"""The message list: views, edits, who made them, undoing them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sluiceway.errors import MessageError
from sluiceway.messages import (
    FilePart,
    ListEdit,
    Message,
    MessageList,
    StepStartPart,
    SystemMessage,
    TextPart,
    ToolPart,
)


def at(minute: int) -> datetime:
    return datetime(2024, 1, 1, 12, minute, tzinfo=UTC)


def texts(messages: MessageList) -> list[str]:
    return [m.text for m in messages.all]


def edit(messages: MessageList, index: int, text: str) -> None:
    part = messages.all[index].parts[0]
    assert isinstance(part, TextPart)
    part.text = text


def test_views_by_source_in_conversation_order() -> None:
    messages = MessageList("hi", system=["sys"])
    messages.add(Message("ctx", id="c"), "context")
    messages.add({"role": "assistant", "content": "yo"}, "response")
    messages.add(Message("old", created_at=at(1)), "memory")
    assert texts(messages) == ["old", "hi", "ctx", "yo"]
    views = (messages.remembered, messages.input, messages.context, messages.response)
    assert [[m.text for m in view] for view in views] == [["old"], ["hi"], ["ctx"], ["yo"]]
    assert messages.system == (SystemMessage("sys"),)
    assert (len(messages), messages.source_of("c"), messages.get("c") is messages.all[2]) == (4, "context", True)
    assert messages.get("none") is None
    with pytest.raises(MessageError, match="no message with the id 'none'"):
        messages.source_of("none")


def test_remembered_messages_go_before_the_rest_by_time() -> None:
    messages = MessageList("new")
    messages.add([Message("m3", created_at=at(3)), Message("m1", created_at=at(1))], "memory")
    assert texts(messages) == ["m1", "m3", "new"]
    messages.add(Message("m2", created_at=at(2)), "memory")
    messages.add(Message("m3 too", created_at=at(3)), "memory")
    assert texts(messages) == ["m1", "m2", "m3", "m3 too", "new"]


def test_an_assistant_message_added_in_an_output_hook_is_a_response() -> None:
    messages = MessageList("hi")
    messages.add({"role": "assistant", "content": "a", "id": "a"})
    messages.output_phase = True
    messages.add({"role": "assistant", "content": "b", "id": "b"})
    messages.add({"role": "user", "content": "c", "id": "c"})
    assert [messages.source_of(i) for i in "abc"] == ["input", "response", "input"]


def test_an_unknown_source_is_refused() -> None:
    with pytest.raises(MessageError, match="not 'elsewhere'"):
        MessageList().add("x", "elsewhere")


def test_ids_are_unique() -> None:
    messages = MessageList([{"role": "user", "id": "a", "content": "1"}, {"role": "user", "id": "b", "content": "2"}])
    messages.add(Message("3", id="a"), "context")
    assert texts(messages) == ["3", "2"]
    assert messages.source_of("a") == "context"


def test_system_dicts_and_tool_dicts_go_where_they_belong() -> None:
    messages = MessageList("hi")
    messages.add({"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "t", "args": {}}]})
    messages.add([{"role": "system", "content": "be kind"}, {"role": "tool", "tool_call_id": "c1", "content": "7"}])
    assert messages.system == (SystemMessage("be kind"),)
    call = messages.find_call("c1")
    assert call is not None
    assert (call.state, call.result) == ("result", "7")


def test_a_message_of_another_list_is_copied() -> None:
    one = MessageList("hi")
    other = MessageList()
    other.add(one.all[0])
    edit(other, 0, "yo")
    assert (texts(one), texts(other)) == (["hi"], ["yo"])


def test_replace_keeps_place_and_source() -> None:
    messages = MessageList(["a", "b", "c"])
    old = messages.all[1]
    messages.replace(old, Message("B", id=old.id))
    assert texts(messages) == ["a", "B", "c"]
    new = messages.replace(old.id, "BB")
    assert texts(messages) == ["a", "BB", "c"]
    assert (messages.get(old.id), messages.source_of(new.id)) == (None, "input")
    with pytest.raises(MessageError, match="no message with the id"):
        messages.replace(old.id, "x")


def test_remove_by_ids_says_how_many() -> None:
    messages = MessageList(["a", "b", "c"])
    assert messages.remove_by_ids([messages.all[0].id, "none", messages.all[2].id]) == 2
    assert texts(messages) == ["b"]


def test_has_input_counts_input_and_context_but_no_signals() -> None:
    messages = MessageList(["a"])
    messages.add_signal("note")
    messages.add(Message("old"), "memory")
    assert messages.has_input()
    messages.remove_by_ids([messages.input[0].id])
    assert not messages.has_input()
    messages.add(Message("ctx"), "context")
    assert messages.has_input()


def test_tool_results_reach_the_newest_open_call_of_that_id() -> None:
    """Some providers count from `call_0` in every turn."""
    messages = MessageList()
    for state in ("result", "call"):
        messages.add(Message(role="assistant", parts=[ToolPart("t", "call_0", {}, state, "old")]))
    messages.set_tool_result("call_0", 1, "one")
    states = [p.result for m in messages.all for p in m.parts if isinstance(p, ToolPart)]
    assert states == ["old", 1]
    messages.set_tool_error("call_0", "broke")
    assert [p.state for m in messages.all for p in m.parts if isinstance(p, ToolPart)] == ["result", "error"]
    with pytest.raises(MessageError, match="no tool call with the id 'c9'"):
        messages.update_tool_result("c9", 1)


# who did what


def test_edits_are_booked_to_the_processor_at_work() -> None:
    messages = MessageList(["hello", "there"])
    first, second = messages.all
    messages.acting = "a"
    edit(messages, 0, "hullo")
    messages.acting = "b"
    second.metadata["k"] = 1
    second.parts.append(TextPart("!"))
    messages.add_system("x")
    messages.acting = None
    messages.remove_by_ids([first.id])
    assert messages.take_edits() == [
        ListEdit("a", "edit", first.id, 0, 1, 2, 1, "text"),
        ListEdit("b", "system"),
        ListEdit("b", "add", second.id, 1),
        ListEdit("b", "edit", second.id, what="metadata"),
        ListEdit(None, "remove", first.id),
    ]
    assert messages.take_edits() == []


def test_every_edit_says_what_it_changed() -> None:
    messages = MessageList("a")
    messages.add(Message(role="assistant", id="r", parts=[ToolPart("t", "c1"), ToolPart("t", "c2")]), "response")
    message = messages.get("r")
    assert message is not None
    messages.set_tool_result("c1", 1)
    messages.set_tool_error("c2", "no")
    message.metadata["k"] = 1
    message.provider_metadata["p"] = {"k": 1}
    edits = [(one.action, one.part, one.what) for one in messages.take_edits() if one.message_id == "r"]
    assert edits == [
        ("add", None, ""),
        ("tool-result", 0, "result"),
        ("tool-result", 1, "error"),
        ("edit", None, "metadata"),
        ("edit", None, "provider_metadata"),
    ]


def test_edits_hold_no_values() -> None:
    messages = MessageList("secret one")
    messages.add(Message(role="assistant", parts=[ToolPart("t", "c1", {"k": "secret two"})]))
    edit(messages, 0, "secret three")
    call = messages.find_call("c1")
    assert call is not None
    call.args["k"] = "secret four"
    messages.update_tool_result("c1", "secret five")
    edits = messages.take_edits()
    assert [e.action for e in edits] == ["add", "tool-result", "edit", "edit"]
    assert "secret" not in repr(edits)


def test_a_mark_tells_what_was_edited_since() -> None:
    messages = MessageList(["a", "b"])
    messages.all[1].metadata["k"] = 0
    mark = messages.mark()
    _ = [m.parts for m in messages.all], [m.metadata for m in messages.all]
    assert (messages.mark(), messages.edits_since(mark)) == (mark, [])
    messages.all[0].metadata["k"] = 1
    assert messages.mark() != mark
    assert [(e.action, e.message_id) for e in messages.edits_since(mark)] == [("edit", messages.all[0].id)]
    mark = messages.mark()
    messages.replace_system(messages.system)
    assert (messages.mark(), messages.edits_since(mark)) == (mark, [])
    messages.add_system("s")
    messages.take_edits()
    assert messages.mark() != mark
    assert messages.edits_since(mark) == []


def test_reordering_parts_is_an_edit() -> None:
    messages = MessageList([{"role": "user", "content": [{"type": "text", "text": t} for t in "ab"]}])
    mark = messages.mark()
    messages.all[0].parts.reverse()
    assert [e.action for e in messages.edits_since(mark)] == ["order"]


# going back


def test_restore_undoes_everything_and_keeps_the_objects() -> None:
    messages = MessageList(["a", "b"], system=["s"])
    call = Message(role="assistant", parts=[ToolPart("t", "c1", {"q": [1]}, "result", {"n": [1]})])
    messages.add(call, "response")
    first, second, third = messages.all
    part, args = first.parts[0], third.parts[0].args  # pyright: ignore[reportAttributeAccessIssue]
    before = [m.to_dict() for m in messages.all]
    snapshot = messages.snapshot()
    for _ in range(2):  # one snapshot can be restored several times
        part.text = "changed"  # pyright: ignore[reportAttributeAccessIssue] - held since before the snapshot
        args["q"].append(2)
        messages.update_tool_result("c1", "other")
        second.parts.append(TextPart("more"))
        second.metadata["k"] = 1
        second.thread_id = "t9"
        second.attachments.append(TextPart("x"))
        second.provider_metadata["p"] = 1
        messages.remove_by_ids([first.id])
        messages.add("new")
        messages.add_signal("note")
        messages.replace_system(["other"])
        messages.restore(snapshot)
        assert [m.to_dict() for m in messages.all] == before
        assert messages.all == (first, second, third)
        assert first.parts[0] is part
        assert messages.system == (SystemMessage("s"),)
        assert messages.source_of(third.id) == "response"


def test_restore_brings_back_a_replaced_message() -> None:
    messages = MessageList(["a"])
    first = messages.all[0]
    snapshot = messages.snapshot()
    new = messages.replace(first, first.replace(parts=[TextPart("b")]))
    new.parts[0].text = "c"  # pyright: ignore[reportAttributeAccessIssue]
    messages.restore(snapshot)
    assert messages.all == (first,)
    assert first.text == "a"


def test_only_the_newest_snapshot_can_be_restored() -> None:
    messages = MessageList(["a"])
    old = messages.snapshot()
    messages.snapshot()
    with pytest.raises(MessageError, match="Only the newest snapshot"):
        messages.restore(old)


def test_a_snapshot_costs_what_is_touched() -> None:
    messages = MessageList([f"m{i}" for i in range(100)])
    messages.all[3].parts  # noqa: B018
    snapshot = messages.snapshot()
    assert len(snapshot.journal.saved) == 1
    messages.all[4].parts  # noqa: B018
    assert len(snapshot.journal.saved) == 2


# forks


def test_a_fork_is_isolated_both_ways() -> None:
    messages = MessageList(["a", "b"], system=["s"])
    messages.add(Message(role="assistant", parts=[ToolPart("t", "c1", {"q": [1]})], metadata={"k": [1]}))
    before = [m.to_dict() for m in messages.all]
    fork = messages.fork()
    edit(fork, 0, "forked")
    call = fork.find_call("c1")
    assert call is not None
    call.args["q"].append(2)
    fork.all[2].metadata["k"].append(2)
    fork.remove_by_ids([fork.all[1].id])
    fork.add("more")
    fork.add_system("s2")
    assert [m.to_dict() for m in messages.all] == before
    assert messages.system == (SystemMessage("s"),)

    late = messages.fork()
    edit(messages, 0, "base")
    messages.all[2].metadata["k"].append(3)
    messages.remove_by_ids([messages.all[1].id])
    messages.update_tool_result("c1", 7)
    assert [m.to_dict() for m in late.all] == before
    assert texts(fork) == ["forked", "", "more"]


def test_a_fork_has_attachments_of_its_own() -> None:
    messages = MessageList()
    messages.add(Message("a", id="a", attachments=[FilePart(b"x", "a/b", filename="old")]))
    fork = messages.fork()
    message, original = fork.get("a"), messages.get("a")
    assert message is not None
    assert original is not None
    message.attachments[0].filename = "new"  # pyright: ignore[reportAttributeAccessIssue]
    assert [one.to_dict()["attachments"][0]["filename"] for one in (message, original)] == ["new", "old"]
    edits = [edit for edit in fork.take_edits() if edit.what == "filename"]
    assert edits == [ListEdit(None, "edit", "a", None, 0, 0, 0, "filename")]


def test_a_fork_copies_what_is_touched_only() -> None:
    messages = MessageList(["a", "b"])
    fork = messages.fork()
    assert [m.text for m in fork.all] == ["a", "b"]
    assert [m._parts for m in fork.all] == [None, None]
    fork.all[1].parts  # noqa: B018
    assert fork.all[0]._parts is None


@pytest.mark.parametrize("act", ["remove", "add", "find", "replace", "snapshot", "signal"])
def test_a_fork_that_nobody_looked_at_can_be_edited(act: str) -> None:
    messages = MessageList([{"role": "user", "content": "a", "id": "a"}])
    messages.add(Message(role="assistant", id="b", parts=[ToolPart("t", "c1", {"q": 1})]))
    before = [m.to_dict() for m in messages.all]
    fork = messages.fork()
    if act == "remove":
        fork.remove_by_ids(["a"])
    elif act == "add":
        fork.add(Message("A", id="a"))
    elif act == "find":
        call = fork.find_call("c1")
        assert call is not None
        call.args["q"] = 2
    elif act == "replace":
        fork.replace("a", "A")
    elif act == "signal":
        fork.add_signal("x")
    else:
        snapshot = fork.snapshot()
        edit(fork, 0, "x")
        fork.restore(snapshot)
        assert texts(fork) == ["a", ""]
        edit(fork, 0, "y")
    assert [m.to_dict() for m in messages.all] == before


# what a hook returned


def reconciled(returned: list[Any], **options: Any) -> tuple[MessageList, tuple[Message, ...]]:
    messages = MessageList([{"role": "user", "content": t, "id": t} for t in "abcd"])
    phase = tuple(m for m in messages.all if m.id != "b")
    messages.reconcile(phase, [messages.get(r) or r if isinstance(r, str) else r for r in returned], **options)
    return messages, phase


def test_the_same_messages_change_nothing() -> None:
    messages, phase = reconciled(["a", "c", "d"])
    assert texts(messages) == ["a", "b", "c", "d"]
    assert messages.take_edits() == []
    assert [m for m in messages.all if m.id != "b"] == list(phase)


def test_equal_copies_change_nothing() -> None:
    messages = MessageList(["a", "b"])
    phase = messages.all
    messages.reconcile(phase, [m.copy() for m in phase])
    assert messages.all == phase
    assert messages.take_edits() == []


def test_what_is_missing_is_removed() -> None:
    assert texts(reconciled(["a", "d"])[0]) == ["a", "b", "d"]
    assert texts(reconciled([])[0]) == ["b"]


def test_what_is_kept_stays_though_missing() -> None:
    assert texts(reconciled(["a"], keep={"d"})[0]) == ["a", "b", "d"]


def test_what_changed_is_replaced_and_keeps_its_source() -> None:
    messages = MessageList("a")
    messages.add(Message("old", id="m"), "memory")
    phase = messages.all
    messages.reconcile(phase, [phase[0].replace(parts=[TextPart("new")]), phase[1]])
    assert texts(messages) == ["new", "a"]
    assert messages.source_of("m") == "memory"


def test_the_returned_order_holds_in_the_places_of_the_phase() -> None:
    assert texts(reconciled(["d", "a", "c"])[0]) == ["d", "b", "a", "c"]
    assert texts(reconciled(["d", "a"])[0]) == ["d", "b", "a"]


def test_new_messages_follow_the_one_before_them() -> None:
    new = {"role": "user", "content": "x", "id": "x"}
    assert texts(reconciled(["a", new, "c", "d"])[0]) == ["a", "x", "b", "c", "d"]
    assert texts(reconciled([new, "a", "c", "d"])[0]) == ["x", "a", "b", "c", "d"]
    assert texts(reconciled(["a", "c", "d", "y"])[0]) == ["a", "b", "c", "d", "y"]
    assert texts(reconciled([new])[0]) == ["b", "x"]


def test_a_new_assistant_message_is_a_response_after_the_model() -> None:
    new = {"role": "assistant", "content": "x", "id": "x"}
    assert reconciled(["a", "c", "d", new], output=True)[0].source_of("x") == "response"
    assert reconciled(["a", "c", "d", new])[0].source_of("x") == "input"


def test_what_the_hook_did_to_the_list_itself_stands() -> None:
    messages = MessageList([{"role": "user", "content": t, "id": t} for t in "ab"])
    phase = messages.all
    messages.remove_by_ids(["a"])
    messages.replace("b", Message("B", id="b"))
    messages.reconcile(phase, phase)
    assert texts(messages) == ["B"]
    messages.reconcile(phase, list(phase[1:]))
    assert texts(messages) == ["B"]


def test_a_message_that_is_put_in_again_takes_the_new_source() -> None:
    messages = MessageList({"role": "user", "content": "a", "id": "a"})
    message = messages.all[0]
    messages.add(message, "input")
    assert messages.take_edits() == []
    messages.add(message, "context")
    assert (messages.source_of("a"), messages.all) == ("context", (message,))
    assert messages.take_edits() == [ListEdit(None, "replace", "a")]


def test_what_a_hook_brings_back_stands_where_it_says_and_not_by_time() -> None:
    messages = MessageList([{"role": "user", "content": t, "id": t} for t in "ab"])
    messages.add(Message("old", id="m", created_at=at(1)), "memory")
    phase = messages.all
    messages.remove_by_ids(["m"])
    messages.reconcile(phase, [phase[1], phase[2], phase[0].copy()])
    assert texts(messages) == ["a", "b", "old"]
    assert messages.source_of("m") == "memory"


def test_a_bad_message_returned_is_an_error() -> None:
    with pytest.raises(MessageError, match="robot"):
        reconciled([{"role": "robot", "content": "x"}])


def test_looking_at_a_message_without_parts_changes_nothing() -> None:
    messages = MessageList([{"role": "user", "content": None}, "a"])
    assert [len(m.parts) for m in messages.all] == [0, 1]
    assert list(messages.take_edits()) == []
    messages.all[0].parts.append(TextPart("b"))
    assert [edit.action for edit in messages.take_edits()] == ["add"]


# signals


def test_a_signal_follows_the_newest_message() -> None:
    messages = MessageList(["a"])
    signal = messages.add_signal("stop", {"n": 1}, transient=True)
    assert messages.all[-1] is signal
    assert (signal.role, signal.text, messages.source_of(signal.id)) == ("signal", "stop", "input")
    assert signal.metadata == {"signal": {"tag_name": "system-reminder", "attributes": {"n": 1}, "transient": True}}


def test_a_signal_in_a_reply_notes_the_step() -> None:
    messages = MessageList(["a"])
    reply = Message(role="assistant", parts=[TextPart("1"), StepStartPart(), TextPart("2"), StepStartPart()])
    messages.add(reply, "response")
    assert messages.add_signal("x").metadata["signal"]["after_step"] == 1
