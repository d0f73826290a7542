"""`Tool`, and how functions and agents become tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, cast, overload, runtime_checkable

import anyio.to_thread

from sluiceway.errors import ConfigurationError, MessageError
from sluiceway.messages import ToModelOutput
from sluiceway.tools._context import ToolContext
from sluiceway.tools._docstring import describe
from sluiceway.tools._schema import ArgumentCheck, SchemaCheck, SignatureCheck, context_parameter

__all__ = ["Tool", "ToolLike", "as_tools", "tool"]


class Tool:
    """Something a model may ask to be run.

    Frozen. Several calls of one tool may run at the same time.

    Args:
        name: What the model calls it.
        description: What the model is told about it. None: the docstring of `run`.
        parameters: JSON schema (2020-12) of the arguments, which then reach `run` as they
            are. None: made from the signature and docstring of `run`, and the arguments are
            converted to the annotated types.
        run: Called with the arguments by name, in a worker thread if it is a plain `def`.
            A parameter annotated `ToolContext` is filled in and not in the schema. None: the
            client runs the tool; the call is returned to it.
        to_model_output: Makes of a result what the model is shown instead; where it returns
            None, the model is shown the result.

    Raises:
        ConfigurationError: No name, a wrong schema, or a `run` that cannot be called by name.

    Examples:
        >>> def add(a: int, b: int) -> int:
        ...     '''Add two numbers.'''
        ...     return a + b
        >>> Tool("add", run=add).parameters["required"]
        ['a', 'b']
    """

    __slots__ = ("_check", "_context_name", "description", "name", "parameters", "run", "to_model_output")

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[..., Any] | None
    to_model_output: ToModelOutput | None

    def __init__(
        self,
        name: str,
        description: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        run: Callable[..., Any] | None = None,
        to_model_output: ToModelOutput | None = None,
    ) -> None:
        if not isinstance(name, str) or not name.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"a tool needs a name, not {name!r}")
        if run is not None and not callable(run):
            raise ConfigurationError(f"tool {name!r}: `run` is a function or None, not {type(run).__name__}")
        described = None if run is None else describe(run)
        check: ArgumentCheck
        if parameters is None and run is not None and described is not None:
            check = SignatureCheck(name, run, described)
            schema: Mapping[str, Any] = check.schema
        else:
            schema = {"type": "object", "properties": {}} if parameters is None else dict(parameters)
            check = SchemaCheck(name, schema)
        text = described.text if description is None and described is not None else description or ""
        for field, value in (
            ("name", name),
            ("description", text),
            ("parameters", MappingProxyType(dict(schema))),
            ("run", run),
            ("to_model_output", to_model_output),
            ("_check", check),
            ("_context_name", None if run is None else context_parameter(run)),
        ):
            object.__setattr__(self, field, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Tool cannot be changed: {name}")

    async def call(self, args: Mapping[str, Any], context: ToolContext | None = None) -> Any:
        """Check the arguments and run the tool.

        Args:
            args: As the model gave them.
            context: For the parameter annotated `ToolContext`; None: an empty one.

        Returns:
            What `run` returned.

        Raises:
            MessageError: The arguments do not fit; the text names the tool, the argument and
                what is wrong, and holds no value.
            ConfigurationError: The tool is the client's to run.
        """
        if self.run is None:
            raise ConfigurationError(f"tool {self.name!r} is run by the client")
        positional, named = self.check(args)
        if self._context_name is not None:
            named[self._context_name] = ToolContext() if context is None else context
        return await _call(self.run, positional, named)

    def check(self, args: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments as `run` takes them, without its `ToolContext`.

        Raises:
            MessageError: They do not fit.
        """
        if not isinstance(args, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise MessageError(
                f"tool {self.name!r}: arguments do not fit: an object is needed, not {type(args).__name__}"
            )
        if self._context_name is not None and self._context_name in args:
            raise MessageError(
                f"tool {self.name!r}: arguments do not fit: {self._context_name}: not for a model to give"
            )
        check = cast(ArgumentCheck, self._check)
        positional, named = check(args)
        if self.run is not None and isinstance(check, SchemaCheck):
            self._bind(named)
        return positional, named

    def _bind(self, named: Mapping[str, Any]) -> None:
        """See to it that a call that fits the schema also fits the function."""
        assert self.run is not None
        try:
            signature = inspect.signature(self.run)
        except ValueError:  # some builtins have none
            return
        filled = {} if self._context_name is None else {self._context_name: None}
        try:
            signature.bind(**named, **filled)
        except TypeError as error:
            raise MessageError(f"tool {self.name!r}: arguments do not fit: {error}") from None

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


@runtime_checkable
class _BecomesTool(Protocol):
    def as_tool(self) -> Tool: ...


ToolLike: TypeAlias = "Tool | Callable[..., Any] | _BecomesTool"
"""A `Tool`, a function, or an object with `as_tool()` such as an agent."""


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    to_model_output: ToModelOutput | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    to_model_output: ToModelOutput | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a `Tool` of a function, plain or as a decorator.

    Args:
        fn: The function.
        name: What the model calls it. None: the function's name.
        description: What the model is told. None: the docstring without its parameters.
        to_model_output: See `Tool`.

    Raises:
        ConfigurationError: See `Tool`.

    Examples:
        >>> @tool(name="weather")
        ... def lookup(city: str) -> str:
        ...     '''Say what the weather is like.'''
        ...     return f"sunny in {city}"
        >>> lookup.name, lookup.description
        ('weather', 'Say what the weather is like.')
    """

    def make(function: Callable[..., Any]) -> Tool:
        own = getattr(function, "__name__", type(function).__name__)
        return Tool(own if name is None else name, description, None, function, to_model_output)

    return make if fn is None else make(fn)


def as_tools(items: Iterable[ToolLike] | Mapping[str, ToolLike] | None) -> dict[str, Tool]:
    """Make tools of functions, tools and agents.

    Args:
        items: A sequence, or a mapping whose keys are the tools' names.

    Returns:
        The tools by name, in the order given.

    Raises:
        ConfigurationError: Two tools of one name, a key that is not its tool's name, or
            something that cannot be a tool.
    """
    tools: dict[str, Tool] = {}
    for key, item in _named(items):
        made = _as_tool(item, key)
        if made.name in tools:
            raise ConfigurationError(
                f"two tools are named {made.name!r}; give one of them another name with tool(name=...)"
            )
        tools[made.name] = made
    return tools


def _named(items: Iterable[ToolLike] | Mapping[str, ToolLike] | None) -> list[tuple[str | None, ToolLike]]:
    if items is None:
        return []
    if isinstance(items, Mapping):
        return list(cast("Mapping[str, ToolLike]", items).items())
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"tools are a list of functions and tools, not {type(items).__name__}")
    return [(None, item) for item in items]


def _as_tool(item: ToolLike, name: str | None) -> Tool:
    if isinstance(item, Tool):
        made = item
    elif isinstance(item, _BecomesTool):
        made = item.as_tool()
    elif callable(item):
        return tool(item) if name is None else tool(name=name)(item)
    else:
        raise ConfigurationError(f"no tool can be made of {type(item).__name__}; pass a function or a Tool")
    if name is not None and made.name != name:
        raise ConfigurationError(f"the tool under {name!r} is named {made.name!r}; use one name")
    return made


async def _call(run: Callable[..., Any], positional: tuple[Any, ...], named: dict[str, Any]) -> object:
    target = run if inspect.isroutine(run) else type(run).__call__
    if inspect.iscoroutinefunction(target):
        return await run(*positional, **named)
    # In a tuple: trio refuses a worker's function that returns a coroutine.
    (result,) = await anyio.to_thread.run_sync(lambda: (run(*positional, **named),))
    if inspect.isawaitable(result):
        return await result
    return result
