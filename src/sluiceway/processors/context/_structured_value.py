"""From the text of an answer to the object in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import json_repair
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
from pydantic import ValidationError as PydanticError
from pydantic_core import from_json, to_json
from referencing import Registry
from referencing.exceptions import Unresolvable

from sluiceway.errors import ConfigurationError

__all__ = ["Misfit", "Shape", "Value", "partial_value"]

_FENCED: Final = re.compile(r"\A```[\w+-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\Z", re.DOTALL)
_FENCE: Final = re.compile(r"^```[\w+-]*[ \t]*\r?\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_OPENING: Final = re.compile(r"[{\[]")
_MOST_STARTS: Final = 20
_LENIENT: Final = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a text is not the object that was asked for; never a value of it.

    Args:
        path: Where in the object, such as `items[0].price`; `""` is the whole of it.
        reason: What is wrong there.
    """

    path: str
    reason: str

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"at {self.path}: {self.reason}" if self.path else self.reason


@dataclass(frozen=True, slots=True)
class Value:
    """An object that fits.

    Args:
        plain: As JSON has it.
        made: As the type makes it; the same where the shape is a JSON schema.
    """

    plain: Any
    made: Any


class Shape:
    """What an answer should be: a type that pydantic takes, or a JSON schema.

    Args:
        wanted: The type or the schema.

    Raises:
        ConfigurationError: It is neither.
    """

    __slots__ = ("_check", "wanted")

    def __init__(self, wanted: Any) -> None:
        self.wanted = wanted
        self._check: Callable[[Any], Value | Misfit] = (
            _schema_check(cast("Mapping[str, Any]", wanted)) if isinstance(wanted, Mapping) else _type_check(wanted)
        )

    def check(self, value: Any) -> Value | Misfit:
        """Return a JSON value as an object that fits, or why it does not."""
        return self._check(value)

    def parse(self, text: str) -> Value | Misfit:
        """Return the object in a text, or why there is none.

        The text may be JSON alone, in a fence, or among other words; line breaks and tabs in
        its texts need not be escaped. JSON that was cut off is none.
        """
        first: Misfit | None = None
        for value in _candidates(text.strip()):
            found = self.check(value)
            if isinstance(found, Value):
                return found
            first = first or found
        return first or _no_json(text)


def partial_value(text: str) -> Any:
    """Return what can be read of an object that is still coming, or None."""
    start = _OPENING.search(text)
    if start is None:
        return None
    try:
        return from_json(text[start.start() :].encode("utf-8", "replace"), allow_partial="trailing-strings")
    except ValueError:
        return None


# --- reading


def _candidates(text: str) -> Iterator[Any]:
    """Give the JSON values that a text may mean, the likeliest first."""
    fenced = _FENCED.match(text)
    for body in (text, fenced[1] if fenced else None):
        if body is not None:
            yield from _whole(body)
    for found in _FENCE.finditer(text):
        yield from _whole(found[1])
    yield from _embedded(text)
    bare = (fenced[1] if fenced else text).strip()
    if bare[:1] in ("{", "[") and bare[-1:] in ("}", "]"):
        yield from _repaired(bare)


def _whole(text: str) -> Iterator[Any]:
    try:
        yield from_json(text.encode("utf-8", "replace"))
    except ValueError:
        try:
            yield _LENIENT.decode(text.strip())
        except (ValueError, RecursionError):
            return


def _embedded(text: str) -> Iterator[Any]:
    """Give the objects and lists that stand among other words."""
    at, starts = 0, 0
    while (found := _OPENING.search(text, at)) is not None and starts < _MOST_STARTS:
        starts += 1
        try:
            value, at = _LENIENT.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            return  # broken or cut off: what is inside of it is not what was asked for
        yield value


def _repaired(text: str) -> Iterator[Any]:
    """Give what is meant by JSON with small faults; what was cut is not guessed at."""
    if any(text.count(opened) != text.count(closed) for opened, closed in ("{}", "[]")):
        return
    try:
        from_json(text.encode("utf-8", "replace"), allow_partial="trailing-strings")
    except ValueError:
        value: Any = json_repair.loads(text)
        if isinstance(value, dict | list):
            yield cast("Any", value)


def _no_json(text: str) -> Misfit:
    if not text.strip():
        return Misfit("", "the answer is empty")
    start = _OPENING.search(text)
    if start is None:
        return Misfit("", "the answer is no JSON")
    try:
        from_json(text[start.start() :].encode("utf-8", "replace"), allow_partial="trailing-strings")
    except ValueError as error:
        return Misfit("", f"the answer is no JSON: {error}")
    return Misfit("", "the JSON is cut off")


# --- checking


def _type_check(wanted: Any) -> Callable[[Any], Value | Misfit]:
    try:
        if isinstance(wanted, str):  # pydantic would take it for the name of a type
            raise TypeError(wanted)
        adapter: TypeAdapter[Any] = TypeAdapter(wanted)
    except (PydanticUserError, PydanticSchemaGenerationError, TypeError) as error:
        raise ConfigurationError(
            f"structured output needs a type that pydantic takes or a JSON schema, not {wanted!r}"
        ) from error

    def check(value: Any) -> Value | Misfit:
        try:
            return Value(value, adapter.validate_json(to_json(value)))
        except PydanticError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            return Misfit(_path(first["loc"]), first["msg"])
        except ValueError as error:  # deeper than JSON is read
            return Misfit("", f"the answer cannot be checked: {error}")

    return check


def _schema_check(schema: Mapping[str, Any]) -> Callable[[Any], Value | Misfit]:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ConfigurationError(f"structured output: this is no JSON schema: {error.message}") from error
    # A registry of one's own: without it a `$ref` to a URL would be fetched.
    registry: Registry[Any] = Registry()
    validator = Draft202012Validator(schema, registry=registry)

    def check(value: Any) -> Value | Misfit:
        try:
            found: ValidationError | None = next(cast("Any", validator).iter_errors(value), None)
        except RecursionError:
            return Misfit("", "the answer is nested too deeply to be checked")
        except Unresolvable as error:
            return Misfit("", f"the schema refers to {error.ref!r}, which is not in it")
        if found is None:
            return Value(value, value)
        return Misfit(_path(tuple(found.absolute_path)), _rule(found))

    return check


def _rule(error: ValidationError) -> str:
    """Return which rule a value breaks, without the value."""
    kind = str(error.validator)
    if kind == "required":
        return error.message
    return f"it does not fit {kind!r}: {json.dumps(error.validator_value, default=str)[:200]}"


def _path(places: Any) -> str:
    path = ""
    for place in places:
        path += f"[{place}]" if isinstance(place, int) else f".{place}" if path else str(place)
    return path
