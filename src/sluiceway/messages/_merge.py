"""What several forks of a message list did, put together in the list they came from."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from sluiceway.errors import MessageError
from sluiceway.messages._box import same_value
from sluiceway.messages._hunks import Hunk, apply_hunks, diff
from sluiceway.messages._list import MessageList
from sluiceway.messages._message import Message, SystemMessage
from sluiceway.messages._part import Part
from sluiceway.messages._text import TextPart
from sluiceway.messages._threeway import conflict, merge_hunks, merge_value

__all__ = ["merge_forks"]

_Apply: TypeAlias = "Callable[[], None]"
_Edited: TypeAlias = "tuple[str, Message]"
"""The key of a branch, and its version of a message."""

_FIELDS: Final = ("metadata", "provider_metadata", "created_at", "thread_id", "resource_id", "source")


def merge_forks(base: MessageList, forks: Sequence[tuple[str, MessageList]], prefer: str | None = None) -> None:
    """Bring the edits of forks back into the list they were made from.

    Edits of different messages, parts, fields and stretches of text all come in; equal ones
    once. Where branches disagree nothing is changed at all. The outcome depends on the order
    of `forks` alone, never on which branch was done first.

    Args:
        base: The list; it has not changed since it was forked.
        forks: The key of each branch and its fork, in list order.
        prefer: The branch that wins where they disagree; None: that is an error.

    Raises:
        MergeConflict: Two branches changed the same thing differently; names both keys.
        MessageError: One of the lists is no fork of `base`.
    """
    base._settle()
    changed = [_branch(key, fork) for key, fork in forks if _is_changed(base, key, fork)]
    if changed:
        merge = _Merge(base, prefer)
        merge.run(changed, [fork for _, fork in forks])
        merge.finish(changed)


def _is_changed(base: MessageList, key: str, fork: MessageList) -> bool:
    """Say whether a fork differs from what it was made from.

    Raises:
        MessageError: It is no fork of `base`.
    """
    fork._settle()
    if fork._touched:
        fork._collect()
    if fork._origin is None or fork._origin_ref is not base._ref:
        raise MessageError(f"The list of branch {key!r} is no fork of the list it is merged into.")
    return bool(fork._changed_ids) or fork._reordered or fork._system != fork._origin_system


def _branch(key: str, fork: MessageList) -> _Branch:
    return _Branch(key, fork, fork._origin or {}, system_changed=fork._system != fork._origin_system)


@dataclass(slots=True)
class _Branch:
    key: str
    fork: MessageList
    origin: Mapping[str, Message]
    system_changed: bool

    def edited(self, message_id: str) -> Message | None:
        """Return this branch's version of a message, if it changed it."""
        message = self.fork._items.get(message_id)
        if message is None or message_id not in self.fork._changed_ids:
            return None
        return message

    def removed(self, message_id: str) -> bool:
        return message_id not in self.fork._items


class _Merge:
    """One merge: everything is worked out first, then applied."""

    def __init__(self, base: MessageList, prefer: str | None) -> None:
        self._base = base
        self._prefer = prefer
        self._applies: list[_Apply] = []

    def run(self, branches: Sequence[_Branch], merged: Sequence[MessageList]) -> None:
        base = self._base
        if base._touched:
            base._collect()
        if not base._shelled:
            base._make_shells()
        removed = self._removed(branches)
        touched: dict[str, None] = {}
        for branch in branches:
            touched.update(dict.fromkeys(i for i in branch.fork._changed_ids if i in branch.origin))
        for message_id in base._items:
            if message_id in touched and message_id not in removed:
                found = [(b.key, m) for b in branches if (m := b.edited(message_id)) is not None]
                if found:
                    self._message(base._items[message_id], found)
        added = self._added(branches)
        order = self._order(branches, removed, added)
        system = self._system(branches)
        # Nothing has been changed so far: a conflict has left the list as it was. The forks
        # are done with, and need no copies of what changes now.
        done = {id(fork) for fork in merged}
        base._forks = [ref for ref in base._forks if (fork := ref()) is not None and id(fork) not in done]
        for apply in self._applies:
            apply()
        self._place(removed, added, order)
        base._system = system

    def finish(self, branches: Sequence[_Branch]) -> None:
        """Take over the notes of who did what."""
        base = self._base
        for branch in branches:
            edits = branch.fork.take_edits()
            base._edits += edits
            base._count += max(len(edits), 1)
            base._changed_ids |= branch.fork._changed_ids
            base._reordered = base._reordered or branch.fork._reordered

    def _removed(self, branches: Sequence[_Branch]) -> set[str]:
        out: set[str] = set()
        for message_id in {i for b in branches for i in b.fork._changed_ids if i in b.origin}:
            removers = [b.key for b in branches if b.removed(message_id)]
            if not removers:
                continue
            editors = [b.key for b in branches if (m := b.edited(message_id)) and self._differs(m)]
            if not editors or self._prefer in removers:
                out.add(message_id)
            elif self._prefer not in editors:
                keys = [b.key for b in branches if b.key in removers or b.key in editors]
                raise conflict(keys, f"the message {message_id!r} (removed by one, edited by the other)")
        return out

    def _differs(self, message: Message) -> bool:
        return not message.same_as(self._base._items[message._id])

    # one message

    def _message(self, message: Message, versions: Sequence[_Edited]) -> None:
        if message._parts is None:
            message._own_parts()
        if len(versions) == 1:
            self._applies.append(lambda: self._take(message, versions[0][1]))
            return
        where = f"the message {message._id!r}"
        before = _fields(message)
        after = _fields_merged(before, versions, self._prefer, where)
        roles = [(key, version._role) for key, version in versions]
        role = merge_value(message._role, roles, self._prefer, f"the role of {where}")
        attached = [(key, version._peek_attachments()) for key, version in versions]
        files = self._parts(message._peek_attachments(), attached, where)
        parts = self._parts(message._peek(), [(k, m._peek()) for k, m in versions], where)
        self._applies.append(lambda: self._apply_message(message, role, after, parts, files))

    def _take(self, message: Message, version: Message) -> None:
        """Become the one version that there is."""
        self._base.touch(message)
        parts = message._peek()
        message._parts = _taken(parts, version._peek())
        if message._attachments or version._peek_attachments():
            message._attachments = _taken(message._attachments, version._peek_attachments())
        message._role = version._role
        message._metadata = version._metadata.fork()
        message._meta = None if version._meta is None else version._meta.fork()
        message._created_at = version._created_at
        message._thread_id = version._thread_id
        message._resource_id = version._resource_id
        message._source = version._source
        message._seen = message._parts.copy()

    def _apply_message(
        self,
        message: Message,
        role: str,
        fields: Mapping[str, Any],
        parts: Callable[[], list[Part]],
        files: Callable[[], list[Part]],
    ) -> None:
        self._base.touch(message)
        message._role = role
        message._parts = parts()
        message._attachments = files()
        message._metadata.set(fields["metadata"])
        if fields["provider_metadata"] or message._meta is not None:
            message.provider_metadata = fields["provider_metadata"]
        message._created_at = fields["created_at"]
        message._thread_id = fields["thread_id"]
        message._resource_id = fields["resource_id"]
        message._source = fields["source"]
        message._seen = message._parts.copy()

    def _parts(
        self, base: list[Part], versions: Sequence[tuple[str, list[Part]]], where: str
    ) -> Callable[[], list[Part]]:
        """Return what makes the merged parts: those of the base, edited in place, and new ones."""
        aligned = [(key, parts) for key, parts in versions if _aligned(base, parts)]
        others = [(key, parts) for key, parts in versions if not _aligned(base, parts)]
        if others:
            edited = [key for key, parts in aligned if not all(map(Part.same_as, base, parts))]
            first = others[0][1]
            same = all(_same_parts(first, parts) for _, parts in others[1:])
            if same and not edited:
                return lambda: _taken(base, first)
            for key, parts in versions:
                if key == self._prefer:
                    return self._preferred(base, parts, versions, where)
            keys = [key for key, _ in versions if key in edited or any(key == k for k, _ in others)]
            raise conflict(keys, f"the parts of {where}")
        applies = [
            self._part(part, [(key, parts[i]) for key, parts in aligned], f"part {i} of {where}")
            for i, part in enumerate(base)
        ]

        def apply() -> list[Part]:
            for one in applies:
                if one is not None:
                    one()
            return list(base)

        return apply

    def _preferred(
        self, base: list[Part], parts: list[Part], versions: Sequence[tuple[str, list[Part]]], where: str
    ) -> Callable[[], list[Part]]:
        """Return what makes a branch's own list of parts, with what others edited in those that are left.

        Only which parts there are is in conflict: what a redactor removed from one of them
        does not come back.
        """
        placed = [(key, _placed(base, theirs)) for key, theirs in versions]
        kept = {id(part): i for i, part in _placed(base, parts).items()}
        applies: list[_Apply] = []
        out: list[Part] = []
        for part in parts:
            i = kept.get(id(part))
            out.append(part if i is None else base[i])
            if i is not None:
                here = [(key, theirs[i]) for key, theirs in placed if i in theirs]
                if (one := self._part(base[i], here, f"part {i} of {where}")) is not None:
                    applies.append(one)

        def apply() -> list[Part]:
            for one in applies:
                one()
            for part in parts:
                if id(part) not in kept:
                    part._origin = None
            return out

        return apply

    def _part(self, base: Part, versions: Sequence[tuple[str, Part]], where: str) -> _Apply | None:
        before = base._state()
        states = [(key, part._state()) for key, part in versions]
        changed = [i for i, (_, state) in enumerate(states) if not same_value(state, before)]
        if not changed:
            return None
        hunks: tuple[Hunk, ...] = ()
        text = 0
        after: list[Any] = []
        if isinstance(base, TextPart):
            text = 1
            hunks = merge_hunks(
                [(key, _hunks(base, cast("TextPart", part))) for key, part in versions], self._prefer, where
            )
            after.append(apply_hunks(before[0], hunks))
        after += [
            merge_value(before[i], [(key, state[i]) for key, state in states], self._prefer, where)
            for i in range(text, len(before))
        ]
        return lambda: _set(base, tuple(after), hunks)

    # the list as a whole

    def _added(self, branches: Sequence[_Branch]) -> dict[str, Message]:
        out: dict[str, tuple[str, Message]] = {}
        for branch in branches:
            for message_id in branch.fork._items:
                if message_id in branch.origin:
                    continue
                message = branch.fork._items[message_id]
                known = out.get(message_id)
                if known is None or branch.key == self._prefer:
                    out[message_id] = (branch.key, message)
                elif known[0] != self._prefer and not known[1].same_as(message):
                    raise conflict([known[0], branch.key], f"the new message {message_id!r}")
        return {message_id: message for message_id, (_, message) in out.items()}

    def _order(self, branches: Sequence[_Branch], removed: set[str], added: Mapping[str, Message]) -> list[str]:
        """Return the ids in their merged order."""
        order = self._moved(branches, list(self._base._items))
        order = [message_id for message_id in order if message_id not in removed]
        if not added:
            return order
        followers = _followers(branches, added, set(order))
        out = followers.get(None, [])
        for message_id in order:
            out.append(message_id)
            out += followers.get(message_id, [])
        return out

    def _moved(self, branches: Sequence[_Branch], order: list[str]) -> list[str]:
        moved = [
            (branch.key, [i for i in branch.fork._items if i in branch.origin])
            for branch in branches
            if branch.fork._reordered
        ]
        if not moved:
            return order
        first = moved[0][1]
        if all(ids == first for _, ids in moved[1:]):
            return _as_in(order, first)
        chosen = next((ids for key, ids in moved if key == self._prefer), None)
        if chosen is None:
            raise conflict([key for key, _ in moved], "the order of the messages")
        return _as_in(order, chosen)

    def _place(self, removed: set[str], added: Mapping[str, Message], order: Sequence[str]) -> None:
        base = self._base
        for message_id in removed:
            base.touch(base._items[message_id])
        items = dict(base._items)
        for message_id, message in added.items():
            message._keeper = base._ref
            message._armed = True
            base._ever[message] = None
            items[message_id] = message
        base._items = {message_id: items[message_id] for message_id in order}
        base._views.clear()

    def _system(self, branches: Sequence[_Branch]) -> tuple[SystemMessage, ...]:
        base = self._base._system
        changed = [b for b in branches if b.system_changed]
        if not changed:
            return base
        first = changed[0].fork._system
        if all(b.fork._system == first for b in changed[1:]):
            return first
        if all(b.fork._system[: len(base)] == base for b in changed):
            return base + tuple(dict.fromkeys(item for b in changed for item in b.fork._system[len(base) :]))
        for branch in changed:
            if branch.key == self._prefer:
                return branch.fork._system
        raise conflict([b.key for b in changed], "the system messages")


def _fields(message: Message) -> dict[str, Any]:
    return {
        "metadata": message._metadata.state(),
        "provider_metadata": {} if message._meta is None else message._meta.state(),
        "created_at": message._created_at,
        "thread_id": message._thread_id,
        "resource_id": message._resource_id,
        "source": message._source,
    }


def _fields_merged(
    before: Mapping[str, Any], versions: Sequence[_Edited], prefer: str | None, where: str
) -> dict[str, Any]:
    after = [(key, _fields(message)) for key, message in versions]
    return {
        name: merge_value(before[name], [(key, fields[name]) for key, fields in after], prefer, f"{name} of {where}")
        for name in _FIELDS
    }


def _aligned(base: Sequence[Part], parts: Sequence[Part]) -> bool:
    """Say whether these are the base's parts, edited but in the same places."""
    if len(base) != len(parts):
        return False
    return all(
        part.__class__ is one.__class__ and (part._origin is None or _stems(part, one))
        for one, part in zip(base, parts, strict=True)
    )


def _stems(part: Part, one: Part) -> bool:
    """Say whether a part was forked from this one, or with it from one that it still equals."""
    return part._origin is not None and (part._origin is one or part._origin is one._origin)


def _placed(base: Sequence[Part], parts: Sequence[Part]) -> dict[int, Part]:
    """Return which of these parts is which of the base."""
    if _aligned(base, parts):
        return dict(enumerate(parts))
    places = {id(one._origin): i for i, one in enumerate(base) if one._origin is not None}
    places |= {id(one): i for i, one in enumerate(base)}
    out: dict[int, Part] = {}
    for part in parts:
        i = None if part._origin is None else places.get(id(part._origin))
        if i is not None and part.__class__ is base[i].__class__:
            out.setdefault(i, part)
    return out


def _same_parts(one: Sequence[Part], other: Sequence[Part]) -> bool:
    return len(one) == len(other) and all(map(Part.same_as, one, other))


def _taken(base: Sequence[Part], parts: Sequence[Part]) -> list[Part]:
    """Return a branch's parts, those of the base as the objects they are there."""
    known: dict[int, Part] = {}
    for one in base:
        known[id(one)] = one
        if one._origin is not None:
            known.setdefault(id(one._origin), one)
    out: list[Part] = []
    used: set[int] = set()
    for part in parts:
        one = None if part._origin is None else known.get(id(part._origin))
        if one is None or one.__class__ is not part.__class__ or id(one) in used:
            part._origin = None
            out.append(part)
            continue
        used.add(id(one))
        if not same_value(part._state(), one._state()):
            _set(one, part._state(), _tracked(one, part))
        out.append(one)
    return out


def _tracked(base: Part, part: Part) -> tuple[Hunk, ...]:
    """Return the hunks between two texts, if the base is of a fork itself and keeps them."""
    if isinstance(base, TextPart) and isinstance(part, TextPart) and base._track is not None:
        return _hunks(base, part)
    return ()


def _hunks(base: TextPart, part: TextPart) -> tuple[Hunk, ...]:
    track = part._track
    if _stems(part, base) and track is not None and track.base == base.text:
        return part.hunks()
    return diff(base.text, part.text)


def _set(part: Part, state: tuple[Any, ...], hunks: Sequence[Hunk]) -> None:
    """Give a part of the base another state; a base that is itself a fork keeps its hunks."""
    track = part._track if isinstance(part, TextPart) else None
    part._load(state)
    part._revision += 1
    part._log = None
    if isinstance(part, TextPart) and track is not None:
        part._track = track
        for hunk in reversed(hunks):
            track.add(hunk.start, hunk.end, hunk.text, redact=hunk.redact, exact=hunk.exact)


def _followers(
    branches: Sequence[_Branch], added: Mapping[str, Message], left: set[str]
) -> dict[str | None, list[str]]:
    """Return which new messages follow which of those that are left (None: lead), in list order."""
    out: dict[str | None, list[str]] = {}
    placed: set[str] = set()
    for branch in branches:
        anchor: str | None = None
        for message_id in branch.fork._items:
            if message_id in left:
                anchor = message_id
            elif message_id in added and message_id not in placed:
                placed.add(message_id)
                out.setdefault(anchor, []).append(message_id)
    return out


def _as_in(order: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the ids with those of `wanted` in its order, in the places they hold together."""
    moved = set(wanted)
    places = iter(wanted)
    return [next(places) if message_id in moved else message_id for message_id in order]
