"""What types say about whether two entries fit."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Any, Final

from pydantic import BaseModel

from sluiceway.engine import TypeCheck
from sluiceway.errors import GraphError

__all__ = ["WorkflowTypes", "disjoint", "shown", "type_check"]


@dataclass(frozen=True, slots=True)
class WorkflowTypes:
    """The declared types of a workflow; None where nothing is declared."""

    input: Any = None
    output: Any = None
    state: Any = None


def type_check(declared: Any, workflow_id: str, which: str) -> TypeCheck | None:
    """Return the check of a declared type.

    Raises:
        GraphError: It is no type that can be checked.
    """
    if declared is None or declared is Any:
        return None
    check = TypeCheck.of(declared)
    if check is None and declared is not object:
        raise GraphError(f"{workflow_id}: {which}={declared!r} is no type that pydantic can check")
    if which == "state" and check is not None:
        _can_be_made(declared, workflow_id)
    return check


def _can_be_made(declared: Callable[[], object], workflow_id: str) -> None:
    try:
        inspect.signature(declared).bind()
    except TypeError as error:
        what = f"{workflow_id}: state={shown(declared)}"
        raise GraphError(f"{what} cannot be made without arguments ({error}); give defaults") from None
    except ValueError:
        return


_TEXT: Final = frozenset({str, bytes, bytearray})
_NUMBERS: Final = frozenset({int, float, bool, complex})
_LISTS: Final = frozenset({list, tuple, set, frozenset})


def disjoint(given: Any, taken: Any) -> bool:
    """Whether nothing of one type can pass as the other. Only told of plain, concrete classes."""
    given, taken = _concrete(given), _concrete(taken)
    if given is None or taken is None or issubclass(given, taken) or issubclass(taken, given):
        return False
    sorts = _sort(given), _sort(taken)
    if "other" in sorts:
        return False
    # Records of two kinds never fit; otherwise what pydantic converts does.
    return sorts == ("record", "record") or (sorts not in _CONVERTED and sorts[0] != sorts[1])


_CONVERTED: Final = frozenset({("text", "number"), ("dict", "record")})


def _sort(kind: type) -> str:
    """Say what kind of class it is, as far as it tells what it can be converted to."""
    if _is_record(kind):
        return "record"
    if kind is dict:
        return "dict"
    sorts = (("text", _TEXT), ("number", _NUMBERS), ("list", _LISTS))
    return next((name for name, kinds in sorts if kind in kinds), "other")


def _is_record(kind: type[Any]) -> bool:
    return issubclass(kind, BaseModel) or is_dataclass(kind) or typing.is_typeddict(kind)


def _concrete(kind: Any) -> type[Any] | None:
    origin = typing.get_origin(kind) or kind
    if not isinstance(origin, type) or origin in (Any, object) or inspect.isabstract(origin):
        return None
    if getattr(origin, "_is_protocol", False) or origin.__module__ in ("typing", "collections.abc"):
        return None
    return origin


def shown(kind: Any) -> str:
    """Return a type as an error names it."""
    return getattr(kind, "__name__", None) or repr(kind)


class TypeFlow:
    """What is known of the data between two entries while a workflow is compiled.

    Args:
        kind: The type of what goes in, or None: anything.
        source: Where it comes from.
    """

    __slots__ = ("_kind", "_source")

    def __init__(self, kind: Any, source: str) -> None:
        self._kind = kind
        self._source = source

    def becomes(self, kind: Any, source: str) -> None:
        """Note what an entry gives; None: anything."""
        self._kind = kind
        self._source = source

    def goes_into(self, taken: Any, where: str, *, fix: str = "put a map between them") -> None:
        """Check that what is there fits what is taken.

        Raises:
            GraphError: Nothing of the one type can pass as the other.
        """
        if self._kind is None or taken is None or not disjoint(self._kind, taken):
            return
        raise GraphError(f"{where}: takes {shown(taken)}, but {self._source} gives {shown(self._kind)}; {fix}")
