"""Checking a call's arguments: against a function's signature, or against a JSON schema."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, cast, get_args, get_type_hints

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
from pydantic import ValidationError as PydanticError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import ArgsKwargs
from referencing import Registry
from referencing.exceptions import Unresolvable

from sluiceway.errors import ConfigurationError, MessageError
from sluiceway.tools._context import ToolContext
from sluiceway.tools._docstring import Described

__all__ = ["ArgumentCheck", "SchemaCheck", "SignatureCheck", "context_parameter", "hints_of"]

_SHOWN_ERRORS = 5
_PLAIN_WORDS = {
    "missing_argument": "missing",
    "missing_keyword_only_argument": "missing",
    "unexpected_keyword_argument": "not a parameter of this tool",
}


class ArgumentCheck(Protocol):
    """Turns the arguments of a call into what the function is called with."""

    def __call__(self, args: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return positional and keyword arguments; `MessageError` where they do not fit."""
        ...


class SignatureCheck:
    """Arguments by a function's annotations, converted where pydantic converts.

    Args:
        name: The tool's, for errors.
        fn: The function.
        described: Its docstring; parameters without a text of their own get theirs from it.

    Raises:
        ConfigurationError: A parameter that a call by name cannot fill, or a type that has
            no JSON schema.
    """

    def __init__(self, name: str, fn: Callable[..., Any], described: Described) -> None:
        self._name = name
        self.context_name = context_parameter(fn)
        shim = _shim(name, fn, self.context_name)
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, shim))
            schema = self._adapter.json_schema()
        except (PydanticUserError, PydanticSchemaGenerationError, PydanticInvalidForJsonSchema) as error:
            raise ConfigurationError(
                f"tool {name!r}: no JSON schema for its parameters ({error.message.splitlines()[0]}); "
                "annotate them with types that JSON can hold, or pass a Tool with `parameters`"
            ) from error
        self.schema = _with_texts(schema, described.parameters)

    def __call__(self, args: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what to call the function with."""
        try:
            return self._adapter.validate_python(ArgsKwargs((), dict(args)))
        except PydanticError as error:
            found = [
                (tuple(item["loc"]), _PLAIN_WORDS.get(item["type"], item["msg"]))
                for item in error.errors(include_url=False, include_input=False, include_context=False)
            ]
        raise _misfit(self._name, found)


class SchemaCheck:
    """Arguments by a JSON schema (2020-12). They are not converted; nothing is fetched.

    Args:
        name: The tool's, for errors.
        schema: Of the arguments object.

    Raises:
        ConfigurationError: The schema itself is wrong.
    """

    def __init__(self, name: str, schema: Mapping[str, Any]) -> None:
        self._name = name
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            where = error.json_path.removeprefix("$").lstrip(".") or "its top"
            raise ConfigurationError(
                f"tool {name!r}: `parameters` is no JSON schema: at {where}: {error.message}"
            ) from error
        # A registry of one's own: without it a `$ref` to a URL would be fetched.
        registry: Registry[Any] = Registry()
        self._validator = Draft202012Validator(schema, registry=registry)

    def __call__(self, args: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what to call the function with."""
        given = dict(args)
        try:
            found = [(tuple(error.absolute_path), _rule(error)) for error in self._errors(given)]
        except RecursionError:
            found: list[tuple[tuple[str | int, ...], str]] = [((), "nested too deeply to be checked")]
        except Unresolvable as error:
            raise MessageError(f"tool {self._name!r}: its schema refers to {error.ref!r}, which is not in it") from None
        if found:
            raise _misfit(self._name, found)
        return (), given

    def _errors(self, given: Mapping[str, Any]) -> list[ValidationError]:
        errors: list[ValidationError] = []
        found: Iterable[ValidationError] = cast(Any, self._validator).iter_errors(given)
        for error in found:
            errors.append(error)
            if len(errors) > _SHOWN_ERRORS:
                break
        return errors


def hints_of(fn: Callable[..., Any]) -> dict[str, Any]:
    """Return a function's annotations, resolved where that is possible."""
    if isinstance(fn, partial):
        return hints_of(cast("partial[Any]", fn).func)
    target = fn if inspect.isroutine(fn) else type(fn).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except NameError:
        # A name that exists only for type checkers: the rest may still be of use.
        return dict(getattr(target, "__annotations__", {}))


def context_parameter(fn: Callable[..., Any]) -> str | None:
    """Return the name of the parameter that is annotated `ToolContext`, if there is one."""
    for name, hint in hints_of(fn).items():
        if name != "return" and _is_context(hint):
            return name
    return None


def _is_context(hint: object) -> bool:
    if isinstance(hint, str):
        return hint.replace(" ", "").removesuffix("|None").rpartition(".")[2] == "ToolContext"
    return hint is ToolContext or ToolContext in get_args(hint)


def _shim(name: str, fn: Callable[..., Any], context_name: str | None) -> Callable[..., Any]:
    """A function with the signature that the model sees, giving back what it is called with."""
    kept: list[inspect.Parameter] = []
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.name == context_name:
            continue
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise ConfigurationError(
                f"tool {name!r}: parameter {parameter.name!r} cannot be given by name; "
                "a model gives every argument by name"
            )
        kept.append(parameter.replace(kind=parameter.KEYWORD_ONLY) if parameter.kind != 4 else parameter)
    hints = hints_of(fn)

    def arguments(**kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), kwargs

    arguments.__signature__ = inspect.Signature(kept)
    arguments.__annotations__ = {p.name: hints[p.name] for p in kept if p.name in hints}
    arguments.__module__ = fn.__module__ if inspect.isroutine(fn) else type(fn).__module__
    arguments.__name__ = arguments.__qualname__ = getattr(fn, "__name__", name)
    return arguments


def _with_texts(schema: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    described: dict[str, Any] = {}
    for name, field in properties.items():
        without_title = {key: value for key, value in field.items() if key != "title"}
        if texts.get(name) and "description" not in without_title:
            without_title["description"] = texts[name]
        described[name] = without_title
    return {"type": "object", **schema, "properties": described}


def _misfit(name: str, found: Sequence[tuple[tuple[str | int, ...], str]]) -> MessageError:
    lines = [f"{_path(where)}: {what}" if where else what for where, what in found[:_SHOWN_ERRORS]]
    if len(found) > _SHOWN_ERRORS:
        lines.append("and more")
    return MessageError(f"tool {name!r}: arguments do not fit: {'; '.join(lines)}")


def _path(where: Sequence[str | int]) -> str:
    path = ""
    for item in where:
        path += f"[{item}]" if isinstance(item, int) else f".{item}" if path else item
    return path


def _rule(error: ValidationError) -> str:
    """Say what the schema asks for, without the value: that may be what must not be shown."""
    keyword = str(error.validator)
    wanted: Any = error.validator_value
    if keyword == "required" and isinstance(error.instance, Mapping):
        instance = cast(Mapping[str, Any], error.instance)
        return f"missing: {', '.join(key for key in wanted if key not in instance)}"
    if keyword == "additionalProperties":
        return "holds names that the schema does not have"
    if keyword == "type":
        return f"should be of type {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"
    if keyword == "enum":
        return f"should be one of {json.dumps(wanted, default=str)[:200]}"
    return f"does not meet {keyword} {json.dumps(wanted, default=str)[:200]}"
