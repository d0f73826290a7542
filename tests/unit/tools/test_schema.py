"""Schemas from functions, and arguments that do or do not fit them."""

from __future__ import annotations

import datetime as dt
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from sluiceway.errors import MessageError
from sluiceway.tools import Tool, tool

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "minimum": 1},
        "unit": {"enum": ["c", "f"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["city"],
    "additionalProperties": False,
}


class Colour(Enum):
    RED = "red"


class Place(BaseModel):
    name: str
    tags: list[str] = []


def everything(
    place: Place,
    when: dt.date,
    colours: set[Colour],
    unit: Literal["c", "f"] = "c",
    limit: Annotated[int, Field(ge=1, description="Its own text.")] = 5,
    *,
    note: str | None = None,
    **more: int,
) -> dict[str, Any]:
    """Take everything.

    It goes on here.

    Args:
        place: Where.
        when: On which day,
            in this year.
        limit: Not used: the annotation has one.
    """
    return {"place": place, "when": when, "colours": colours, "unit": unit, "limit": limit, "more": more}


def numpy_style(a: int) -> None:
    """Summary.

    Parameters
    ----------
    a
        From numpy.
    """


def sphinx_style(a: int) -> None:
    """Summary.

    :param a: From sphinx.
    """


def bare(a: int) -> None: ...


def test_the_docstring_gives_the_prose_and_a_text_per_parameter() -> None:
    made = tool(everything)
    texts = {name: field.get("description") for name, field in made.parameters["properties"].items()}
    assert made.description == "Take everything.\n\nIt goes on here."
    assert texts == {
        "place": "Where.",
        "when": "On which day, in this year.",
        "colours": None,
        "unit": None,
        "limit": "Its own text.",
        "note": None,
    }
    assert made.parameters["required"] == ["place", "when", "colours"]
    assert made.parameters["additionalProperties"] == {"type": "integer"}


@pytest.mark.parametrize(
    ("fn", "text", "parameter"),
    [(numpy_style, "Summary.", "From numpy."), (sphinx_style, "Summary.", "From sphinx."), (bare, "", None)],
)
def test_other_styles_are_read_too(fn: Any, text: str, parameter: str | None) -> None:
    made = tool(fn)
    assert (made.description, made.parameters["properties"]["a"].get("description")) == (text, parameter)


def test_every_schema_is_a_json_schema() -> None:
    for fn in (everything, numpy_style, bare):
        schema = json.loads(json.dumps(dict(tool(fn).parameters)))
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"


@pytest.mark.anyio
async def test_json_becomes_the_annotated_types() -> None:
    args = {"place": {"name": "Rome"}, "when": "2024-02-29", "colours": ["red"], "extra": "7"}
    assert await tool(everything).call(args) == {
        "place": Place(name="Rome"),
        "when": dt.date(2024, 2, 29),
        "colours": {Colour.RED},
        "unit": "c",
        "limit": 5,
        "more": {"extra": 7},
    }


def one(a: int, b: str = "") -> None: ...


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({}, "a: missing"),
        ({"a": "x"}, "a: Input should be a valid integer, unable to parse string as an integer"),
        ({"a": 1, "c": 2}, "c: not a parameter of this tool"),
        ({"b": 5}, "a: missing; b: Input should be a valid string"),
    ],
)
def test_what_does_not_fit_a_function_is_named(args: dict[str, Any], text: str) -> None:
    with pytest.raises(MessageError) as caught:
        tool(one).check(args)
    assert str(caught.value) == f"tool 'one': arguments do not fit: {text}"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({}, "missing: city"),
        ({"city": 3}, "city: should be of type string"),
        ({"city": "x"}, "city: does not meet minLength 2"),
        ({"city": "Rome", "unit": "k"}, 'unit: should be one of ["c", "f"]'),
        ({"city": "Rome", "tags": ["a", 1]}, "tags[1]: should be of type string"),
        ({"city": "Rome", "zip": 1}, "holds names that the schema does not have"),
    ],
)
def test_what_does_not_fit_a_schema_is_named(args: dict[str, Any], text: str) -> None:
    with pytest.raises(MessageError) as caught:
        Tool("weather", "", SCHEMA).check(args)
    assert str(caught.value) == f"tool 'weather': arguments do not fit: {text}"


@pytest.mark.parametrize("args", [None, [], "city", 3])
def test_arguments_that_are_no_object_are_refused(args: Any) -> None:
    for made in (Tool("weather", "", SCHEMA), tool(one)):
        with pytest.raises(MessageError, match="an object is needed, not"):
            made.check(args)


def test_arguments_nested_too_deeply_are_refused_not_fatal() -> None:
    deep: Any = {}
    for _ in range(20_000):
        deep = {"next": deep}
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    with pytest.raises(MessageError, match="nested too deeply"):
        Tool("tree", "", schema).check(deep)


@contextmanager
def short_waits() -> Iterator[None]:
    """Have whoever opens a socket give up soon."""
    socket.setdefaulttimeout(1)
    try:
        yield
    finally:
        socket.setdefaulttimeout(None)


def test_a_schema_on_the_network_is_not_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, short_waits():
        url = f"http://127.0.0.1:{server.getsockname()[1]}/s.json"
        made = Tool("far", "", {"type": "object", "properties": {"a": {"$ref": url}}})
        with pytest.raises(MessageError) as caught:
            made.check({"a": 1})
        server.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody came
            server.accept()
    assert str(caught.value) == f"tool 'far': its schema refers to {url!r}, which is not in it"


@given(st.dictionaries(st.sampled_from(["city", "days", "unit", "tags", "zip"]), json_values))
def test_a_schema_lets_pass_what_its_validator_lets_pass(args: dict[str, Any]) -> None:
    fits = jsonschema.Draft202012Validator(SCHEMA).is_valid(args)
    try:
        passed = Tool("weather", "", SCHEMA).check(args) == ((), args)
    except MessageError:
        passed = False
    assert passed == fits


@given(st.text("0123456789abcdef", min_size=16), json_values)
def test_an_error_holds_no_value(secret: str, other: Any) -> None:
    """What does not fit may be what must not be shown."""
    wrong = {"city": {"inner": secret}, "days": secret, "unit": secret, "tags": [[secret, other]]}
    for check in (Tool("weather", "", SCHEMA).check, tool(one).check):
        with pytest.raises(MessageError) as caught:
            check(wrong)
        assert secret not in str(caught.value)


@given(st.integers(), st.text())
def test_what_fits_reaches_the_function(a: int, b: str) -> None:
    assert tool(one).check({"a": a, "b": b}) == ((), {"a": a, "b": b})
