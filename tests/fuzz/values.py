"""JSON of any shape, with the names that a parser looks for, and valid documents that are broken a little."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

__all__ = ["PLAIN", "broken_json", "cut_anywhere", "json_values", "mutated", "nested"]

_Draw: TypeAlias = "Callable[[st.SearchStrategy[Any]], Any]"
_Step: TypeAlias = "tuple[Any, Any]"
"""A list or dict, and the index or key of one of its items."""

PLAIN: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**63, -(2**63) - 1, 10**30, 1e308, -1.5, float("nan"), float("inf")]),
    st.sampled_from(["", "x", "\x00", "\ud800", "\u2028", "1", "-1", "2030-01-01T00:00:00+00:00", "a" * 300]),
    st.text(max_size=6),
)
"""Values that are neither list nor object, odd ones among them."""


def json_values(names: Sequence[str], words: Sequence[str] = (), *, most: int = 15) -> st.SearchStrategy[Any]:
    """JSON values.

    Args:
        names: The keys that a parser looks for.
        words: Texts that it knows.
        most: How many values there are in one.
    """
    plain = PLAIN | st.sampled_from(words) if words else PLAIN
    keys = st.sampled_from(names) | st.text(max_size=3)
    return st.recursive(
        plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5), max_leaves=most
    )


def nested(depth: int) -> str:
    """JSON that is deeper than a parser that calls itself can go."""
    return '{"a":[' * depth + "1" + "]}" * depth


@st.composite
def mutated(draw: _Draw, documents: Sequence[Any], names: Sequence[str] = ("x",)) -> Any:
    """A valid document in which up to three places hold something else, are gone or are there twice."""
    document = [copy.deepcopy(draw(st.sampled_from(documents)))]
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(_places(document)))
        how = draw(st.sampled_from(["replace", "swap", "drop", "rename", "repeat"]))
        if how == "drop" and holder is not document:
            del holder[key]
        elif how == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from(names))] = holder.pop(key)
        elif how == "repeat" and isinstance(holder, list) and holder is not document:
            holder.insert(key, copy.deepcopy(holder[key]))
        elif how == "swap":
            other, at = draw(st.sampled_from(_places(document)))
            holder[key] = copy.deepcopy(other[at])
        else:
            holder[key] = draw(json_values(names, most=5))
    return document[0]


def _places(document: Any) -> list[_Step]:
    """Return where everything in a document is."""
    places: list[_Step] = []
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            places.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return places


@st.composite
def broken_json(draw: _Draw, documents: Sequence[Any], names: Sequence[str] = ("x",)) -> str:
    """The text of a valid document that was changed, cut off, or hit in one character."""
    text = json.dumps(draw(mutated(documents, names)), ensure_ascii=draw(st.booleans()))
    how = draw(st.sampled_from(["whole", "cut", "hit"]))
    at = draw(st.integers(0, len(text)))
    if how == "cut":
        return text[:at]
    if how == "hit":
        return text[:at] + draw(st.sampled_from(['"', "}", "[", ",", "\\", "\x00", "-", "1e999", ""])) + text[at + 1 :]
    return text


def cut_anywhere(data: bytes, places: Sequence[int]) -> list[bytes]:
    """Return bytes in pieces, cut where the numbers say."""
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in itertools.pairwise(edges)]
