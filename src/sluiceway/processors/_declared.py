"""What a hook wrote although its processor declares that it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, cast

from sluiceway.messages import Chunk, ListEdit
from sluiceway.processors._call import HookCall
from sluiceway.processors._effects import Effects, Surface
from sluiceway.processors._protocols import HookName

__all__ = ["Before", "Holder", "barred_by", "chunk_is_written", "effects_of"]

_CHECKED: Final[frozenset[Surface]] = frozenset({"messages", "system", "prompt", "chunk", "overrides", "context"})
"""`state` is a processor's own: nobody else sees it."""


def effects_of(processor: object, hook: HookName) -> Effects | None:
    """Return what a processor declares for a hook, or None where it declares nothing."""
    declared = getattr(processor, "effects", None)
    if isinstance(declared, Mapping):
        declared = declared.get(hook)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return declared if isinstance(declared, Effects) else None


def barred_by(effects: Effects | None) -> frozenset[Surface]:
    """Return what a hook with these effects may not write; nothing where it declares none."""
    return frozenset() if effects is None else _CHECKED - effects.writes


class Before:
    """A call as it was before a hook.

    Args:
        call: The call.
        barred: What the hook may not write.
    """

    __slots__ = ("_barred", "_overrides", "_prompt", "_response")

    def __init__(self, call: HookCall, barred: frozenset[Surface]) -> None:
        self._barred = barred
        self._overrides = _copied(call.overrides) if "overrides" in barred else {}
        self._prompt = call.prompt
        self._response = call.response

    def written(self, call: HookCall, edits: Sequence[ListEdit]) -> Surface | None:
        """Return what it wrote and may not, or None.

        Args:
            call: The call after the hook.
            edits: The edits of the list that are booked to it.
        """
        barred = self._barred
        for edit in edits:
            surface: Surface = "system" if edit.action == "system" else "messages"
            if surface in barred:
                return surface
        if "prompt" in barred and (call.prompt is not self._prompt or call.response is not self._response):
            return "prompt"
        if "overrides" in barred and not _same(call.overrides, self._overrides):
            return "overrides"
        return None


def _copied(overrides: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else value
        for name, value in overrides.items()
    }


def _same(overrides: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    return overrides.keys() == before.keys() and all(
        value is before[name] or (isinstance(value, dict) and value == before[name])
        for name, value in overrides.items()
    )


class Holder(Protocol):
    """What a stream context says of the chunk in hand."""

    edited: int
    part: Chunk

    def has_taken(self, chunk: Chunk, /) -> bool:
        """Whether it was taken in to be held."""
        ...

    def is_released(self, chunk: Chunk, /) -> bool:
        """Whether the chunk is one that the last hook released."""
        ...


def chunk_is_written(ctx: Holder, edits: int, made: Sequence[Chunk]) -> bool:
    """Whether a stream hook did more than pass chunks on or hold them.

    Args:
        ctx: Its context, after the call.
        edits: How many edits it had released before the call.
        made: What it returned.
    """
    part = ctx.part
    if ctx.edited != edits or not all(one is part or ctx.is_released(one) for one in made):
        return True
    gone = part is not None and not any(one is part for one in made)  # pyright: ignore[reportUnnecessaryComparison]
    return gone and not ctx.has_taken(part)
