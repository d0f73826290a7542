"""Types and sentinels that every package shares."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
"""A value that JSON can hold."""


class Missing(Enum):
    """The type of `MISSING`, for parameters where None is a value."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing.MISSING


def new_id(prefix: str) -> str:
    """Return a random id such as `msg_3f…`: the prefix and 96 random bits in hex."""
    return f"{prefix}_{os.urandom(12).hex()}"
