"""Plain values (JSON and the like) that are handed out live and still noticed when they change."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final, cast

from sluiceway._types import MISSING
from sluiceway.errors import MessageError

__all__ = ["Box", "copy_value", "same_value"]

ATOMS: Final = frozenset({str, int, float, bool, type(None), bytes})
_MAX_DEPTH: Final = 100_000


def copy_value(value: Any) -> Any:
    """Return a copy that shares no dict, list or set with the value.

    Other objects are deep-copied where they can be and shared where they cannot. Any depth
    is fine.

    Args:
        value: Any value.

    Raises:
        MessageError: The value contains itself.
    """
    if type(value) in ATOMS:
        return value
    try:
        return _copy(value)
    except RecursionError:
        return _copy_deep(value)


def same_value(one: Any, other: Any) -> bool:
    """Say whether two values are equal and of the same types; values that cannot be compared are not."""
    if one is other:
        return True
    try:
        return _same(one, other)
    except RecursionError:
        return _same_deep(one, other)
    except Exception:  # noqa: BLE001 - the values' own code
        return False


def _same(one: Any, other: Any) -> bool:
    kind = cast("type[Any]", type(one))
    if kind is not type(other):  # True is not 1, and 1 is not 1.0
        return False
    if kind is str or kind is int:
        return one == other
    if kind is dict:
        if len(one) != len(other):
            return False
        for key, value in one.items():
            if key not in other or not (value is other[key] or _same(value, other[key])):
                return False
        return True
    if kind is list or kind is tuple:
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other) or (kind is float and one != one and other != other)  # noqa: PLR0124 - not a number


def _copy(value: Any) -> Any:
    kind = cast("type[Any]", type(value))
    if kind is dict:
        return {k: v if type(v) in ATOMS else _copy(v) for k, v in value.items()}
    if kind is list:
        return [v if type(v) in ATOMS else _copy(v) for v in value]
    if kind in ATOMS:
        return value
    if kind is tuple:
        return tuple([v if type(v) in ATOMS else _copy(v) for v in value])
    if isinstance(value, Mapping) and kind.__module__ in ("builtins", "collections"):
        return {k: _copy(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    return _copy_object(value)


def _copy_object(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - the object's own code; an open file, a lock: there is no copy of it
        return value


def _copy_deep(value: Any) -> Any:
    out: list[Any] = [None]
    stack: list[tuple[Any, Any, Any, int]] = [(value, out, 0, 0)]
    while stack:
        item, target, key, depth = stack.pop()
        if depth > _MAX_DEPTH:
            raise MessageError("A value of a message contains itself, or is nested more than 100,000 deep.")
        if isinstance(item, dict):
            new: Any = dict.fromkeys(cast("dict[Any, Any]", item))
            stack.extend((v, new, k, depth + 1) for k, v in cast("dict[Any, Any]", item).items())
        elif isinstance(item, list | tuple):
            new = [None] * len(cast("list[Any]", item))
            stack.extend((v, new, i, depth + 1) for i, v in enumerate(cast("list[Any]", item)))
        else:
            new = item if type(item) in ATOMS else _copy_object(item)
        target[key] = new
    return out[0]


def _same_deep(one: Any, other: Any) -> bool:
    stack: list[tuple[Any, Any]] = [(one, other)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if isinstance(a, dict) and isinstance(b, dict):
            left, right = cast("dict[Any, Any]", a), cast("dict[Any, Any]", b)
            if left.keys() != right.keys():
                return False
            stack.extend((v, right[k]) for k, v in left.items())
        elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
            first, second = cast("list[Any]", a), cast("list[Any]", b)
            if len(first) != len(second):
                return False
            stack.extend(zip(first, second, strict=True))
        elif a != b:
            return False
    return True


def _comparable(copied: Any, value: Any) -> Any:
    """Return the copy, or the value itself where no comparison could tell a change from a copy."""
    return copied if same_value(copied, value) else value


class Box:
    """A value that is handed out as a live copy; the kept one is never handed out.

    So the kept value can be shared by copies, forks and snapshots, and a change made in
    place to the live one is found by comparing the two.
    """

    __slots__ = ("_kept", "_live")

    def __init__(self, kept: Any) -> None:
        self._kept = kept
        self._live: Any = MISSING

    @classmethod
    def of(cls, value: Any) -> Box:
        """Return a box with a copy of somebody else's value."""
        return cls(copy_value(value))

    def fork(self) -> Box:
        """Return a box of its own with the current value."""
        return Box(self._kept if self._live is MISSING else self.state())

    def get(self) -> Any:
        """Return the live value, which may be changed in place."""
        if self._live is MISSING:
            self._live = _comparable(copy_value(self._kept), self._kept)
        return self._live

    def peek(self) -> Any:
        """Return the current value, to be looked at only."""
        return self._kept if self._live is MISSING else self._live

    def set(self, value: Any) -> bool:
        """Take another value, and say whether it differs from the current one."""
        changed = not same_value(self.peek(), value)
        self._live = value
        self._kept = _comparable(copy_value(value), value)
        return changed

    def sync(self) -> bool:
        """Take over what was changed in place, and say whether anything was."""
        live = self._live
        if live is MISSING or live is self._kept or same_value(live, self._kept):
            return False
        self._kept = copy_value(live)
        return True

    def state(self) -> Any:
        """Return the current value for keeping: never handed out, never changed."""
        self.sync()
        return self._kept
