"""`StreamCall`: a call of the stream hooks with messages of its own, forked when a hook first asks for them."""

# pyright: reportIncompatibleVariableOverride=false, reportPrivateUsage=false
# `message_list` is made on demand here, and an attribute of the parent.

from __future__ import annotations

from collections.abc import Sequence

from sluiceway.messages import MessageList, merge_forks
from sluiceway.processors._call import HookCall

__all__ = ["StreamCall", "join_lists", "mark_of"]


class _Own:
    """The list of a call and of its copies."""

    __slots__ = ("asked", "fork", "outer")

    def __init__(self, outer: HookCall, asked: list[str]) -> None:
        self.asked = asked
        self.outer = outer
        self.fork: MessageList | None = None


class StreamCall(HookCall):
    """A call whose messages are forked when somebody asks for them, until `join_lists` brings them back.

    Most hooks never look at messages while the stream runs, and pay nothing.

    Args:
        outer: The call that it is made from.
        key: The branch or processor that it is for.
        asked: Gets the key when the messages are forked, so that whoever waits for that looks at one list.
    """

    __slots__ = ("_key", "_own")

    def __init__(self, outer: HookCall, key: str, asked: list[str] | None = None) -> None:
        self._key = key
        self._own = _Own(outer, [] if asked is None else asked)
        super().__init__(outer.hook, MessageList(), info=outer.info)
        self.drop()

    @property
    def message_list(self) -> MessageList:
        """The fork, made now if nobody has asked for it yet."""
        own = self._own
        if own.fork is None:
            own.fork = own.outer.message_list.fork()
            own.asked.append(self._key)
        return own.fork

    @message_list.setter
    def message_list(self, messages: MessageList) -> None:
        self._own.fork = messages

    def shallow(self) -> HookCall:
        """Return a copy that shares everything, a fork that is yet to be made too."""
        copy = StreamCall.__new__(StreamCall)
        copy._key, copy._own = self._key, self._own
        for name in HookCall.__slots__:
            if name != "message_list":
                setattr(copy, name, getattr(self, name))
        return copy

    def drop(self) -> None:
        """Forget what was done to the messages."""
        self._own.fork = None
        self._own.asked.clear()


def mark_of(call: HookCall) -> int:
    """Return the mark of a call's list, without having it forked for that."""
    if not isinstance(call, StreamCall):
        return call.message_list.mark()
    return 0 if call._own.fork is None else call._own.fork.mark()


def join_lists(calls: Sequence[StreamCall], prefer: str | None = None) -> None:
    """Bring back what was done to the messages of calls that were made from one, in their order.

    Args:
        calls: The calls.
        prefer: The key of the one that wins where they disagree; None: that is an error.

    Raises:
        MergeConflict: Two of them changed the same thing in different ways.
    """
    forks = [(call._key, call._own.fork) for call in calls if call._own.fork is not None]
    if forks:
        merge_forks(calls[0]._own.outer.message_list, forks, prefer)
        for call in calls:
            call.drop()
