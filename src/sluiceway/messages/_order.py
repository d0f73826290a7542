"""Where messages stand: remembered ones by time, returned ones as a hook had them."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sluiceway.messages._message import Message

__all__ = ["insert_remembered", "reordered"]


def insert_remembered(items: Mapping[str, Message], new: Iterable[str]) -> dict[str, Message]:
    """Return the messages with remembered ones put among the remembered, before the rest.

    Args:
        items: All messages, the new ones at the end.
        new: The ids of the new ones; each goes before the first remembered message that was
            made later.
    """
    waiting = [items[i] for i in new if i in items]
    waiting.sort(key=lambda message: message._created_at)
    moved = {message._id for message in waiting}
    order: list[Message] = []
    position = 0
    for message in items.values():
        if message._id in moved:
            continue
        late = message._source != "memory"
        while position < len(waiting) and (late or waiting[position]._created_at < message._created_at):
            order.append(waiting[position])
            position += 1
        order.append(message)
    order += waiting[position:]
    return {message._id: message for message in order}


def reordered(
    items: Mapping[str, Message], phase: Sequence[Message], returned: Sequence[str]
) -> dict[str, Message] | None:
    """Return the messages in the order that a hook returned; None where it is theirs already.

    The places of the phase's messages are filled in the returned order; a message that is
    new follows the returned one before it, or leads where there is none.

    Args:
        items: What is in the list, new messages at the end.
        phase: What the hook was given.
        returned: The ids it returned, in order.
    """
    given = {message._id for message in phase}
    returned = [i for i in dict.fromkeys(returned) if i in items]
    known = [i for i in returned if i in given]
    wanted = set(returned)
    followers: dict[str | None, list[str]] = {}
    anchor: str | None = None
    for id_ in returned:
        if id_ in given:
            anchor = id_
        else:
            followers.setdefault(anchor, []).append(id_)
    places = iter(known)
    order: list[str] = []
    leading = followers.get(None, []) if known else []
    for id_ in items:
        if id_ not in wanted:
            order.append(id_)
        elif id_ in given:
            filled = next(places)
            order += leading
            leading = []
            order.append(filled)
            order += followers.get(filled, [])
    if not known:
        order += followers.get(None, [])
    return None if order == list(items) else {i: items[i] for i in order}
