"""Forks of a list come back together."""

from collections.abc import Callable
from typing import Any

import pytest

from sluiceway.errors import MergeConflict, MessageError
from sluiceway.messages import (
    Hunk,
    ListEdit,
    Message,
    MessageList,
    SystemMessage,
    TextPart,
    ToolPart,
    merge_forks,
)


def conversation() -> MessageList:
    messages = MessageList(
        [{"role": "user", "content": "mail bob@a.test now", "id": "a"}, {"role": "user", "content": "two", "id": "b"}],
        system=["sys"],
    )
    messages.add(
        Message(role="assistant", id="r", parts=[ToolPart("t", "c1", {"q": "x", "n": 1})], metadata={"k": 1}),
        "response",
    )
    messages.take_edits()
    return messages


def part(messages: MessageList, message_id: str, index: int = 0) -> Any:
    message = messages.get(message_id)
    assert message is not None
    return message.parts[index]


def forked(*acts: Callable[[MessageList], object], prefer: str | None = None) -> MessageList:
    base = conversation()
    forks = [(key, base.fork()) for key in "xyz"[: len(acts)]]
    for act, (_, fork) in zip(acts, forks, strict=True):
        act(fork)
    merge_forks(base, forks, prefer)
    return base


def state(messages: MessageList) -> list[Any]:
    return [[m.to_dict() for m in messages.all], messages.system, [messages.source_of(m.id) for m in messages.all]]


def nothing(messages: MessageList) -> None:
    _ = [(m.text, m.parts, m.metadata) for m in messages.all]


def test_nothing_changed() -> None:
    base = forked(nothing, nothing)
    assert state(base)[1:] == state(conversation())[1:]
    assert base.take_edits() == []


def test_one_branch_changed() -> None:
    def act(messages: MessageList) -> None:
        part(messages, "a").edit(5, 15, "[EMAIL]", redact=True)
        part(messages, "r").args["q"] = "y"
        messages.remove_by_ids(["b"])
        messages.add_system("more")
        messages.add("new")

    base = forked(nothing, act, nothing)
    assert [m.text for m in base.all] == ["mail [EMAIL] now", "", "new"]
    assert part(base, "r").args == {"q": "y", "n": 1}
    assert base.system == (SystemMessage("sys"), SystemMessage("more"))


def test_the_lists_own_messages_and_parts_stay_the_same_objects() -> None:
    base = conversation()
    before = [(m, *m.parts) for m in base.all]
    forks = [("x", base.fork()), ("y", base.fork())]
    part(forks[0][1], "a").text = "changed"
    part(forks[1][1], "r").args["q"] = "y"
    merge_forks(base, forks)
    assert [(m, *m.parts) for m in base.all] == before


def test_disjoint_edits_of_one_text_are_all_kept() -> None:
    base = forked(
        lambda m: part(m, "a").edit(0, 4, "write"),
        lambda m: part(m, "a").edit(5, 15, "[EMAIL]", redact=True),
        lambda m: part(m, "a").edit(16, 19, "later"),
    )
    assert part(base, "a").text == "write [EMAIL] later"


def test_different_fields_of_one_message_are_all_kept() -> None:
    def metadata(messages: MessageList) -> None:
        message = messages.get("r")
        assert message is not None
        message.metadata["m"] = 2
        message.thread_id = "t1"

    base = forked(lambda m: part(m, "r").args.update(q="y"), metadata, lambda m: m.update_tool_result("c1", {"n": 1}))
    message = base.get("r")
    assert message is not None
    call = message.parts[0]
    assert isinstance(call, ToolPart)
    assert (call.args, call.state, call.result) == ({"q": "y", "n": 1}, "result", {"n": 1})
    assert (message.metadata, message.thread_id) == ({"k": 1, "m": 2}, "t1")


def test_equal_edits_count_once() -> None:
    def act(messages: MessageList) -> None:
        part(messages, "a").text = "mail eve@a.test now"
        message = messages.get("b")
        assert message is not None
        message.parts.append(TextPart("!"))
        messages.remove_by_ids(["r"])
        messages.add_system("more")

    base = forked(act, act)
    assert [m.text for m in base.all] == ["mail eve@a.test now", "two!"]
    assert base.system == (SystemMessage("sys"), SystemMessage("more"))


def test_overlapping_redactions_become_one() -> None:
    base = forked(
        lambda m: part(m, "a").edit(5, 15, "[EMAIL]", redact=True),
        lambda m: part(m, "a").edit(0, 8, "[NAME]", redact=True),
    )
    assert part(base, "a").text == "[EMAIL] now"


def test_additions_come_in_list_order_after_what_they_followed() -> None:
    def first(messages: MessageList) -> None:
        messages.add(Message("x1", id="x1"))
        messages.reconcile(messages.all, [Message("x0", id="x0"), *messages.all])
        messages.add_system("sx")

    def second(messages: MessageList) -> None:
        messages.add(Message("y1", id="y1"))
        messages.add_system("sy")

    base = forked(first, second)
    assert [m.id for m in base.all] == ["x0", "a", "b", "r", "x1", "y1"]
    assert [s.text for s in base.system] == ["sys", "sx", "sy"]


def test_one_branch_may_reorder() -> None:
    base = forked(lambda m: m.reconcile(m.all, [m.all[2], m.all[0], m.all[1]]), lambda m: part(m, "b").edit(0, 3, "2"))
    assert [m.id for m in base.all] == ["r", "a", "b"]
    assert part(base, "b").text == "2"


def test_a_replaced_message_is_merged_by_what_differs() -> None:
    def replaced(messages: MessageList) -> None:
        message = messages.get("a")
        assert message is not None
        text = message.text.replace("mail", "write")
        messages.reconcile(messages.all, [message.replace(parts=[TextPart(text)]), *messages.all[1:]])

    base = forked(replaced, lambda m: part(m, "a").edit(16, 19, "later"))
    assert part(base, "a").text == "write bob@a.test later"


def test_an_edit_of_a_message_that_the_same_branch_removes_is_none() -> None:
    def act(messages: MessageList) -> None:
        part(messages, "b").text = "x"
        messages.remove_by_ids(["b"])

    assert [m.id for m in forked(act, lambda m: m.remove_by_ids(["b"])).all] == ["a", "r"]


CONFLICTS: list[tuple[Callable[[MessageList], object], Callable[[MessageList], object]]] = [
    (lambda m: part(m, "a").edit(0, 4, "x"), lambda m: part(m, "a").edit(2, 6, "y")),
    (lambda m: part(m, "a").edit(5, 15, "[EMAIL]", redact=True), lambda m: setattr(part(m, "a"), "text", "gone")),
    (lambda m: part(m, "a").edit(4, 4, "x"), lambda m: part(m, "a").edit(4, 4, "y")),
    (lambda m: m.remove_by_ids(["b"]), lambda m: part(m, "b").edit(0, 1, "x")),
    (lambda m: m.get("b").parts.append(TextPart("x")), lambda m: m.get("b").parts.append(TextPart("y"))),  # pyright: ignore[reportOptionalMemberAccess]
    (lambda m: m.get("b").parts.append(TextPart("x")), lambda m: part(m, "b").edit(0, 1, "x")),  # pyright: ignore[reportOptionalMemberAccess]
    (lambda m: part(m, "r").args.update(n=2), lambda m: part(m, "r").args.update(n=3)),
    (lambda m: m.get("r").metadata.update(k=2), lambda m: m.get("r").metadata.update(k=3)),  # pyright: ignore[reportOptionalMemberAccess]
    (lambda m: m.replace_system(["x"]), lambda m: m.replace_system(["y"])),
    (lambda m: m.add(Message("x", id="n")), lambda m: m.add(Message("y", id="n"))),
    (lambda m: m.reconcile(m.all, m.all[::-1]), lambda m: m.reconcile(m.all, [m.all[1], m.all[0], m.all[2]])),
]


@pytest.mark.parametrize("acts", CONFLICTS, ids=range(len(CONFLICTS)))
def test_a_conflict_names_both_branches_and_changes_nothing(acts: Any) -> None:
    base = conversation()
    before = state(base)
    forks = [("first", base.fork()), ("idle", base.fork()), ("last", base.fork())]
    acts[0](forks[0][1])
    acts[1](forks[2][1])
    part(forks[1][1], "r").args["q"] = "would be merged"
    with pytest.raises(MergeConflict, match="'first' and 'last'") as caught:
        merge_forks(base, forks)
    assert caught.value.keys == ("first", "last")
    assert state(base) == before


@pytest.mark.parametrize("acts", CONFLICTS, ids=range(len(CONFLICTS)))
def test_a_preferred_branch_wins(acts: Any) -> None:
    """And the other edits still come in."""
    alone = forked(nothing, acts[1], lambda m: part(m, "r").args.update(q="other"))
    both = forked(acts[0], acts[1], lambda m: part(m, "r").args.update(q="other"), prefer="y")
    assert [m.text for m in both.all] == [m.text for m in alone.all]
    assert [m.metadata for m in both.all] == [m.metadata for m in alone.all]
    assert both.system == alone.system
    assert part(both, "r").args == part(alone, "r").args


def test_edits_are_booked_to_who_made_them_in_list_order() -> None:
    def act(name: str, span: tuple[int, int]) -> Callable[[MessageList], None]:
        def run(messages: MessageList) -> None:
            messages.acting = name
            part(messages, "a").edit(*span, "x")

        return run

    base = forked(act("p", (0, 1)), act("q", (10, 12)))
    mark = base.mark()
    assert base.take_edits() == [
        ListEdit("p", "edit", "a", 0, 0, 1, 1, "text"),
        ListEdit("q", "edit", "a", 0, 10, 12, 1, "text"),
    ]
    assert base.mark() == mark


def test_a_merge_can_be_undone() -> None:
    base = conversation()
    before = state(base)
    snapshot = base.snapshot()
    forks = [("x", base.fork()), ("y", base.fork())]
    part(forks[0][1], "a").edit(0, 4, "x")
    forks[1][1].remove_by_ids(["b"])
    forks[1][1].add("new")
    part(forks[1][1], "r").args["q"] = "y"
    merge_forks(base, forks)
    assert [m.id for m in base.all][:2] == ["a", "r"]
    base.restore(snapshot)
    assert state(base) == before


def test_a_merge_is_seen_by_the_next_prompt() -> None:
    base = conversation()
    base.to_prompt()
    forks = [("x", base.fork())]
    part(forks[0][1], "a").edit(0, 4, "write")
    merge_forks(base, forks)
    assert base.to_prompt().messages[1].text == "write bob@a.test now"


def test_forks_of_forks_merge_inside_out() -> None:
    """An inner merge keeps spans exact, so that the outer one can unite redactions."""
    base = conversation()
    outer = [("x", base.fork()), ("y", base.fork())]
    inner = [("p", outer[0][1].fork()), ("q", outer[0][1].fork())]
    part(inner[0][1], "a").edit(5, 8, "[NAME]", redact=True)
    part(inner[1][1], "a").edit(9, 15, "[HOST]", redact=True)
    inner[1][1].add(Message("inner", id="i"))
    before = state(base)
    merge_forks(outer[0][1], inner)
    assert part(outer[0][1], "a").text == "mail [NAME]@[HOST] now"
    assert state(base) == before
    part(outer[1][1], "a").edit(5, 15, "[EMAIL]", redact=True)
    merge_forks(base, outer)
    assert [m.text for m in base.all] == ["mail [NAME] now", "two", "", "inner"]


def test_what_a_fork_did_before_forks_of_its_own_came_back_is_kept() -> None:
    base = conversation()
    outer = base.fork()
    part(outer, "a").text = "first"
    inner = outer.fork()
    part(inner, "b").text = "second"
    merge_forks(outer, [("i", inner)])
    merge_forks(base, [("o", outer), ("n", base.fork())])
    assert [m.text for m in base.all][:2] == ["first", "second"]


def test_a_fork_knows_what_a_fork_of_it_has_redacted() -> None:
    """Also where that one has added a part, so that its parts are matched one by one."""
    outer = conversation().fork()
    inner = outer.fork()
    message = inner.get("a")
    assert message is not None
    message.parts.append(TextPart("!"))
    part(inner, "a").edit(5, 15, "[EMAIL]", redact=True)
    merge_forks(outer, [("i", inner)])
    assert [part(outer, "a", index).text for index in range(2)] == ["mail [EMAIL] now", "!"]
    assert part(outer, "a").hunks() == (Hunk(5, 15, "[EMAIL]", redact=True),)


def test_a_part_is_known_again_when_it_comes_back_over_two_forks() -> None:
    """Though the innermost fork has added one beside it: what another fork redacted in it stays redacted."""
    base = conversation()
    outer, other = base.fork(), base.fork()
    inner = outer.fork()
    message = inner.get("a")
    assert message is not None
    message.parts.append(TextPart("!"))
    merge_forks(outer, [("i", inner)])
    part(other, "a").edit(5, 15, "[EMAIL]", redact=True)
    merge_forks(base, [("x", outer), ("y", other)], prefer="x")
    assert [part(base, "a", index).text for index in range(2)] == ["mail [EMAIL] now", "!"]


def test_a_list_that_is_no_fork_is_refused() -> None:
    base = conversation()
    with pytest.raises(MessageError, match="branch 'x' is no fork"):
        merge_forks(base, [("x", MessageList("a"))])
    with pytest.raises(MessageError, match="branch 'x' is no fork"):
        merge_forks(base, [("x", conversation().fork())])


def test_a_fork_that_is_not_merged_keeps_what_it_saw() -> None:
    base = conversation()
    late, fork = base.fork(), base.fork()
    part(fork, "a").text = "changed"
    merge_forks(base, [("x", fork)])
    assert [ref() for ref in base._forks] == [late]
    assert [m.text for m in late.all] == ["mail bob@a.test now", "two", ""]
