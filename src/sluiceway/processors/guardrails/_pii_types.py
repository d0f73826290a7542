"""Which types of personal data a guardrail was asked for."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import regex

from sluiceway.errors import ConfigurationError
from sluiceway.processors.detectors import PII_MODEL_TYPES, PII_RULE_TYPES

__all__ = ["Definition", "PIITypes", "pii_types"]

_log = logging.getLogger(__name__)

Definition: TypeAlias = "str | regex.Pattern[str] | re.Pattern[str] | Sequence[str]"
"""A type of the user's own: a pattern of the module `regex`, or a list of words."""


@dataclass(frozen=True, slots=True)
class PIITypes:
    """What is looked for.

    Args:
        ruled: Types that rules find.
        custom: Types of the user's own.
        detected: Types that only a model or detector finds.
    """

    ruled: Sequence[str]
    custom: Mapping[str, Definition]
    detected: Sequence[str]

    @property
    def all(self) -> tuple[str, ...]:
        """All their names."""
        return (*self.ruled, *self.detected, *self.custom)


@cache
def _note_missing(types: tuple[str, ...]) -> None:
    _log.info("%s are not looked for: they need a model or a recogniser of names", ", ".join(types))


def pii_types(
    owner: str,
    given: Sequence[str | Mapping[str, Definition]] | Mapping[str, Definition] | None,
    *,
    ruled_only: bool,
) -> PIITypes:
    """Return what the option `detection_types` asks for.

    Args:
        owner: The processor's id, for errors.
        given: The option.
        ruled_only: Whether there are only rules to find them.

    Raises:
        ConfigurationError: A type that does not exist, or that rules cannot find.
    """
    if given is None:
        if ruled_only:
            _note_missing(PII_MODEL_TYPES)
        return PIITypes(PII_RULE_TYPES, {}, () if ruled_only else PII_MODEL_TYPES)
    if not given or isinstance(given, str) or not isinstance(given, Sequence | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(
            f"{owner}: detection_types={given!r} is not allowed; give a list of names, "
            "a dict of a name and a pattern or words, or None for all"
        )
    items: Sequence[str | Mapping[str, Definition]] = [given] if isinstance(given, Mapping) else given
    names: dict[str, None] = {}
    custom: dict[str, Definition] = {}
    for item in items:
        if isinstance(item, Mapping):
            custom.update(item)
        elif item in PII_MODEL_TYPES and ruled_only:
            raise ConfigurationError(
                f"{owner}: detection_types has {item!r}, which rules cannot find; it needs a model or a "
                "recogniser of names: give model= or detector=. Leave it out, or leave detection_types out "
                "to look for what rules can find"
            )
        elif item not in PII_RULE_TYPES and item not in PII_MODEL_TYPES:
            raise ConfigurationError(
                f"{owner}: detection_types does not know {item!r}; give some of "
                f"{', '.join((*PII_RULE_TYPES, *PII_MODEL_TYPES))}, or a dict of a name and a pattern or words"
            )
        else:
            names[item] = None
    ruled = [name for name in names if name in PII_RULE_TYPES]
    return PIITypes(ruled, custom, [name for name in names if name in PII_MODEL_TYPES])
