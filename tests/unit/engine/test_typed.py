"""Declared types: checked, stored and brought back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, Protocol

import pytest
from pydantic import BaseModel

from sluiceway.engine import TypeCheck
from sluiceway.engine._typed import plain_json
from sluiceway.errors import SnapshotError


class Model(BaseModel):
    day: date


@dataclass
class Point:
    x: int


class Plain:
    pass


class Shape(Protocol):
    def area(self) -> float: ...


@pytest.mark.parametrize("declared", [None, Any, object, Shape, "Nowhere"])
def test_what_says_nothing_or_cannot_be_checked_is_not_checked(declared: Any) -> None:
    assert TypeCheck.of(declared) is None


@pytest.mark.parametrize(
    ("declared", "given", "value"),
    [
        (int, "3", 3),
        (list[int], ("1", 2), [1, 2]),
        (Model, {"day": "2030-01-02"}, Model(day=date(2030, 1, 2))),
        (Point, {"x": 1}, Point(1)),
        (int | None, None, None),
        (Literal["a", "b"], "b", "b"),
    ],
)
def test_data_is_converted_to_the_type(declared: Any, given: Any, value: Any) -> None:
    check = TypeCheck(declared)
    assert check.check(given) == value
    assert check.load(check.dump(value)) == value


def test_an_object_of_any_class_is_checked_by_its_class() -> None:
    one = Plain()
    check = TypeCheck(Plain)
    assert check.check(one) is one
    with pytest.raises(ValueError, match="value: Input should be an instance of Plain"):
        check.check(3)


def test_a_fault_says_where_and_shows_no_data() -> None:
    with pytest.raises(ValueError, match="day: ") as caught:
        TypeCheck(Model).check({"day": "my secret"})
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match=r"0\.day: Field required; 1: Input should be"):
        TypeCheck(list[Model]).check([{}, 5])


def test_json_that_no_longer_fits_is_a_fault() -> None:
    with pytest.raises(ValueError, match="day: "):
        TypeCheck(Model).load({"day": 1.5})


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "x", [1, [2]], {"a": {"b": [None]}}])
def test_json_is_itself(value: Any) -> None:
    assert plain_json(value, "it") == value


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (Plain(), "it is a Plain"),
        ([1, {"a": b"x"}], "it[1].a is a bytes"),
        ({("t",): 1}, "the key ('t',) of it is a tuple"),
        (type("Text", (str,), {})("x"), "it is a Text"),
    ],
)
def test_all_else_is_refused_with_its_place(value: Any, where: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        plain_json(value, "it")
    assert str(caught.value).startswith(where)
