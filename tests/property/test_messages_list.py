"""Laws of message lists: snapshots, forks, merges, what hooks return."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sluiceway.errors import MergeConflict
from sluiceway.messages import (
    Message,
    MessageList,
    ReasoningPart,
    Snapshot,
    StepStartPart,
    TextPart,
    ToolPart,
    merge_forks,
)

words = st.text("abc <&", max_size=6)
ids = st.sampled_from("pqrst")


def state(messages: MessageList) -> Any:
    return (
        [(m.to_dict(), messages.source_of(m.id)) for m in messages.all],
        messages.system,
        [[m.id for m in view] for view in (messages.input, messages.response, messages.remembered)],
    )


def build(draw: st.DrawFn) -> MessageList:
    messages = MessageList(system=["sys"])
    for id_ in draw(st.lists(ids, unique=True)):
        source = draw(st.sampled_from(["input", "response", "memory", "context"]))
        parts = [
            TextPart(draw(words)),
            ToolPart("t", f"call-{id_}", {"q": [draw(words)]}),
            ReasoningPart(draw(words)),
            StepStartPart(),
        ]
        messages.add(
            Message(role="assistant", id=id_, parts=parts[: draw(st.integers(1, 4))], metadata={"k": [1]}), source
        )
    return messages


class Edits:
    """Random edits of a list, of all kinds."""

    fresh = itertools.count()

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw

    def once(self, messages: MessageList) -> None:
        act = self.draw(st.sampled_from([n for n in dir(self) if n.startswith("do_")]))
        getattr(self, act)(messages)

    def one(self, messages: MessageList) -> Message | None:
        return self.draw(st.sampled_from(messages.all)) if messages.all else None

    def text(self, messages: MessageList) -> TextPart | None:
        message = self.one(messages)
        return next((p for p in message.parts if isinstance(p, TextPart)), None) if message else None

    def do_edit(self, messages: MessageList) -> None:
        if part := self.text(messages):
            start, end = sorted(self.draw(st.tuples(*[st.integers(0, len(part.text))] * 2)))
            part.edit(start, end, self.draw(words), self.draw(st.booleans()))

    def do_assign(self, messages: MessageList) -> None:
        if part := self.text(messages):
            part.text = self.draw(words)

    def do_args(self, messages: MessageList) -> None:
        message = self.one(messages)
        for part in message.parts if message else ():
            if isinstance(part, ToolPart):
                part.args["q"].append(self.draw(words))

    def do_metadata(self, messages: MessageList) -> None:
        if message := self.one(messages):
            message.metadata.setdefault("k", []).append(self.draw(words))

    def do_parts(self, messages: MessageList) -> None:
        if message := self.one(messages):
            if len(message.parts) > 1 and self.draw(st.booleans()):
                message.parts.pop()
            else:
                message.parts.append(TextPart(self.draw(words)))

    def do_add(self, messages: MessageList) -> None:
        message = Message(self.draw(words), id=f"new-{next(self.fresh)}")
        messages.add(message, self.draw(st.sampled_from(["input", "memory", None])))

    def do_add_again(self, messages: MessageList) -> None:
        if message := self.one(messages):
            messages.add(Message(self.draw(words), id=message.id), self.draw(st.sampled_from(["input", "response"])))

    def do_remove(self, messages: MessageList) -> None:
        if message := self.one(messages):
            messages.remove_by_ids([message.id])

    def do_replace(self, messages: MessageList) -> None:
        if message := self.one(messages):
            messages.replace(message, message.replace(parts=message.parts[:1]))

    def do_result(self, messages: MessageList) -> None:
        message = self.one(messages)
        for part in message.parts if message else ():
            if isinstance(part, ToolPart):
                messages.update_tool_result(part.tool_call_id, {"n": [self.draw(words)]})

    def do_signal(self, messages: MessageList) -> None:
        messages.add_signal(self.draw(words))

    def do_system(self, messages: MessageList) -> None:
        messages.add_system(self.draw(words))

    def do_return(self, messages: MessageList) -> None:
        messages.reconcile(messages.all, self.draw(st.permutations(messages.all)))

    def do_look(self, messages: MessageList) -> None:
        _ = [(m.parts, m.metadata, m.text) for m in messages.all], messages.to_prompt()


@given(st.data())
def test_a_fork_and_its_base_never_see_each_others_edits(data: st.DataObject) -> None:
    base = data.draw(st.composite(build)())
    edits = Edits(data.draw)
    for _ in range(data.draw(st.integers(0, 2))):
        edits.once(base)
    forks = [base.fork(), base.fork()]
    forks.append(forks[0].fork())
    lists = [base, *forks]
    for _ in range(data.draw(st.integers(1, 6))):
        mine = data.draw(st.integers(0, 3))
        before = [state(messages) for messages in lists]
        edits.once(lists[mine])
        after = [state(messages) for messages in lists]
        assert before[:mine] + before[mine + 1 :] == after[:mine] + after[mine + 1 :]


@given(st.data())
def test_a_merge_of_one_fork_is_that_fork(data: st.DataObject) -> None:
    base = data.draw(st.composite(build)())
    forks = [(key, base.fork()) for key in "xyz"]
    edits = Edits(data.draw)
    for _ in range(data.draw(st.integers(0, 6))):
        edits.once(forks[1][1])
    edits.do_look(forks[2][1])
    expected = state(forks[1][1])
    merge_forks(base, forks)
    assert state(base) == expected


@given(st.data())
def test_a_merge_keeps_everything_or_changes_nothing(data: st.DataObject) -> None:
    """And its outcome does not depend on which branch was edited first."""
    first = data.draw(st.composite(build)())
    second = MessageList(system=first.system)
    for message in first.all:
        second.add(message.copy(), first.source_of(message.id))
    pair: list[MessageList] = [first, second]
    before = state(first)
    forks = [[(key, base.fork()) for key in "xy"] for base in pair]
    steps = data.draw(st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["a", "b", "c"])), max_size=5))
    for which, word in steps:
        spot(forks[0][which][1], which, word)
    for which, word in sorted(steps, key=lambda step: -step[0]):
        spot(forks[1][which][1], which, word)
    outcomes: list[Any] = []
    for base, made in zip(pair, forks, strict=True):
        try:
            merge_forks(base, made)
            outcomes.append(state(base))
        except MergeConflict as error:
            outcomes.append((error.keys, state(base)))
    assert outcomes[0] == outcomes[1]
    if len(outcomes[0]) == 2:
        assert outcomes[0] == (("x", "y"), before)


def spot(messages: MessageList, which: int, word: str) -> None:
    """One edit that depends on the word and the branch alone."""
    for i, message in enumerate(messages.all):
        if word == "a" and i % 2 == which:
            message.metadata[f"by-{which}"] = word
        elif word == "b":
            text = next((p for p in message.parts if isinstance(p, TextPart)), None)
            if text is not None and text.text:
                at = 0 if which else len(text.text) - 1
                text.edit(at, at + 1, f"<{which}>", redact=True)
        elif word == "c" and i == 3:
            message.parts.append(TextPart("c"))


@given(st.data())
def test_returned_messages_are_what_the_list_then_holds(data: st.DataObject) -> None:
    base = data.draw(st.composite(build)())
    phase = [m for m in base.all if data.draw(st.booleans())]
    others = [m.id for m in base.all if m not in phase]
    returned: list[Any] = []
    for message in data.draw(st.permutations(phase)):
        how = data.draw(st.sampled_from(["same", "copy", "changed", "missing"]))
        if how != "missing":
            changed = message.replace(parts=[TextPart(data.draw(words))])
            returned.append({"same": message, "copy": message.copy(), "changed": changed}[how])
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(returned)))
        returned.insert(at, {"role": "user", "content": "new", "id": "new"})
    sources = {m.id: base.source_of(m.id) for m in base.all}
    base.reconcile(phase, returned)
    wanted = [(m.id, m.text) if isinstance(m, Message) else (m["id"], m["content"]) for m in returned]
    assert [(m.id, m.text) for m in base.all if m.id not in others] == wanted
    assert [m.id for m in base.all if m.id in others] == others
    assert all(base.source_of(m.id) == sources[m.id] for m in base.all if m.id in sources)
    before = state(base)
    base.take_edits()
    base.reconcile(base.all, base.all)
    base.reconcile(base.all, [m.copy() for m in base.all])
    assert state(base) == before
    assert base.take_edits() == []


class Undo(RuleBasedStateMachine):
    """`restore` gives what a deep copy of everything would have kept."""

    def __init__(self) -> None:
        super().__init__()
        self.messages = MessageList()
        self.snapshot: Snapshot | None = None
        self.kept: Any = None
        self.objects: tuple[Message, ...] = ()
        self.held: list[Any] = []

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        self.messages = data.draw(st.composite(build)())

    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        Edits(data.draw).once(self.messages)

    @rule()
    def hold(self) -> None:
        """Somebody keeps what he was given."""
        self.held = [part for message in self.messages.all for part in message.parts]

    @rule(word=words)
    def edit_held(self, word: str) -> None:
        for part in self.held:
            if isinstance(part, TextPart):
                part.text += word

    @rule()
    def take(self) -> None:
        self.snapshot = self.messages.snapshot()
        self.kept = state(self.messages)
        self.objects = self.messages.all

    @precondition(lambda self: self.snapshot is not None)
    @rule()
    def restore(self) -> None:
        assert self.snapshot is not None
        self.messages.restore(self.snapshot)
        assert state(self.messages) == self.kept
        assert self.messages.all == self.objects
        self.held = []

    @invariant()
    def ids_are_unique_and_found(self) -> None:
        everything = self.messages.all
        assert len({m.id for m in everything}) == len(everything) == len(self.messages)
        assert all(self.messages.get(m.id) is m for m in everything)


TestUndo = Undo.TestCase
