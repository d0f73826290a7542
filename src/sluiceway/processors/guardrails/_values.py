"""Texts inside of JSON-like values: looked at and replaced, types and shape kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from pydantic import BaseModel

__all__ = ["Rewrite", "rewrite_value"]

Rewrite: TypeAlias = Callable[[str, str], str]
"""`rewrite(text, path)`: the text that stands there afterwards; the path is a JSON pointer."""

_Path: TypeAlias = "tuple[_Path, object] | None"


def rewrite_value(value: Any, rewrite: Rewrite) -> Any:
    """Return the value with every text in it rewritten, or the value itself if nothing changed.

    Goes through dicts, lists and tuples, and through pydantic models and dataclasses, which
    become dicts if something in them changed. A whole number is looked at too, as its digits:
    one that is rewritten becomes 0, so that it stays a number. Keys are left alone. Any depth
    is fine, and what contains itself too.

    Args:
        value: What a tool was called with, or returned.
        rewrite: Returns the same text to leave it.
    """
    root: list[Any] = [value]
    work: list[tuple[Any, Any, _Path]] = [(root, 0, None)]
    opened: dict[int, tuple[Any, Any]] = {}  # what stands in several places is gone through once
    changed = False
    while work:
        holder, key, path = work.pop()
        item = holder[key]
        if isinstance(item, str):
            new: Any = rewrite(item, _pointer(path))
            if new != item:
                holder[key], changed = new, True
        elif isinstance(item, bool) or item is None or isinstance(item, float):
            continue
        elif isinstance(item, int):
            if _is_long(item) and rewrite(str(item), _pointer(path)) != str(item):
                holder[key], changed = 0, True
        elif id(item) in opened:
            holder[key] = opened[id(item)][1]
        else:
            copy = _opened(item)
            if copy is not None:
                holder[key] = copy
                opened[id(item)] = item, copy
                keys = list(copy) if isinstance(copy, dict) else list(range(len(copy)))
                work.extend((copy, inner, (path, inner)) for inner in reversed(keys))
    return root[0] if changed else value


def _is_long(number: int) -> bool:
    # Turning a number of thousands of digits into text is refused by the interpreter.
    return 1_000_000 <= abs(number) < 10**40


def _opened(item: Any) -> dict[Any, Any] | list[Any] | None:
    """A shallow copy of a container that can be written to; None for what is none."""
    if isinstance(item, Mapping):
        return dict(cast("Mapping[Any, Any]", item))
    if isinstance(item, BaseModel):
        return {name: getattr(item, name) for name in type(item).model_fields} | (item.model_extra or {})
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    if isinstance(item, bytes | bytearray):
        return None
    if isinstance(item, Sequence | set | frozenset):
        return list(cast("Sequence[Any]", item))
    return None


def _pointer(path: _Path) -> str:
    keys: list[str] = []
    while path is not None:
        path, key = path
        keys.append(str(key).replace("~", "~0").replace("/", "~1"))
    return "".join(f"/{key}" for key in reversed(keys))
