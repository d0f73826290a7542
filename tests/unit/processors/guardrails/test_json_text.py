"""Texts that are JSON, in what tools are called with: found inside, and still JSON afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway.messages import Chunk
from sluiceway.processors import PIIDetector, RegexFilterProcessor, RegexRule
from sluiceway.processors.guardrails._json_text import JsonText

pytestmark = pytest.mark.anyio

CARD = 4111111111111111


async def called(args: Any, guard: Any = None) -> tuple[Any, list[Any]]:
    guard = guard or PIIDetector(redaction_method="placeholder")
    call = Chunk("tool-call", {"tool_call_id": "c", "tool_name": "t", "args": args})
    ran = await guard.run_on([call], hook="process_output_stream")
    return ran.parts[0].get("args"), [entry for violation in ran.violations for entry in violation.detail]


@pytest.mark.parametrize(
    ("body", "becomes"),
    [
        (r'{"mail": "ann\u0040example.org"}', '{"mail": "[EMAIL]"}'),
        (r'{"mail": "x\nann@example.org"}', r'{"mail": "x\n[EMAIL]"}'),
        (r'{"mail": "x\\nann@example.org"}', r'{"mail": "x\\[EMAIL]"}'),
        (r'{"ann@example.org" : [1.50, true, null]}', '{"[EMAIL]" : [1.50, true, null]}'),
        ('{"card":4111111111111111,"n":1e999}', '{"card":0,"n":1e999}'),
        (r'{"url": "https:\/\/example.org\/a?b=c", "a": "\/"}', r'{"url": "[URL]", "a": "\/"}'),
        (r'["caf\u00e9 ann@example.org", "café ann@example.org"]', r'["caf\u00e9 [EMAIL]", "café [EMAIL]"]'),
        (r'["\ud800 ann@example.org"]', r'["\ud800 [EMAIL]"]'),
        ('"ann@example.org"', '"[EMAIL]"'),
        (r'{"a": "{\"b\": \"x\\nann@example.org\", \"n\": 4111111111111111}"}',
         r'{"a": "{\"b\": \"x\\n[EMAIL]\", \"n\": 0}"}'),
        (r'{"code": "mail = \"ann\\u0040example.org\""}', r'{"code": "mail = \"[EMAIL]\""}'),
        ('{"api_key": "AbC123def456ghi7"}', '{"api_key": "[API_KEY]"}'),
        (r"mail ann\u0040example.org", "mail [EMAIL]"),
        ('{"no": json, ann@example.org', '{"no": json, [EMAIL]'),
        ('{"a": "b"}', '{"a": "b"}'),
    ],
)  # fmt: skip
async def test_a_text_that_is_json_stays_json(body: str, becomes: str) -> None:
    args, found = await called({"body": body, "n": 1})
    assert args == {"body": becomes, "n": 1}
    assert bool(found) == (body != becomes)


async def test_where_it_was_counts_in_the_text_as_it_is_written() -> None:
    body = json.dumps({"a": json.dumps({"b": "x\nann@example.org"}), "c": "eve\u0040x.org"})
    _, found = await called({"body": body})
    places = [body[entry["offset"] : entry["offset"] + entry["length"]] for entry in found]
    assert sorted(places) == ["ann@example.org", "eve@x.org"]
    assert {entry["path"] for entry in found} == {"/body"}


async def test_what_goes_over_several_values_stays_json() -> None:
    guard = RegexFilterProcessor(rules=[RegexRule("all", r"from.*?to", 'X"\n')], strategy="redact")
    args, _ = await called({"body": '{"a": "it is from", "": 12, "": "", "b": "here to there", "c": 3}'}, guard)
    assert args == {"body": r'{"a": "it is X\"\n", "": 0, "": "", "": " there", "c": 3}'}


async def test_the_mask_is_that_of_what_is_meant() -> None:
    args, _ = await called({"body": r'{"m": "\u0061nn@example.org", "p": "4111\n1111 1111 1111"}'}, PIIDetector())
    assert args == {"body": r'{"m": "a*n@*******.org", "p": "****\n**** **** 1111"}'}


async def test_the_pattern_of_a_user_sees_what_strings_say() -> None:
    guard = RegexFilterProcessor(rules=[RegexRule("badge", r"^EMP-\d+$|(?<=\s)EMP-\d+")], strategy="redact")
    args, _ = await called({"body": r'{"b": "my\tEMP-424242"}'}, guard)
    assert args == {"body": r'{"b": "my\t[REDACTED]"}'}


SECRETS = ("ann@example.org", "4111 1111 1111 1111", "AKIAIOSFODNN7PLANTED")
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([1, -2.5, CARD, 10**20]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.tuples(st.sampled_from(["", "x\n", '"', "\\", "é "]), st.sampled_from(SECRETS)).map("".join),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "ann@example.org"]), inner, max_size=3),
        inner.map(lambda value: json.dumps([value])),  # JSON in JSON
    ),
    max_leaves=6,
)


@st.composite
def escaped_json(draw: st.DrawFn) -> str:
    """JSON some of whose characters are written as escapes, which of them is anybody's guess."""
    text = json.dumps([draw(VALUES)], ensure_ascii=draw(st.booleans()))
    text = text.replace("@", draw(st.sampled_from(["@", r"\u0040"])))
    return text.replace("K", draw(st.sampled_from(["K", r"\u004b"])))


def shape(value: Any, depth: int = 0) -> Any:
    """Return what kind of value it is, JSON in texts read."""
    if isinstance(value, str):
        if JsonText.of(value) is None:
            return "text"
        return ["json", shape(json.loads(value), depth + 1)]
    if isinstance(value, dict):
        return [shape(inner, depth) for inner in value.values()]
    return [shape(inner, depth) for inner in value] if isinstance(value, list) else type(value).__name__


def said(value: Any) -> list[str]:
    """Return all that it says."""
    if isinstance(value, str) and JsonText.of(value) is not None:
        return said(json.loads(value))
    if isinstance(value, dict):
        return [text for key, inner in value.items() for text in (*said(key), *said(inner))]
    return [text for inner in value for text in said(inner)] if isinstance(value, list) else [str(value)]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@given(escaped_json())
@settings(max_examples=100)
async def test_any_json_keeps_its_shape_and_says_no_secret(body: str) -> None:
    args, _ = await called({"body": body})
    assert shape(json.loads(args["body"])) == shape(json.loads(body))
    assert [text for text in said(json.loads(args["body"])) if any(s in text for s in (*SECRETS, str(CARD)))] == []


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        json.dumps(["\\" * 20_000 + '"'] * 10),
        '["' + r"\u005c" * 50_000 + '"]',
        "[" + "9" * 300_000 + "]",
        json.dumps([["ann@example.org", 1]] * 5_000),
        '["' + "[" * 100_000 + '"]',
    ],
)
async def test_time_is_linear(text: str) -> None:
    """A square of it would take minutes."""
    guard = PIIDetector(detection_types=["email"], redaction_method="remove")
    args, _ = await called({"body": text}, guard)
    assert "ann@example.org" not in args["body"]


def test_json_in_json_is_read_to_a_depth() -> None:
    text = "[]"
    for _ in range(9):
        text = json.dumps([text])
    depth, opened = 0, JsonText.of(text)
    while opened is not None:
        depth, opened = depth + 1, next((inner for inner, _ in opened.nested), None)
    assert depth == 8
