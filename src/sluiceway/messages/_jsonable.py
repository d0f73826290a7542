"""Any value as JSON can hold it."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from enum import Enum
from typing import Any, cast

from sluiceway.errors import MessageError

__all__ = ["jsonable"]


def jsonable(value: Any) -> Any:
    """Return the value as JSON can hold it, sharing nothing with it.

    Bytes become base64 text, times ISO text, sets and tuples lists, models and dataclasses
    dicts, numbers that JSON does not have null; anything else its `str`.

    Args:
        value: Any value.

    Raises:
        MessageError: The value is nested too deep, or contains itself.
    """
    try:
        return _jsonable(value)
    except RecursionError as error:
        raise MessageError("A value is nested too deep to become JSON, or contains itself.") from error


def _jsonable(value: Any) -> Any:
    kind = cast("type[Any]", type(value))
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        fields = cast("Mapping[Any, Any]", value)
        return {k if type(k) is str else _key(k): _jsonable(v) for k, v in fields.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in cast("Iterable[Any]", value)]
    return _other(value)


def _key(key: Any) -> str:
    key = _jsonable(key)
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    return str(key)


def _other(value: Any) -> Any:
    if isinstance(value, Enum):
        return _jsonable(value.value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, set | frozenset):
        items = [_jsonable(item) for item in cast("Iterable[Any]", value)]
        return sorted(items, key=lambda item: (item.__class__.__name__, str(item)))
    if isinstance(value, str | int):
        return str(value) if isinstance(value, str) else int(value)
    return _object(value)


def _object(value: object) -> Any:
    if isinstance(value, type):
        return value.__qualname__
    if dataclasses.is_dataclass(value):
        return {f.name: _jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    dump: Callable[..., Any] | None = getattr(value, "model_dump", None)
    if callable(dump):
        return _jsonable(dump())
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - the object's own code
        return f"<{type(value).__qualname__}>"
