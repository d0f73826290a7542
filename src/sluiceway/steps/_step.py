"""`step`: a name and options for anything that can be a step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, overload

from sluiceway.engine import PLAIN, OnError, StepOptions
from sluiceway.errors import ConfigurationError

__all__ = ["StepSpec", "step"]

T = TypeVar("T")

_ON_ERROR = ("raise", "block", "continue")


@dataclass(frozen=True, slots=True)
class StepSpec(Generic[T]):
    """Something that is to be a step, with a name and options.

    A function in it can still be called as before.

    Args:
        thing: A processor, workflow, function, agent, tool or object with `id` and `run`.
        id: Its name here, or None: the one it has.
        options: How it is run.
    """

    thing: T
    id: str | None = None
    options: StepOptions = PLAIN

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return cast("Any", self.thing)(*args, **kwargs)


@overload
def step(
    thing: T,
    /,
    *,
    id: str | None = None,
    hooks: Iterable[str] | None = None,
    timeout: float | None = None,
    retries: int = 0,
    on_error: OnError | None = None,
    thread: bool = False,
    ignore: Iterable[str] = (),
) -> StepSpec[T]: ...
@overload
def step(
    *,
    id: str | None = None,
    hooks: Iterable[str] | None = None,
    timeout: float | None = None,
    retries: int = 0,
    on_error: OnError | None = None,
    thread: bool = False,
    ignore: Iterable[str] = (),
) -> Callable[[T], StepSpec[T]]: ...
def step(
    thing: T | None = None,
    /,
    *,
    id: str | None = None,  # noqa: A002 - the field's own name
    hooks: Iterable[str] | None = None,
    timeout: float | None = None,
    retries: int = 0,
    on_error: OnError | None = None,
    thread: bool = False,
    ignore: Iterable[str] = (),
) -> StepSpec[T] | Callable[[T], StepSpec[T]]:
    """Give a step a name or options; around a function also as a decorator, with or without `()`.

    Args:
        thing: A processor, workflow, function, agent, tool or object with `id` and `run`.
        id: Its name in the workflow. None: the one it has.
        hooks: The hooks it runs in, where the workflow is in an agent's list. None: those a
            processor has; `process_input` and `process_output_result` for all else.
        timeout: Seconds that one try may take. None: any.
        retries: Further tries after a failure that may go away, with growing pauses.
        on_error: `raise`, `block` (abort) or `continue` (go on with what came in; logged).
            None: what a processor says itself, else `raise`.
        thread: Whether a plain function, or the plain hooks of a processor, run in a worker
            thread.
        ignore: Ids of lint rules that do not apply to it.

    Raises:
        ConfigurationError: An option that cannot be.

    Examples:
        >>> @step(id="double", retries=2)
        ... def twice(number: int) -> int:
        ...     return 2 * number
        >>> twice(4), twice.id, twice.options.retries
        (8, 'double', 2)
    """
    if id is not None and (not isinstance(id, str) or not id.strip()):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"step: id={id!r} must be a text that is not empty")
    if timeout is not None and not timeout > 0:
        raise ConfigurationError(f"step: timeout={timeout!r} must be more than 0 seconds, or None")
    if not isinstance(retries, int) or retries < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"step: retries={retries!r} must be a whole number from 0")
    if on_error is not None and on_error not in _ON_ERROR:
        raise ConfigurationError(f"step: on_error={on_error!r} must be one of {', '.join(_ON_ERROR)}, or None")
    if isinstance(hooks, str):
        raise ConfigurationError(f"step: hooks={hooks!r} must be a list of hook names")
    options = StepOptions(
        hooks=None if hooks is None else frozenset(hooks),
        timeout_s=timeout,
        retries=retries,
        on_error=on_error,
        thread=thread,
        ignore=tuple(ignore),
    )
    if thing is not None:
        return StepSpec(thing, id, options)

    def decorate(given: T) -> StepSpec[T]:
        return StepSpec(given, id, options)

    return decorate
