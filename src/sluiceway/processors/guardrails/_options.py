"""Checks of options, one error for all: which option, its value, what is allowed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

from sluiceway.errors import ConfigurationError

__all__ = [
    "SURFACES",
    "checked_flags",
    "checked_names",
    "checked_one_of",
    "checked_policy",
    "checked_ratio",
    "checked_size",
    "checked_texts",
]

SURFACES: tuple[str, ...] = ("text", "reasoning", "tool-args", "tool-results", "object")
"""What of a message or a chunk a guardrail can look at."""


def _refuse(owner: str, option: str, value: Any, allowed: str) -> ConfigurationError:
    return ConfigurationError(f"{owner}: {option}={value!r} is not allowed; give {allowed}")


def checked_one_of(owner: str, option: str, value: Any, allowed: Collection[str]) -> None:
    """Refuse a value that is none of the names.

    Raises:
        ConfigurationError: It is none of them.
    """
    if not isinstance(value, str) or value not in allowed:
        raise _refuse(owner, option, value, "one of " + ", ".join(map(repr, allowed)))


def checked_names(owner: str, option: str, value: Any, allowed: Collection[str]) -> tuple[str, ...]:
    """Return a list of names as a tuple.

    Raises:
        ConfigurationError: It is no list, is empty, or holds another name.
    """
    names = "some of " + ", ".join(map(repr, allowed))
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset) or not value:
        raise _refuse(owner, option, value, f"a list of {names}")
    given = tuple(cast("Collection[str]", value))
    for name in given:
        if name not in allowed:
            raise ConfigurationError(f"{owner}: {option} does not know {name!r}; give {names}")
    return given


def checked_texts(owner: str, option: str, value: Any) -> tuple[str, ...]:
    """Return a list of texts as a tuple.

    Raises:
        ConfigurationError: It is no list, is empty, or holds something else.
    """
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset) or not value:
        raise _refuse(owner, option, value, "a list of texts")
    given = tuple(cast("Collection[Any]", value))
    for text in given:
        if not isinstance(text, str) or not text.strip():
            raise ConfigurationError(f"{owner}: {option} has {text!r}; give texts that are not empty")
    return given


def checked_ratio(owner: str, option: str, value: Any) -> None:
    """Refuse a value that is no number from 0 to 1.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _refuse(owner, option, value, "a number from 0 to 1")


def checked_size(owner: str, option: str, value: Any) -> None:
    """Refuse a value that is no whole number above 0.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _refuse(owner, option, value, "a whole number above 0")


def checked_policy(owner: str, strategy: Any, strategies: Collection[str], threshold: Any, **flags: Any) -> None:
    """Check what every guardrail with a threshold has: its strategy, that, and its flags.

    Raises:
        ConfigurationError: One of them is not allowed.
    """
    checked_one_of(owner, "strategy", strategy, strategies)
    checked_ratio(owner, "threshold", threshold)
    checked_flags(owner, **flags)


def checked_flags(owner: str, **flags: Any) -> None:
    """Refuse a flag that is neither True nor False.

    Raises:
        ConfigurationError: One of them is neither.
    """
    for option, value in flags.items():
        if not isinstance(value, bool):
            raise _refuse(owner, option, value, "True or False")
