"""Cached answers come back as they were; objects are found however they are wrapped."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluiceway.errors import MessageError
from sluiceway.messages import Chunk
from sluiceway.processors.context._bm25 import ToolIndex, words_of
from sluiceway.processors.context._cache_values import decoded, encoded
from sluiceway.processors.context._structured_value import Misfit, Shape, Value, partial_value
from sluiceway.tools import Tool

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text().filter(lambda key: not key.startswith("$")), inner, max_size=3)
    ),
    max_leaves=10,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(st.tuples(st.text(min_size=1), st.dictionaries(st.sampled_from("abc"), PLAIN)), min_size=1, max_size=4))
def test_chunks_come_back_as_they_were(drawn: list[tuple[str, dict[str, Any]]]) -> None:
    chunks = [Chunk(kind, payload) for kind, payload in drawn]
    assert decoded(encoded(chunks)) == chunks


@given(st.binary(max_size=200) | st.text(max_size=200) | JSON.map(json.dumps))
def test_rubbish_is_told_from_an_answer(value: bytes | str) -> None:
    try:
        chunks = decoded(value)
    except MessageError:
        return
    assert all(isinstance(chunk, Chunk) for chunk in chunks)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.sampled_from(["{}", "```json\n{}\n```", "Here:\n{}\nDone."]))
def test_an_object_is_found_however_it_is_wrapped(value: dict[str, Any], wrapped: str) -> None:
    found = Shape({"type": "object"}).parse(wrapped.replace("{}", json.dumps(value)))
    assert found == Value(value, value)


@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4), st.data())
def test_a_cut_object_is_none(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    assert isinstance(Shape({"type": "object"}).parse(cut), Misfit)
    assert partial_value(cut) is None or isinstance(partial_value(cut), dict)


WORD = st.sampled_from(["mail", "file", "send", "list", "get", "user", "order", "page"])
WORDS = st.lists(WORD, min_size=1, max_size=5)


@given(st.lists(WORDS, min_size=1, max_size=40), WORDS, st.integers(1, 6))
def test_the_best_tools_are_those_of_a_search_that_looks_at_all(
    described: list[list[str]], query: list[str], top_k: int
) -> None:
    tools = [Tool(f"t{number}", " ".join(text)) for number, text in enumerate(described)]
    index = ToolIndex(tools)

    scores = [
        sum(index._impacts.get(word, {}).get(place, 0.0) for word in sorted(set(words_of(" ".join(query)))))
        for place in range(len(tools))
    ]
    best = sorted(scores, reverse=True)[:top_k]
    found = index.search(" ".join(query), top_k)

    assert [round(score, 9) for _, score in found] == [round(score, 9) for score in best if score > 0]
    assert [round(scores[tools.index(tool)], 9) for tool, _ in found] == [round(score, 9) for _, score in found]
