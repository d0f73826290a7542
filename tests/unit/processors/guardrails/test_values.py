"""Texts inside of JSON-like values."""

from __future__ import annotations

import decimal
import enum
import pathlib
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, RootModel, SecretStr, field_serializer

from sluiceway.processors.guardrails._values import rewrite_value


def shout(text: str, path: str) -> str:
    return text.replace("a", "A")


def keep(text: str, path: str) -> str:
    return text


def test_texts_change_and_everything_else_stays() -> None:
    value: dict[str, Any] = {"k": ["a", 1, True, None, 2.5, {"x/y": ("ab", b"b")}], "n": 12}
    changed = rewrite_value(value, shout)
    assert changed == {"k": ["A", 1, True, None, 2.5, {"x/y": ["Ab", b"b"]}], "n": 12}
    assert value == {"k": ["a", 1, True, None, 2.5, {"x/y": ("ab", b"b")}], "n": 12}


def test_keys_change_and_those_that_become_the_same_are_numbered() -> None:
    value = {"a": 1, "ab": {"a": 2}, "A": 3, 5: 4}
    assert rewrite_value(value, lambda text, path: text.replace("ab", "a").replace("a", "A")) == {
        "A (2)": 1,
        "A (3)": {"A": 2},
        "A": 3,
        5: 4,
    }
    assert rewrite_value({"a": "a"}, shout, keys=keep) == {"a": "A"}


class Opaque:
    """Says where it is in memory, and no more."""


class Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


class Shade(enum.Enum):
    DARK = "dark"
    PAIR = ("dark", {"x": "a"})


class Number(enum.IntEnum):
    CARD = 4111111111111111


class Subtle(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "sa" + "y"


class Secret(BaseModel):
    token: SecretStr

    @field_serializer("token")
    def shown(self, token: SecretStr) -> str:
        return token.get_secret_value()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Shade.DARK, "dArk"),
        (Shade.PAIR, ["dArk", {"x": "A"}]),
        (Named("ann"), "Ann"),
        (ValueError("bad"), "bAd"),
        (decimal.Decimal("NaN"), "NAN"),
        (pathlib.PurePosixPath("a/b"), "A/b"),
        (b"bad", b"bAd"),
        ("bäd a".encode("latin-1"), "bäd A".encode("latin-1")),
        (bytearray(b"a"), b"A"),
        (memoryview(b"a"), b"A"),
        ({"a"}, ["A"]),
        (Subtle("b"), "sAy"),
        (range(10**12), "rAnge(0, 1000000000000)"),
        (RootModel[list[str]](["a"]), ["A"]),
        (Secret(token=SecretStr("bad")), {"token": "bAd"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_json_is_looked_at_as_json_shows_it(value: Any, expected: Any) -> None:
    assert rewrite_value([value], shout, keys=keep) == [expected]
    assert rewrite_value(value, lambda text, _: text) is value


@pytest.mark.parametrize(
    "value", [Opaque(), b"\0a", float("nan"), float("inf"), 1e300, True], ids=lambda value: type(value).__name__
)
def test_what_says_nothing_is_left_alone(value: Any) -> None:
    assert rewrite_value(value, lambda text, path: text.replace("a", "*")) is value


@pytest.mark.parametrize(
    ("number", "digits"),
    [(4111111111111111.0, "4111111111111111"), (-1234567.5, "-1234567.5"), (Number.CARD, "4111111111111111")],
)
def test_a_number_is_looked_at_as_its_digits(number: Any, digits: str) -> None:
    seen: list[str] = []
    assert rewrite_value(number, lambda text, path: seen.append(text) or "*") == 0
    assert seen == [digits]


def test_paths_show_keys_as_they_are_afterwards() -> None:
    seen: list[tuple[str, str]] = []

    def note(text: str, path: str) -> str:
        seen.append((path, text))
        return text.replace("a", "*")

    rewrite_value({"x": {"a": "b"}}, note)
    assert seen == [("", "x"), ("/x", "a"), ("/x/*", "b")]


def test_a_value_without_changes_is_the_same_object() -> None:
    for value in ({"b": ["c", (1, 2)]}, [], "b", None, 5, 10**50, object()):
        assert rewrite_value(value, shout) is value


def test_texts_come_in_order_with_their_path() -> None:
    seen: list[tuple[str, str]] = []

    def note(text: str, path: str) -> str:
        seen.append((path, text))
        return text

    rewrite_value({"x": ["p", {"a/b~c": "q"}], "n": 4111111111111111, "z": "r"}, note, keys=keep)
    assert seen == [("/x/0", "p"), ("/x/1/a~1b~0c", "q"), ("/n", "4111111111111111"), ("/z", "r")]


def test_a_number_stays_a_number() -> None:
    assert rewrite_value([4111111111111111, -5], lambda text, path: "*") == [0, -5]


def test_models_and_dataclasses_become_dicts_when_they_change() -> None:
    class Person(BaseModel):
        name: str

    @dataclass
    class Pet:
        name: str

    assert rewrite_value([Person(name="ann"), Pet("cat")], shout, keys=keep) == [{"name": "Ann"}, {"name": "cAt"}]


def test_what_stands_in_two_places_changes_in_both() -> None:
    shared = ["a"]
    assert rewrite_value([shared, shared], shout) == [["A"], ["A"]]


def test_any_depth_and_values_that_contain_themselves() -> None:
    deep: Any = "a"
    for _ in range(20_000):
        deep = [deep]
    changed = rewrite_value(deep, shout)
    for _ in range(20_000):
        changed = changed[0]
    assert changed == "A"
    ring: list[Any] = ["a"]
    ring.append(ring)
    turned = rewrite_value(ring, shout)
    assert turned[0] == "A"
    assert turned[1] is turned
