"""`Part`: what all parts of a message share."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from typing import Any, Generic, Self, TypeAlias, TypeVar, overload

from sluiceway.messages._box import Box, same_value

__all__ = ["EditNote", "Noted", "Part"]

_T = TypeVar("_T")

EditNote: TypeAlias = "tuple[str, int, int, int]"
"""One edit of a part: what was edited, start and end of the old text, length of the new one."""


class Noted(Generic[_T]):
    """A plain field of a part whose assignment counts as a change. Kept in the slot `_name`."""

    __slots__ = ("_name", "_slot")

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._slot = f"_{name}"

    @overload
    def __get__(self, part: None, owner: type) -> Self: ...
    @overload
    def __get__(self, part: Part, owner: type) -> _T: ...
    def __get__(self, part: Part | None, owner: type) -> _T | Self:
        return self if part is None else getattr(part, self._slot)

    def __set__(self, part: Part, value: _T) -> None:
        if getattr(part, self._slot) != value:
            setattr(part, self._slot, value)
            part._note(self._name)


class Part:
    """One piece of a message: text, a tool call, a file. Mutable; counts its revisions.

    Subclasses give `_state` and `_load`, which copies, snapshots, forks and comparisons are
    made from.
    """

    __slots__ = ("_held", "_log", "_meta", "_origin", "_revision")

    type: str = ""

    def __init__(self, provider_metadata: Any = None) -> None:
        self._held = False
        self._log: list[EditNote] | None = None
        self._meta: Box | None = Box.of(dict(provider_metadata)) if provider_metadata else None
        self._origin: Part | None = None
        self._revision = 0

    @property
    def provider_metadata(self) -> dict[str, Any]:
        """What providers attached, by provider; may be changed in place."""
        if self._meta is None:
            self._meta = Box({})
        return self._meta.get()

    @provider_metadata.setter
    def provider_metadata(self, value: dict[str, Any]) -> None:
        if self._meta is None:
            self._meta = Box({})
        if self._meta.set(dict(value)):
            self._note("provider_metadata")

    @property
    def revision(self) -> int:
        """A count that has grown whenever anything of the part has changed."""
        self._sync()
        return self._revision

    def copy(self) -> Self:
        """Return a copy that shares nothing which could be changed."""
        new = object.__new__(self.__class__)
        new._held = False
        new._log = None
        new._origin = self._origin
        new._revision = 0
        new._load(self._state())
        return new

    def same_as(self, other: Part) -> bool:
        """Say whether the other part is of the same type and has the same content."""
        return self.__class__ is other.__class__ and same_value(self._state(), other._state())

    def _note(self, what: str, start: int = 0, end: int = 0, length: int = 0) -> None:
        self._revision += 1
        if self._log is None:
            self._log = []
        self._log.append((what, start, end, length))

    def _sync(self) -> None:
        """Notice what was changed in place."""
        if self._meta is not None and self._meta.sync():
            self._note("provider_metadata")

    def _state(self) -> tuple[Any, ...]:
        """Return what it is made of: values that nobody else can change."""
        return (self._meta_state(),)

    def _load(self, state: tuple[Any, ...]) -> None:
        """Become what another part of this class was."""
        self._load_meta(state[0])

    def _fork(self) -> Self:
        """Return a copy for a fork, which remembers what it was copied from."""
        new = self.copy()
        new._held = True
        new._origin = self
        return new

    def _meta_state(self) -> Any:
        return None if self._meta is None else self._meta.state() or None

    def _load_meta(self, kept: Any) -> None:
        self._meta = None if kept is None else Box(kept)

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__} {self.type}>"
