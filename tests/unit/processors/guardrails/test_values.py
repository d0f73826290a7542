"""Texts inside of JSON-like values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from sluiceway.processors.guardrails._values import rewrite_value


def shout(text: str, path: str) -> str:
    return text.replace("a", "A")


def test_texts_change_and_everything_else_stays() -> None:
    value: dict[str, Any] = {"a": ["a", 1, True, None, 2.5, {"x/y": ("ab", b"a")}], "n": 12}
    changed = rewrite_value(value, shout)
    assert changed == {"a": ["A", 1, True, None, 2.5, {"x/y": ["Ab", b"a"]}], "n": 12}
    assert value == {"a": ["a", 1, True, None, 2.5, {"x/y": ("ab", b"a")}], "n": 12}


def test_a_value_without_changes_is_the_same_object() -> None:
    for value in ({"b": ["c", (1, 2)]}, [], "b", None, 5, 10**50, object()):
        assert rewrite_value(value, shout) is value


def test_texts_come_in_order_with_their_path() -> None:
    seen: list[tuple[str, str]] = []

    def note(text: str, path: str) -> str:
        seen.append((path, text))
        return text

    rewrite_value({"x": ["p", {"a/b~c": "q"}], "n": 4111111111111111, "z": "r"}, note)
    assert seen == [("/x/0", "p"), ("/x/1/a~1b~0c", "q"), ("/n", "4111111111111111"), ("/z", "r")]


def test_a_number_stays_a_number() -> None:
    assert rewrite_value([4111111111111111, -5], lambda text, path: "*") == [0, -5]


def test_models_and_dataclasses_become_dicts_when_they_change() -> None:
    class Person(BaseModel):
        name: str

    @dataclass
    class Pet:
        name: str

    assert rewrite_value([Person(name="ann"), Pet("cat")], shout) == [{"name": "Ann"}, {"name": "cAt"}]


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
