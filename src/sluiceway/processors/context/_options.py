"""Checks of options, one error for all: which option, its value, what is allowed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from sluiceway.errors import ConfigurationError

__all__ = [
    "checked_count",
    "checked_flag",
    "checked_name",
    "checked_names",
    "checked_number",
    "checked_one_of",
    "checked_seconds",
    "refusal",
]


def refusal(owner: str, option: str, value: Any, allowed: str) -> ConfigurationError:
    """Return the error for an option: its name, its value and what is allowed."""
    return ConfigurationError(f"{owner}: {option}={value!r} is not allowed; give {allowed}")


def checked_one_of(owner: str, option: str, value: Any, allowed: Collection[str]) -> None:
    """Refuse a value that is none of the names.

    Raises:
        ConfigurationError: It is none of them.
    """
    if not isinstance(value, str) or value not in allowed:
        raise refusal(owner, option, value, "one of " + ", ".join(map(repr, allowed)))


def checked_count(owner: str, option: str, value: Any, least: int) -> int:
    """Return a whole number from `least` up.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise refusal(owner, option, value, f"a whole number from {least}")
    return value


def checked_seconds(owner: str, option: str, value: Any) -> float:
    """Return a number of seconds from 0 up.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise refusal(owner, option, value, "a number of seconds from 0")
    return float(value)


def checked_number(owner: str, option: str, value: Any) -> float:
    """Return a number from 0 up.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise refusal(owner, option, value, "a number from 0")
    return float(value)


def checked_flag(owner: str, option: str, value: Any) -> bool:
    """Return True or False.

    Raises:
        ConfigurationError: It is neither.
    """
    if not isinstance(value, bool):
        raise refusal(owner, option, value, "True or False")
    return value


def checked_name(owner: str, option: str, value: Any) -> str:
    """Return a text with something in it.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(value, str) or not value:
        raise refusal(owner, option, value, "a text that is not empty")
    return value


def checked_names(owner: str, option: str, value: Any) -> frozenset[str]:
    """Return a list of names as a set.

    Raises:
        ConfigurationError: It is no list of names.
    """
    if isinstance(value, str) or not isinstance(value, Collection):
        raise refusal(owner, option, value, "a list of names")
    names = cast("Collection[Any]", value)
    if not all(isinstance(name, str) and name for name in names):
        raise refusal(owner, option, value, "a list of names")
    return frozenset(names)
