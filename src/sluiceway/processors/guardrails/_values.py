"""Texts inside of JSON-like values: looked at and replaced, types and shape kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from sluiceway.messages import jsonable

__all__ = ["Rewrite", "rewrite_value"]

Rewrite: TypeAlias = Callable[[str, str], str]
"""`rewrite(text, path)`: the text that stands there afterwards; the path is a JSON pointer."""

_Path: TypeAlias = "tuple[_Path, object] | None"

_LEAST = 1_000_000
"""Smaller numbers say nothing about anybody."""


def rewrite_value(value: Any, rewrite: Rewrite, *, keys: Rewrite | None = None) -> Any:
    """Return the value with every text in it rewritten, or the value itself if nothing changed.

    Goes through dicts, their keys too, lists, tuples and sets, and through models and
    dataclasses, which become dicts if something in them changed. Everything else is looked at
    as its JSON form, which takes its place if that is rewritten: of a number its digits, and one
    that is rewritten becomes 0, so that it stays a number; of bytes the text that they are. Keys
    that become the same are numbered. Any depth is fine, and what contains itself too.

    Args:
        value: What a tool was called with, or returned.
        rewrite: Returns the same text to leave it.
        keys: The same for keys, whose path is that of their dict; None: `rewrite`.
    """
    root: list[Any] = [value]
    work: list[tuple[Any, Any, _Path]] = [(root, 0, None)]
    opened: dict[int, tuple[Any, Any]] = {}  # what stands in several places is gone through once
    changed = False
    while work:
        holder, key, path = work.pop()
        item = holder[key]
        if item is None or item is True or item is False:
            continue
        if id(item) in opened:
            holder[key] = opened[id(item)][1]
            continue
        copy = None if isinstance(item, str | int | float) else _opened(item)
        if copy is None:
            new = _leaf(item, rewrite, path)
            if new is not item:
                holder[key], changed = new, True
            continue
        if isinstance(copy, dict):
            new_keys = _rewritten_keys(copy, keys or rewrite, path)
            if new_keys is not None:
                changed = True
                copy = dict(zip(new_keys, copy.values(), strict=True))
        holder[key] = copy
        opened[id(item)] = item, copy
        names = list(copy) if isinstance(copy, dict) else list(range(len(copy)))
        work.extend((copy, inner, (path, inner)) for inner in reversed(names))
    return root[0] if changed else value


def _leaf(item: Any, rewrite: Rewrite, path: _Path) -> Any:
    """Return the item, or what takes its place."""
    if isinstance(item, str):
        text = item if type(item) is str else cast("str", jsonable(item))
        return _or_same(item, text, rewrite(text, _pointer(path)))
    if isinstance(item, int | float) and type(item) in (int, float):
        digits = _digits(item)
        return item if digits is None or rewrite(digits, _pointer(path)) == digits else type(item)(0)
    if isinstance(item, bytes | bytearray | memoryview):
        return _bytes(cast("bytes", item), rewrite, path)
    if type(item).__str__ is object.__str__ and type(item).__repr__ is object.__repr__:
        return item  # its JSON form is where it is in memory
    form = jsonable(item)
    if isinstance(form, str):
        return _or_same(item, form, rewrite(form, _pointer(path)))
    before = _pointer(path)
    new = rewrite_value(form, lambda text, inner: rewrite(text, before + inner))
    return item if new is form else new


def _or_same(item: Any, text: str, new: str) -> Any:
    return item if new == text else new


def _digits(number: float) -> str | None:
    """Return a number as a text; None for one that can hold nothing."""
    # Turning a number of thousands of digits into text is refused by the interpreter.
    if not _LEAST <= abs(number) < 10**40:
        return None
    return str(int(number)) if isinstance(number, int) or number.is_integer() else repr(number)


def _bytes(item: bytes, rewrite: Rewrite, path: _Path) -> Any:
    """Look at bytes as the text that they are; what looks like a file is none."""
    raw = bytes(item)
    if b"\0" in raw:
        return item
    try:
        text, encoding = raw.decode(), "utf-8"
    except UnicodeDecodeError:
        text, encoding = raw.decode("latin-1"), "latin-1"
    new = rewrite(text, _pointer(path))
    return item if new == text else new.encode(encoding, "replace")


def _rewritten_keys(fields: dict[Any, Any], rewrite: Rewrite, path: _Path) -> list[Any] | None:
    """Return all keys, those apart that became the same; None if none changed."""
    where = _pointer(path)
    new: list[Any] = []
    changed: list[int] = []
    for position, key in enumerate(fields):
        text = key if type(key) is str else _key_text(key)
        found = rewrite(text, where)
        new.append(key if found == text else found)
        if found != text:
            changed.append(position)
    if not changed:
        return None
    renamed = set(changed)
    taken = {key for position, key in enumerate(new) if position not in renamed}
    for position in changed:
        name, number = new[position], 1
        while new[position] in taken:
            number += 1
            new[position] = f"{name} ({number})"
        taken.add(new[position])
    return new


def _key_text(key: Any) -> str:
    return next(iter(jsonable({key: None})))


def _opened(item: Any) -> dict[Any, Any] | list[Any] | None:
    """A shallow copy of a container that can be written to; None for what is none."""
    if isinstance(item, Mapping):
        return dict(cast("Mapping[Any, Any]", item))
    if isinstance(item, type | bytes | bytearray | memoryview | range):
        return None
    if dataclasses.is_dataclass(item):
        return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    dump: Any = getattr(item, "model_dump", None)
    if callable(dump):  # as prompts and clients see it, with computed fields
        shown: Any = dump()
        return _opened(shown) if isinstance(shown, Mapping | list) else None
    if isinstance(item, Sequence | set | frozenset):
        return list(cast("Sequence[Any]", item))
    return None


def _pointer(path: _Path) -> str:
    keys: list[str] = []
    while path is not None:
        path, key = path
        keys.append(str(key).replace("~", "~0").replace("/", "~1"))
    return "".join(f"/{key}" for key in reversed(keys))
