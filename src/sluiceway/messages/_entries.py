"""The inside of a message list: what is in it, and how changes are noticed."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

import weakref
from collections.abc import Mapping

from sluiceway.errors import MessageError
from sluiceway.messages._journal import EditAction, Journal, ListEdit
from sluiceway.messages._message import Message, SystemMessage
from sluiceway.messages._order import insert_remembered
from sluiceway.messages._part import Part
from sluiceway.messages._text import TextPart
from sluiceway.messages._tool import ToolPart

__all__ = ["Entries"]


class Entries:
    """Messages by id, in order, and the bookkeeping of their changes.

    A message that is *armed* tells `touch` before it hands out anything that can be changed.
    Then it is kept in the journal of the newest snapshot, copied into forks that still read
    it, and looked at again by `_collect`, which notes what was changed in place. So the cost
    follows what is touched, not what is there.
    """

    __slots__ = (
        "__weakref__",
        "_acting",
        "_changed_ids",
        "_count",
        "_edits",
        "_ever",
        "_forks",
        "_items",
        "_journal",
        "_origin",
        "_origin_ref",
        "_origin_system",
        "_ref",
        "_remembered",
        "_reordered",
        "_shelled",
        "_system",
        "_touched",
        "_views",
    )

    def __init__(self) -> None:
        self._items: dict[str, Message] = {}
        self._system: tuple[SystemMessage, ...] = ()
        self._views: dict[str, tuple[Message, ...]] = {}
        self._remembered: list[str] = []
        self._touched: dict[Message, None] = {}
        self._ever: dict[Message, None] = {}
        self._edits: list[ListEdit] = []
        self._count: int = 0
        self._changed_ids: set[str] = set()
        self._reordered = False
        self._acting: str | None = None
        self._journal: Journal | None = None
        self._forks: list[weakref.ref[Entries]] = []
        self._origin: Mapping[str, Message] | None = None
        self._origin_ref: weakref.ref[Entries] | None = None
        self._origin_system: tuple[SystemMessage, ...] = ()
        self._shelled = True
        self._ref: weakref.ref[Entries] = weakref.ref(self)

    def touch(self, message: Message) -> None:
        """Keep what a message is, before it may be changed."""
        message._armed = False
        message._cache = None
        parts = message._parts
        if parts is None:
            parts = message._own_parts()
        if self._journal is not None:
            self._journal.keep(message)
        if self._forks:
            self._tell_forks(message)
        message._seen = parts.copy()
        self._touched[message] = None
        self._ever[message] = None

    def _collect(self) -> None:
        """Note what was changed in place since messages were given out."""
        touched, self._touched = self._touched, {}
        for message in touched:
            message._armed = True
            parts = message._parts or []
            if parts != (message._seen or []):
                self._note_parts(message)
            for i, part in enumerate(parts):
                if type(part) is not TextPart or part._meta is not None:
                    part._sync()
                if part._log is not None:
                    self._note_log(message, i, part)
            for part in message._attachments:
                part._sync()
                if part._log is not None:
                    self._note_log(message, None, part)
            if message._metadata.sync():
                self._note("edit", message._id, what="metadata")
            if message._meta is not None and message._meta.sync():
                self._note("edit", message._id, what="provider_metadata")

    def _note_parts(self, message: Message) -> None:
        before, now = message._seen or [], message._parts or []
        gone = set(map(id, before)).difference(map(id, now))
        new = set(map(id, now)).difference(map(id, before))
        for i, part in enumerate(before):
            if id(part) in gone:
                self._note("remove", message._id, i)
        for i, part in enumerate(now):
            if id(part) in new:
                part._held = True
                part._log = None
                self._note("add", message._id, i)
        if not gone and not new:
            self._note("order", message._id)

    def _note_log(self, message: Message, index: int | None, part: Part) -> None:
        log, part._log = part._log, None
        for what, start, end, length in log or ():
            self._note("edit", message._id, index, (start, end, length), what)

    def _note(
        self,
        action: EditAction,
        message_id: str | None = None,
        part: int | None = None,
        span: tuple[int, int, int] = (0, 0, 0),
        what: str = "",
    ) -> None:
        self._count += 1
        if message_id is not None:
            self._changed_ids.add(message_id)
        elif action == "order":
            self._reordered = True
        self._edits.append(ListEdit(self._acting, action, message_id, part, *span, what))

    def _changed(self, action: EditAction, message_id: str | None) -> None:
        """Note a change of what is in the list, or of its order."""
        if self._views:
            self._views.clear()
        self._note(action, message_id)

    def _put(self, message: Message, source: str, *, place: bool = True) -> Message:
        """Put a message in: at the end, in its place by time, or in that of the one with its id."""
        old = self._items.get(message._id)
        if old is not None and not self._shelled:
            self._make_shells()
            old = self._items[message._id]
        if old is message:
            if message._source != source:
                self.touch(message)
                message._source = source
                self._changed("replace", message._id)
            return message
        message = self._adopt(message, source)
        if old is not None:
            if self._journal is not None or self._forks:
                self.touch(old)
            self._items[message._id] = message
            self._changed("replace", message._id)
            return message
        if place and source == "memory" and not self._fits_last(message):
            self._remembered.append(message._id)
        self._items[message._id] = message
        self._changed("add", message._id)
        return message

    def _adopt(self, message: Message, source: str) -> Message:
        """Make the message this list's own: itself, or a copy if another list holds it."""
        keeper = None if message._keeper is None else message._keeper()
        if keeper is not None and keeper is not self:
            message = message.copy()
        message._keeper = self._ref
        message._armed = True
        message._source = source
        return message

    def _fits_last(self, message: Message) -> bool:
        if not self._items or self._remembered:
            return not self._items
        last = self._items[next(reversed(self._items))]
        return last._source == "memory" and last._created_at <= message._created_at

    def _settle(self) -> None:
        """Put remembered messages where they belong."""
        if self._remembered:
            self._items = insert_remembered(self._items, self._remembered)
            self._remembered = []
            self._views.clear()

    def _view(self, name: str) -> tuple[Message, ...]:
        self._settle()
        if not self._shelled:
            self._make_shells()
        items = self._items.values()
        view = tuple(items) if name == "all" else tuple([m for m in items if m._source == name])
        self._views[name] = view
        return view

    def _at(self, message_id: str) -> Message:
        """Return the message with this id.

        Raises:
            MessageError: There is none.
        """
        if message_id not in self._items:
            raise MessageError(f"There is no message with the id {message_id!r} in the list.")
        if not self._shelled:
            self._make_shells()
        return self._items[message_id]

    def _call(self, tool_call_id: str) -> tuple[Message, int, ToolPart]:
        found = self._find_call(tool_call_id)
        if found is None:
            raise MessageError(f"There is no tool call with the id {tool_call_id!r} in the list.")
        message = self._at(found[0]._id)
        part = message.parts[found[1]]
        assert isinstance(part, ToolPart)
        return message, found[1], part

    def _find_call(self, tool_call_id: str) -> tuple[Message, int] | None:
        """Find the newest call with this id; one without a result before one that has it."""
        answered: tuple[Message, int] | None = None
        for message in reversed(self._items.values()):
            if message._role != "assistant":
                continue
            parts = message._peek()
            for i in range(len(parts) - 1, -1, -1):
                part = parts[i]
                if type(part) is ToolPart and part._tool_call_id == tool_call_id:
                    if part._state_name == "call":
                        return message, i
                    answered = answered or (message, i)
            if answered is not None:
                return answered
        return answered

    # forks

    def _make_shells(self) -> None:
        ref = self._ref
        items: dict[str, Message] = {}
        for id_, base in self._items.items():
            shell = base._shell()
            shell._keeper = ref
            shell._armed = True
            items[id_] = shell
        self._items = items
        self._shelled = True

    def _tell_forks(self, message: Message) -> None:
        for ref in self._forks:
            fork = ref()
            if fork is not None:
                fork._base_changes(message)

    def _base_changes(self, base: Message) -> None:
        """Copy what this fork still reads of a message that is about to change."""
        if self._origin is None or self._origin.get(base._id) is not base:
            return
        if not self._shelled:
            self._make_shells()
        shell = self._items.get(base._id)
        if shell is not None and shell._base is base and shell._parts is None:
            shell._own_parts()
