"""How updates change a working memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from sluiceway.errors import StorageError
from sluiceway.memory._working_text import is_blank, merge_lines, patched, relaxed


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [  # RFC 7396, appendix A, as far as the target is an object
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_patch(before: Any, patch: Any, after: Any) -> None:
    assert json.loads(patched(json.dumps(before), patch) or "") == after


@pytest.mark.parametrize("patch", [None, {}, [], "x", 7])
def test_what_is_no_patch_changes_nothing(patch: Any) -> None:
    assert patched('{"a": 1}', patch) == '{"a": 1}'
    assert patched(None, patch) is None


def test_a_first_patch_makes_the_object() -> None:
    assert patched(None, {"a": 1, "b": None}) == '{"a":1}'


class Address(BaseModel):
    city: str
    zip: int


class Person(BaseModel):
    name: str
    address: Address
    nicknames: list[str]


def test_a_schema_for_updates_asks_for_nothing_and_lets_everything_be_null() -> None:
    check = Draft202012Validator(relaxed(Person.model_json_schema()))
    for good in ({}, {"name": None}, {"address": {"city": "Oslo"}}, {"address": {"zip": None}}, {"nicknames": []}):
        check.validate(good)
    for bad in ({"name": 7}, {"address": {"zip": "x"}}, {"nicknames": [1]}, {"address": "Oslo"}):
        assert not check.is_valid(bad)


@pytest.mark.parametrize("text", ["", " \n", "# A\n- b:", "# A\r\n\r\n-  b: "])
def test_a_blank_text(text: str) -> None:
    assert is_blank(text, "# A\n- b:")


def test_a_text_that_says_something() -> None:
    assert not is_blank("# A\n- b: x", "# A\n- b:")
    assert not is_blank("# A", "# A\n- b:")


BASE = "name: Ann\ncity: Bern\nlikes:\n- tea"


@pytest.mark.parametrize(
    ("mine", "theirs", "merged"),
    [
        ("name: Ann\ncity: Oslo\nlikes:\n- tea", BASE, "name: Ann\ncity: Oslo\nlikes:\n- tea"),
        (BASE, "name: Bob\ncity: Bern\nlikes:\n- tea", "name: Bob\ncity: Bern\nlikes:\n- tea"),
        (
            "name: Ann\ncity: Oslo\nlikes:\n- tea",
            "name: Bob\ncity: Bern\nlikes:\n- tea",
            "name: Bob\ncity: Oslo\nlikes:\n- tea",
        ),
        (
            "name: Ann\ncity: Oslo\nlikes:\n- tea\n- jam",
            "name: Bob\ncity: Bern\nlikes:\n- tea\n- rye",
            "name: Bob\ncity: Oslo\nlikes:\n- tea\n- rye\n- jam",
        ),
        ("city: Oslo\nlikes:\n- tea", "name: Ann\ncity: Rome\nlikes:\n- tea", "city: Oslo\nlikes:\n- tea"),
        (
            "name: Ann\ncity: Bern\nlikes:\n- mate",
            "name: Ann\ncity: Bern\nlikes:\n- water",
            "name: Ann\ncity: Bern\nlikes:\n- mate",
        ),
    ],
)
def test_texts_of_two_writers(mine: str, theirs: str, merged: str) -> None:
    assert merge_lines(BASE, mine, theirs) == merged


def test_a_text_from_before_the_template_was_a_model_is_not_lost() -> None:
    with pytest.raises(StorageError, match="the working memory is no JSON, as one of a markdown template"):
        patched("# User\n- Name: Ann", {"name": "Bo"})
    assert patched("# User\n- Name: Ann", {}) == "# User\n- Name: Ann"
