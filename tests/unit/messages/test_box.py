"""Plain values: copied without sharing, compared at any depth."""

from collections import ChainMap, OrderedDict
from types import MappingProxyType
from typing import Any

import pytest

from sluiceway.errors import MessageError
from sluiceway.messages import copy_value
from sluiceway.messages._box import Box, same_value


def nested(depth: int) -> Any:
    value: Any = "leaf"
    for i in range(depth):
        value = [value] if i % 2 else {"k": value}
    return value


def test_a_copy_shares_no_container() -> None:
    value = {"a": [1, {"b": (2, [3])}], "s": {4}}
    copy = copy_value(value)
    assert copy == value
    copy["a"][1]["b"][1].append(5)
    copy["s"].add(6)
    assert value == {"a": [1, {"b": (2, [3])}], "s": {4}}


def test_read_only_mappings_become_dicts() -> None:
    inner = {"a": [1]}
    for given in (MappingProxyType(inner), OrderedDict(inner), ChainMap(inner)):
        copy = copy_value(given)
        assert (type(copy), copy) == (dict, {"a": [1]})
        assert copy["a"] is not inner["a"]


def test_any_depth_is_copied_and_compared() -> None:
    value = nested(50_000)
    copy = copy_value(value)
    assert same_value(copy, value)
    assert not same_value(copy, nested(49_999))


def test_what_is_no_container_is_copied_at_any_depth() -> None:
    inner: Any = {1}
    value: Any = inner
    for _ in range(5_000):
        value = [value]
    copy = copy_value(value)
    inner.add(2)
    for _ in range(5_000):
        (copy,) = copy
    assert copy == {1}


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {"a": 1}
    loop["self"] = loop
    with pytest.raises(MessageError, match="contains itself"):
        copy_value(loop)


def test_values_that_cannot_be_compared_differ() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise ValueError

        __hash__ = None  # pyright: ignore[reportAssignmentType]

    assert not same_value(Odd(), Odd())


def test_the_kept_value_of_a_box_never_gets_out() -> None:
    kept = {"a": [1]}
    box = Box(kept)
    box.get()["a"].append(2)
    assert kept == {"a": [1]}
    assert box.sync()
    assert not box.sync()
    state = box.state()
    box.get()["a"].append(3)
    assert state == {"a": [1, 2]}
    assert box.peek() == {"a": [1, 2, 3]}
