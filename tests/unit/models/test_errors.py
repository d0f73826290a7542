"""What is said about a failed call."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluiceway.models._errors import Refusals, outline, retry_after_s

NOW = datetime(2025, 3, 10, 12, 0, 0, tzinfo=UTC)
words = st.text("abcdefghij", min_size=12, max_size=20)
json_values = st.recursive(
    words | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("XYZ"), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Mon, 10 Mar 2025 12:01:30 GMT"}, 90.0),
        ({"retry-after": "Mon, 10 Mar 2025 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 10 Mar 2025 12:00:05"}, 5.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "9" * 5000}, None),
        ({"retry-after": "21 Oct 99999999999999999999 1:1:1 GMT"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_provider_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        (b'{"a": "secret", "b": [1, "secret", {"c": null}]}', '{"a": "…", "b": [1, "…", {"c": null}]}'),
        (b'{"a": "sec', '{"a": "…"'),
        (rb'{"a": "sec\" ret", "b": "x\\"}', '{"a": "…", "b": "…"}'),
        (b'{"a": "sec\\', '{"a": "…"'),
        (b"secret", "no JSON"),
        (b"{'a': 'secret words', 5: true}", "{…: … …, 5: true}"),
        (b"", "no JSON"),
        (b"[" + b"1," * 1000, "[" + "1," * 79 + "1…"),
    ],
)
def test_the_shape_of_what_came_has_no_texts(data: bytes, shape: str) -> None:
    assert outline(data) == shape


@given(json_values, st.floats(min_value=0, max_value=1), words)
def test_no_text_of_a_stream_is_in_its_shape_wherever_it_is_cut(value: Any, where: float, key: str) -> None:
    data = json.dumps({"X": value, "Y": [key]}).encode()
    shape = outline(data[: int(len(data) * where)])
    assert not any(letter in shape.replace("no JSON", "").replace("null", "") for letter in "abcdefghij")


@given(words, words, st.integers(min_value=400, max_value=599))
def test_no_secret_is_in_an_error(secret: str, other: str, status: int) -> None:
    refusals = Refusals("p", "m", [secret, f"Bearer {other}", other])
    body = json.dumps({"error": {"message": f"not {secret} nor Bearer {other}"}, "seen": [secret, other]})
    error = refusals.refused(status, {"x-request-id": "r"}, body.encode())
    for text in (str(error), error.body or "", repr(error), repr(refusals), repr(vars(error))):
        assert secret not in text
        assert other not in text
    assert (error.status, error.request_id) == (status, "r")


def test_a_secret_is_taken_out_whole_also_where_it_is_escaped_or_holds_another() -> None:
    refusals = Refusals("p", "m", ["abc/def+", "abc/def+ghi", "abc"])
    body = rb'{"message": "a abc\/def+ghi b abc/def+ghi c abc%2Fdef%2B"}'
    error = refusals.refused(401, {"x-request-id": "r-abc"}, body)
    assert (str(error), error.body, error.request_id) == (
        "p: HTTP 401: a [secret] b [secret] c [secret]",
        '{"message": "a [secret] b [secret] c [secret]"}',
        "r-[secret]",
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "a"}}, "a"),
        ({"error": "a"}, "a"),
        ({"message": "a"}, "a"),
        ({"detail": "a"}, "a"),
        ({"detail": [{"msg": "a"}]}, "a"),
        ([{"error": {"message": "a"}}], "a"),
        ({"object": "error", "message": "a"}, "a"),
        ({"error": {}}, '{"error": {}}'),
        ([], "[]"),
        (5, "5"),
    ],
)
def test_the_words_of_a_provider_are_found(body: Any, said: str) -> None:
    assert str(Refusals("p", "m").refused(400, {}, json.dumps(body).encode())) == f"p: HTTP 400: {said}"
