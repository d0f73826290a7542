"""`MessageList`: where the conversation of a run lives."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sluiceway._types import MISSING, Missing
from sluiceway.errors import MessageError
from sluiceway.messages._entries import Entries
from sluiceway.messages._escape import SIGNAL_TAG, check_signal
from sluiceway.messages._journal import Journal, ListEdit, Snapshot
from sluiceway.messages._message import Message, SystemMessage
from sluiceway.messages._openai import openai_messages
from sluiceway.messages._order import reordered
from sluiceway.messages._parse import parse_input
from sluiceway.messages._parts import StepStartPart
from sluiceway.messages._prompt import Prompt
from sluiceway.messages._to_prompt import ToModelOutput, build_prompt
from sluiceway.messages._tool import ToolPart
from sluiceway.messages._ui import ui_message

__all__ = ["SOURCES", "MessageList"]

SOURCES: Final = frozenset({"memory", "input", "response", "context"})

_Given: TypeAlias = "str | Mapping[str, Any] | Message | Sequence[str | Mapping[str, Any] | Message]"


class MessageList(Entries):
    """The messages of a run, in conversation order, each with the source it came from.

    Every change is noted, and can be undone down to the newest `snapshot`. Not for use by
    several tasks at once: give each a `fork`.

    Args:
        messages: What it begins with, of source `input`; a str, a chat dict, a message or
            a list of these.
        system: System messages.

    Raises:
        MessageError: A message that nothing can be made of.
    """

    __slots__ = ("output_phase",)

    def __init__(self, messages: _Given = (), system: Iterable[SystemMessage | str] = ()) -> None:
        super().__init__()
        self._system = _system_messages(system)
        self.output_phase = False
        """Whether an output hook runs, in which an added assistant message is a response."""
        if messages:
            self.add(messages, "input")
            self._edits.clear()

    # views

    @property
    def all(self) -> tuple[Message, ...]:
        """All messages, in conversation order."""
        view = self._views.get("all")
        return self._view("all") if view is None else view

    @property
    def input(self) -> tuple[Message, ...]:
        """What came in with the call, and what processors added to it."""
        view = self._views.get("input")
        return self._view("input") if view is None else view

    @property
    def response(self) -> tuple[Message, ...]:
        """This run's reply."""
        view = self._views.get("response")
        return self._view("response") if view is None else view

    @property
    def remembered(self) -> tuple[Message, ...]:
        """What came from memory."""
        view = self._views.get("memory")
        return self._view("memory") if view is None else view

    @property
    def context(self) -> tuple[Message, ...]:
        """What is in prompts but never saved."""
        view = self._views.get("context")
        return self._view("context") if view is None else view

    @property
    def system(self) -> tuple[SystemMessage, ...]:
        """The system messages, apart from the conversation."""
        return self._system

    def __len__(self) -> int:
        return len(self._items)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, message: object) -> bool:
        return (message._id if isinstance(message, Message) else message) in self._items

    def get(self, id: str) -> Message | None:  # noqa: A002 - the field's own name
        """Return the message with this id, or None."""
        found = self._items.get(id)
        if found is None or self._shelled:
            return found
        self._make_shells()
        return self._items[id]

    def source_of(self, id: str) -> str:  # noqa: A002 - the field's own name
        """Return the source of a message.

        Raises:
            MessageError: There is no such message.
        """
        return self._at(id)._source

    @property
    def is_fork(self) -> bool:
        """Whether this is a branch's copy, whose edits come back only by a merge."""
        return self._origin is not None

    def has_input(self) -> bool:
        """Say whether any message of source input or context is left, signals aside."""
        return any(m._source in ("input", "context") and m._role != "signal" for m in self._items.values())

    # edits

    def add(self, message: _Given, source: str | None = None) -> Message | None:
        """Append messages; one whose id is there already takes that one's place.

        Remembered ones go before the rest, by the time they were made.

        Args:
            message: A str, a chat dict, a message, or a list of these. System messages among
                them join `system`, tool results the call they answer.
            source: Where they come from; None: `response` for an assistant message in an
                output hook, else `input`.

        Returns:
            The last message added, as it stands in the list.

        Raises:
            MessageError: A message that nothing can be made of, or an unknown source.
        """
        if source is not None and source not in SOURCES:
            raise MessageError(f"The source of a message is one of {sorted(SOURCES)}, not {source!r}.")
        if isinstance(message, Message):
            added = self._put(message, source or self._default_source(message))
            if source != "memory":
                self._watch(added)
            return added
        parsed = parse_input(message, copy=False)
        for system in parsed.system:
            self.add_system(system.text, system.tag)
        last: Message | None = None
        for item in parsed.messages:
            last = self._put(item, source or self._default_source(item))
        for call_id, content in parsed.tool_results:
            self.update_tool_result(call_id, content)
        return last

    def replace(self, message: Message | str, new: Message | Mapping[str, Any] | str) -> Message:
        """Put another message in the place of one, whose source it takes over.

        Raises:
            MessageError: There is no such message.
        """
        old = self._at(message._id if isinstance(message, Message) else message)
        fresh = self._adopt(new if isinstance(new, Message) else Message(new), old._source)
        if fresh is old:
            return old
        self.touch(old)
        if fresh._id == old._id:
            self._items[old._id] = fresh
        else:
            if fresh._id in self._items:
                del self._items[fresh._id]
            self._items = {m._id: m for m in (fresh if m is old else m for m in self._items.values())}
        self._watch(fresh)
        self._changed("replace", fresh._id)
        return fresh

    def remove_by_ids(self, ids: Iterable[str]) -> int:
        """Remove the messages with these ids, and return how many there were."""
        self._settle()
        if not self._shelled:
            self._make_shells()
        count = 0
        for id_ in [ids] if isinstance(ids, str) else ids:
            message = self._items.get(id_)
            if message is None:
                continue
            self.touch(message)
            del self._items[id_]
            count += 1
            self._changed("remove", id_)
        return count

    def add_system(self, text: str, tag: str | None = None) -> SystemMessage:
        """Append a system message; its `tag` tells processors what it is for, as `retry-feedback` does."""
        message = SystemMessage(text, tag)
        self._system = (*self._system, message)
        self._note("system")
        return message

    def replace_system(self, messages: Iterable[SystemMessage | str]) -> None:
        """Take these system messages in place of all."""
        new = _system_messages(messages)
        if new != self._system:
            self._system = new
            self._note("system")

    def update_tool_result(self, tool_call_id: str, result: Any) -> None:
        """Replace the result of a call, or give it one.

        Raises:
            MessageError: There is no such call.
        """
        self.set_tool_result(tool_call_id, result)

    def set_tool_result(self, tool_call_id: str, result: Any, model_output: Any | Missing = MISSING) -> None:
        """Give a call its result.

        Args:
            tool_call_id: The call; the newest, where several have this id.
            result: What the tool returned.
            model_output: What the model sees in its place.

        Raises:
            MessageError: There is no such call.
        """
        message, index, part = self._call(tool_call_id)
        part.set_result(result, model_output)
        self._note("tool-result", message._id, index, what="result")

    def set_tool_error(self, tool_call_id: str, text: str) -> None:
        """Give a call the text of the error that it ended in.

        Raises:
            MessageError: There is no such call.
        """
        message, index, part = self._call(tool_call_id)
        part.set_error(text)
        self._note("tool-result", message._id, index, what="error")

    def has_call(self, tool_call_id: str) -> bool:
        """Say whether any message holds a call with this id."""
        return self._find_call(tool_call_id) is not None

    def find_call(self, tool_call_id: str) -> ToolPart | None:
        """Return the newest call with this id, which may be changed in place; None if there is none."""
        return self._call(tool_call_id)[2] if self.has_call(tool_call_id) else None

    def add_signal(
        self,
        contents: str,
        attributes: Mapping[str, Any] | None = None,
        tag_name: str = SIGNAL_TAG,
        transient: bool = False,
    ) -> Message:
        """Append a signal: a note to the model that nobody but this program can write.

        Args:
            contents: Its text.
            attributes: Shown on its tag.
            tag_name: The tag.
            transient: Whether it is left out of what is saved.

        Raises:
            MessageError: A name that cannot stand in markup.
        """
        check_signal(tag_name, attributes)
        signal: dict[str, Any] = {
            "tag_name": tag_name,
            "attributes": dict(attributes or {}),
            "transient": transient,
        }
        newest = next((m for m in reversed(self.all) if m._role != "signal"), None)
        if newest is not None and newest._source == "response":
            signal["after_step"] = _steps_begun(newest)
        message = Message(contents, role="signal", metadata={"signal": signal})
        return self._put(message, "input")

    def reconcile(
        self,
        phase: Sequence[Message],
        returned: Iterable[Message | Mapping[str, Any] | str],
        *,
        output: bool = False,
        keep: Collection[str] = (),
    ) -> None:
        """Make the list agree with what a hook returned for the messages it was given.

        What is missing is removed, what changed is replaced, sources stay, and the returned
        order holds in the places that these messages had. A message returned as it was given
        says nothing: what the hook did to it or to the list by other means stands.

        Args:
            phase: What the hook was given.
            returned: What it returned.
            output: Whether a new assistant message is a response.
            keep: Ids that stay though missing: what the hook itself added.

        Raises:
            MessageError: A returned message that nothing can be made of.
        """
        given = returned if isinstance(returned, list | tuple) else list(returned)
        if len(given) == len(phase) and all(map(_is, given, phase)):
            return
        self._settle()
        known = {m._id: m for m in phase}
        order: list[str] = []
        for item in given:
            message = item if isinstance(item, Message) else Message(item)
            order.append(message._id)
            if message is known.get(message._id):
                continue
            current = self._items.get(message._id)
            if current is not None:
                if current is not message and not current.same_as(message):
                    self.replace(message._id, message)
            else:
                source = known[message._id]._source if message._id in known else None
                source = source or ("response" if output and message._role == "assistant" else "input")
                self._watch(self._put(message, source, place=False))
        wanted = set(order)
        self.remove_by_ids([i for i in known if i in self._items and i not in wanted and i not in keep])
        items = reordered(self._items, phase, order)
        if items is not None:
            self._items = items
            self._changed("order", None)

    # who does what

    @property
    def acting(self) -> str | None:
        """The id of the processor that edits are booked to."""
        return self._acting

    @acting.setter
    def acting(self, processor_id: str | None) -> None:
        if self._touched:
            self._collect()
        self._acting = processor_id

    def take_edits(self) -> list[ListEdit]:
        """Return the edits since they were last taken, in order."""
        if self._touched:
            self._collect()
        edits, self._edits = self._edits, []
        return edits

    def mark(self) -> int:
        """Return a mark for `edits_since`; a later one differs if anything was edited."""
        if self._touched:
            self._collect()
        return self._count

    def edits_since(self, mark: int) -> list[ListEdit]:
        """Return the edits since the mark was made, in order, as far as nobody has taken them."""
        count = self.mark() - mark
        return self._edits[max(len(self._edits) - count, 0) :] if count else []

    # going back, and going apart

    def snapshot(self) -> Snapshot:
        """Return the list as it is now, for `restore`. Costs what was touched, not what is there."""
        self._settle()
        if self._touched:
            self._collect()
        if not self._shelled:
            self._make_shells()
        self._journal = journal = Journal()
        items = self._items
        self._ever = ever = {m: None for m in self._ever if items.get(m._id) is m}
        for message in ever:  # what was given out once may still be held, and changed, by somebody
            journal.saved[message] = message._save()
        return Snapshot(self._items.copy(), self._system, journal)

    def restore(self, snapshot: Snapshot) -> None:
        """Undo everything since the snapshot; messages and parts stay the same objects.

        Raises:
            MessageError: It is not the newest snapshot of this list.
        """
        if snapshot.journal is not self._journal:
            raise MessageError("Only the newest snapshot of a message list can be restored.")
        if self._touched:
            self._collect()
        self._items = dict(snapshot.items)
        self._system = snapshot.system
        self._count += 1
        self._remembered.clear()
        self._views.clear()
        for message, saved in snapshot.journal.saved.items():
            message._load(saved)

    def fork(self) -> MessageList:
        """Return an isolated copy: what is done to it is not seen here, and the other way round.

        Messages are copied when the copy first takes their parts.
        """
        self._settle()
        if self._touched:
            self._collect()
        if self._origin is not None and not self._shelled:
            self._make_shells()  # a fork of a fork reads this one, not what this one reads
        new = MessageList.__new__(MessageList)
        Entries.__init__(new)
        new._items = self._items.copy()
        new._origin = self._items.copy()
        new._origin_ref = self._ref
        new._shelled = not new._items
        new._system = new._origin_system = self._system
        new.output_phase = self.output_phase
        self._forks = [ref for ref in self._forks if ref() is not None]
        self._forks.append(new._ref)
        return new

    # formats

    def to_prompt(
        self,
        tools: Mapping[str, ToModelOutput] | None = None,
        extra_system: Iterable[SystemMessage | str] = (),
    ) -> Prompt:
        """Return what a provider is to receive.

        Args:
            tools: By tool name, what turns a result into what the model sees; a None that it
                returns means the result itself.
            extra_system: Further system messages, after those of the list.
        """
        self._settle()
        system = self._system
        if extra_system:
            system = (*system, *_system_messages(extra_system))
        return build_prompt(self._items.values(), system, tools)

    def to_ui(self, include_signals: bool = False) -> list[dict[str, Any]]:
        """Return AI-SDK UI messages; with `include_signals` reminders to the model are among them."""
        return [ui_message(m) for m in self.all if include_signals or m._role != "signal"]

    def to_openai(self) -> list[dict[str, Any]]:
        """Return the messages as the OpenAI chat API takes them."""
        return openai_messages(self.to_prompt())

    def _default_source(self, message: Message) -> str:
        return "response" if self.output_phase and message._role == "assistant" else "input"

    def _insert(self, message: Message, source: str) -> None:
        """Put in a message that the library itself goes on building: no edit of anybody."""
        self._put(message, source)
        self._edits.pop()
        self._keep(message)

    def _keep(self, message: Message) -> None:
        """Save a message before the library itself adds to it."""
        if message._parts is None:
            message._own_parts()
        if self._journal is not None:
            self._journal.keep(message)
        if self._forks:
            self._tell_forks(message)
        message._cache = None
        self._watch(message)

    def _watch(self, message: Message) -> None:
        """Trust a message no more: whoever made it may hold its parts, and change them unseen."""
        message._seen = message._seen or []
        self._ever[message] = None

    def __repr__(self) -> str:
        return f"<MessageList of {len(self._items)} messages, {len(self._system)} system>"


def _is(one: object, other: object) -> bool:
    return one is other


def _system_messages(given: Iterable[SystemMessage | str]) -> tuple[SystemMessage, ...]:
    items = [given] if isinstance(given, str | SystemMessage) else given
    return tuple([SystemMessage(item) if isinstance(item, str) else item for item in items])


def _steps_begun(message: Message) -> int:
    """Return the number of the newest step of a reply that has any part."""
    parts = message._peek()
    count = sum(type(part) is StepStartPart for part in parts)
    return count - 1 if parts and type(parts[-1]) is StepStartPart else count
