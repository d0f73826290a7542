"""Functions of a workflow: what they take, and what their annotations say."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, cast

from sluiceway.engine import AnyScope, Data, TypeCheck

__all__ = ["annotated", "can_suspend", "takes_context", "target_of", "with_context"]

_CONTEXT_NAMES = ("ctx", "context", "_ctx")


def target_of(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function behind a callable: of an object with `__call__`, that method."""
    if inspect.isroutine(fn) or isinstance(fn, type):
        return fn
    return getattr(fn, "func", None) or type(fn).__call__


def positional(fn: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """Return the parameters that can be given by position, or None where they are not known."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter for parameter in parameters if parameter.kind in kinds]


def _takes_any(fn: Callable[..., Any]) -> bool:
    kinds = {parameter.kind for parameter in inspect.signature(fn).parameters.values()}
    return inspect.Parameter.VAR_POSITIONAL in kinds


def takes_context(fn: Callable[..., Any]) -> bool:
    """Whether a function takes the context beside the data.

    It does if it has two parameters without a default, or a second one called `ctx`.

    Args:
        fn: Any function.
    """
    parameters = positional(fn)
    if parameters is None or len(parameters) < 2:
        return False
    second = parameters[1]
    return second.default is inspect.Parameter.empty or second.name in _CONTEXT_NAMES


def with_context(fn: Callable[..., Any]) -> Callable[[Data, AnyScope], Any]:
    """Return a function of `(data, ctx)` for one of `()`, `(data)` or `(data, ctx)`.

    Args:
        fn: The function.
    """
    if takes_context(fn):
        return fn
    if positional(fn) == [] and not _takes_any(fn):
        return lambda _data, _ctx: fn()
    return lambda data, _ctx: fn(data)


def annotated(fn: Callable[..., Any]) -> tuple[TypeCheck | None, TypeCheck | None]:
    """Return the checks of what a function takes and returns, None where nothing is declared."""
    target = target_of(fn)
    try:
        hints = typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return None, None
    parameters = positional(fn) or []
    taken = hints.get(parameters[0].name) if parameters else None
    returned = hints.get("return")
    if returned in (type(None), typing.NoReturn, typing.Never):
        returned = None
    return TypeCheck.of(taken), TypeCheck.of(returned)


def can_suspend(fn: Callable[..., Any]) -> bool:
    """Whether a function that takes the context calls `suspend` on something."""
    if not takes_context(fn):
        return False
    code = getattr(target_of(fn), "__code__", None)
    return isinstance(code, CodeType) and any("suspend" in part.co_names for part in _codes(code))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in cast("tuple[object, ...]", code.co_consts):
        if isinstance(constant, CodeType):
            yield from _codes(constant)
