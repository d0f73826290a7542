"""From whatever was given to a workflow to a step of the engine."""

from __future__ import annotations

import inspect
from typing import Any, Literal, TypeAlias, cast

from sluiceway.engine import PLAIN, Step, StepOptions
from sluiceway.errors import GraphError
from sluiceway.processors import hooks_of
from sluiceway.steps._agent import AgentStep
from sluiceway.steps._custom import CustomStep
from sluiceway.steps._function import FunctionStep
from sluiceway.steps._processor import processor_step
from sluiceway.steps._step import StepSpec
from sluiceway.steps._tool import ToolStep
from sluiceway.tools import Tool

__all__ = ["StepKind", "as_step", "named"]

StepKind: TypeAlias = Literal["processor", "function", "agent", "tool", "step"]
"""What an entry of a workflow was made from."""

_TAKEN = "a step is a processor, a workflow, a function, an agent, a tool, or an object with `id` and `run`"


def named(thing: object) -> tuple[object, str | None, StepOptions]:
    """Return what is inside of `step(…)`, its name there and its options.

    Args:
        thing: An entry of a workflow.
    """
    if not isinstance(thing, StepSpec):
        return thing, None, PLAIN
    spec = cast("StepSpec[Any]", thing)
    inner, inner_id, inner_options = named(spec.thing)
    return inner, spec.id or inner_id, spec.options if spec.options != PLAIN else inner_options


def as_step(thing: object, where: str, *, inside: str) -> tuple[Step, StepKind, StepOptions]:
    """Make a step of anything but a workflow.

    Args:
        thing: What was given.
        where: How an error calls the place.
        inside: The path it stands in, without its own name.

    Raises:
        GraphError: Nothing a step can be made of; the text says what to give instead.
    """
    thing, name, options = named(thing)
    _refuse(thing, where)
    if isinstance(thing, Tool):
        return ToolStep(thing, id=name, hooks=options.hooks), "tool", options
    own = getattr(thing, "id", None)
    if hooks_of(thing):
        identity = _id_of(name or own, thing, where)
        path = f"{inside} › processor:{identity}"
        return processor_step(thing, id=name, path=path, options=options), "processor", options
    if callable(getattr(thing, "generate", None)):
        _id_of(name or own, thing, where)
        return AgentStep(cast("Any", thing), id=name, hooks=options.hooks), "agent", options
    if own is not None and callable(getattr(thing, "run", None)):
        identity = _id_of(name or own, thing, where)
        return CustomStep(thing, id=identity, hooks=options.hooks), "step", options
    if callable(thing):
        identity = name or _function_name(thing)
        if identity is None:
            raise GraphError(f"{where}: a lambda has no name; give it one: step(lambda …, id='…')")
        return (
            FunctionStep(thing, id=identity, hooks=options.hooks, thread=options.thread),
            "function",
            options,
        )
    raise GraphError(f"{where}: {_shown(thing)} is not a step; {_TAKEN}")


def _refuse(thing: object, where: str) -> None:
    if isinstance(thing, type):
        raise GraphError(f"{where}: {thing.__name__} is a class; give an object of it: {thing.__name__}(…)")
    if inspect.iscoroutine(thing):
        raise GraphError(f"{where}: a coroutine is not a step; give the function itself, without ()")


def _id_of(identity: object, thing: object, where: str) -> str:
    if not isinstance(identity, str) or not identity.strip():
        raise GraphError(f"{where}: {type(thing).__name__} has no id; give it one: step(…, id='…')")
    return identity


def _function_name(fn: object) -> str | None:
    name = getattr(fn, "__name__", None) or getattr(getattr(fn, "func", None), "__name__", None)
    if name is None:
        return type(fn).__name__
    return None if name == "<lambda>" else str(name)


def _shown(thing: object) -> str:
    shown = repr(thing)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
