"""What a processor declares that it touches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from sluiceway.errors import ConfigurationError

__all__ = ["Effects", "Surface"]

Surface: TypeAlias = Literal["messages", "system", "prompt", "chunk", "overrides", "state", "context"]

_SURFACES: Final = frozenset(get_args(Surface))


@dataclass(frozen=True, slots=True, init=False)
class Effects:
    """What a hook reads and writes, so that checks can run side by side and orders be checked.

    Args:
        reads: Any of `messages`, `system`, `prompt`, `chunk`, `overrides`, `state`, `context`.
        writes: Likewise; a declared non-writer that writes is a `ProcessorError`.
        aborts: Whether it may abort.
        external: Whether it sends text to another service, and so waits for it.
    """

    reads: frozenset[Surface]
    writes: frozenset[Surface]
    aborts: bool
    external: bool

    def __init__(
        self,
        reads: Iterable[Surface] = (),
        writes: Iterable[Surface] = (),
        *,
        aborts: bool = True,
        external: bool = False,
    ) -> None:
        object.__setattr__(self, "reads", _checked("reads", reads))
        object.__setattr__(self, "writes", _checked("writes", writes))
        object.__setattr__(self, "aborts", aborts)
        object.__setattr__(self, "external", external)

    @classmethod
    def none(cls) -> Effects:
        """Return the effects of a hook that reads messages and writes nothing."""
        return cls(reads=("messages",))


def _checked(name: str, surfaces: Iterable[Surface]) -> frozenset[Surface]:
    if isinstance(surfaces, str):
        raise ConfigurationError(f"Effects({name}=…) takes a tuple, such as ({surfaces!r},)")
    given = frozenset(surfaces)
    unknown = sorted(given - _SURFACES)
    if unknown:
        known = ", ".join(sorted(_SURFACES))
        raise ConfigurationError(f"Effects({name}=…) does not know {unknown[0]!r}; allowed: {known}")
    return given
