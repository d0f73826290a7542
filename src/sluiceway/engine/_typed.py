"""Checking and storing values of a declared type, through pydantic."""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic import (
    ConfigDict,
    PydanticSchemaGenerationError,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import SchemaError

from sluiceway._types import JSON
from sluiceway.engine._step import Data
from sluiceway.errors import SnapshotError

__all__ = ["TypeCheck", "fault", "plain_json"]


class TypeCheck:
    """A declared type: checks values, and makes JSON of them and back.

    Args:
        declared: Anything pydantic can check, or a plain class.

    Raises:
        ConfigurationError: Nothing pydantic can make a check of.
    """

    __slots__ = ("_adapter", "declared")

    def __init__(self, declared: Any) -> None:
        self.declared = declared
        self._adapter = _adapter(declared)

    @classmethod
    def of(cls, declared: Any) -> TypeCheck | None:
        """Return the check of an annotation, or None where there is nothing to check."""
        if declared is None or declared is Any or declared is object:
            return None
        try:
            check = cls(declared)
        except (PydanticSchemaGenerationError, PydanticUserError, SchemaError, TypeError, NameError):
            return None
        return check if check._adapter.pydantic_complete else None

    def check(self, value: Data) -> Data:
        """Return the value as the type has it.

        Raises:
            ValueError: It does not fit; the text says where, and holds no value.
        """
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            raise ValueError(fault(error)) from None

    def dump(self, value: Data) -> JSON:
        """Return the value as JSON.

        Raises:
            ValueError: It cannot be JSON.
        """
        return cast("JSON", self._adapter.dump_python(value, mode="json", warnings="error"))

    def load(self, stored: JSON) -> Data:
        """Return a value of the type from its JSON.

        Raises:
            ValueError: The JSON does not fit.
        """
        try:
            return self._adapter.validate_json(json.dumps(stored))
        except ValidationError as error:
            raise ValueError(fault(error)) from None


def _adapter(declared: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(declared, config=ConfigDict(arbitrary_types_allowed=True))
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise
        return TypeAdapter(declared)


def fault(error: ValidationError) -> str:
    """Return what does not fit and where, without the data."""
    faults = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'value'}: {fault['msg']}" for fault in faults)


def plain_json(value: Data, where: str) -> JSON:
    """Return a value that is JSON as it stands; tuples become lists.

    Args:
        value: The value.
        where: How an error calls it.

    Raises:
        SnapshotError: It, or something in it, is not JSON and would come back as something else.
    """
    kind = cast("type[Any]", type(value))
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in (list, tuple):
        return [plain_json(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if kind is dict:
        made: dict[str, JSON] = {}
        for key, item in value.items():
            if type(key) is not str:
                raise _refused(f"the key {key!r} of {where}", cast("type[Any]", type(key)))
            made[key] = plain_json(item, f"{where}.{key}")
        return made
    raise _refused(where, kind)


def _refused(where: str, kind: type) -> SnapshotError:
    return SnapshotError(
        f"{where} is a {kind.__name__}, which is not JSON and would not come back as it was; "
        "annotate what the step returns, so that it is stored and restored as that type, "
        "or map it to plain data"
    )
