"""Values as JSON: how they are shown, and when two of them are the same."""

from __future__ import annotations

import json
from collections.abc import Mapping

__all__ = ["bare", "compact", "same"]


def compact(value: object) -> str:
    """Return a value as JSON without blanks; what JSON cannot hold as its own text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def bare(value: object) -> str:
    """Return a string as it is, anything else as compact JSON."""
    return value if isinstance(value, str) else compact(value)


def same(got: object, wanted: object) -> bool:
    """Whether two values are the same JSON: `1` is not `true`, a tuple is a list."""
    return compact(plain(got)) == compact(plain(wanted))


def plain(value: object) -> object:
    """Return mappings as dicts with sorted keys, sequences as lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
