"""RequestContext: values for a run, and secrets that show up nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluiceway.errors import ConfigurationError
from sluiceway.tools import RequestContext

names = st.text(min_size=1, max_size=8)
values = st.integers() | st.text(max_size=5) | st.none()
secret_texts = st.text("0123456789abcdef", min_size=24, max_size=24)


def test_a_value_is_read_back_with_its_default() -> None:
    context = RequestContext({"plan": "free"})
    context.set("tries", 2)
    assert dict(context) == {"plan": "free", "tries": 2}
    assert (context.get("tries"), context.get("none"), context.get("none", 7)) == (2, None, 7)


def test_what_it_is_made_of_is_copied() -> None:
    given_values: dict[str, Any] = {"plan": "free"}
    context = RequestContext(given_values)
    context.set("plan", "paid")
    given_values["other"] = 1
    assert dict(context) == {"plan": "paid"}
    assert given_values == {"plan": "free", "other": 1}


def test_ids_are_given_or_found_among_the_values() -> None:
    named = RequestContext(resource_id="u1", thread_id="t1")
    found = RequestContext({"resource_id": "u2", "thread_id": "t2"})
    both = RequestContext({"resource_id": "u2"}, resource_id="u1")
    assert (named.resource_id, named.thread_id) == ("u1", "t1")
    assert (found.resource_id, found.thread_id) == ("u2", "t2")
    assert (both.resource_id, both.thread_id) == ("u1", None)


def test_of_takes_a_context_a_mapping_or_nothing() -> None:
    context = RequestContext({"a": 1})
    assert RequestContext.of(context) is context
    assert RequestContext.of({"a": 1}) == context
    assert dict(RequestContext.of(None)) == {}


def test_a_copy_is_apart_and_keeps_ids_and_secrets() -> None:
    context = RequestContext({"a": 1}, resource_id="u", thread_id="t")
    context.set("token", "s3cret", secret=True)
    copy = context.copy()
    copy.set("a", 2)
    copy.set("more", "x", secret=True)
    assert (dict(context), context.secrets) == ({"a": 1, "token": "s3cret"}, {"token"})
    assert dict(copy) == {"a": 2, "token": "s3cret", "more": "x"}
    assert (copy.secrets, copy.resource_id, copy.thread_id) == ({"token", "more"}, "u", "t")


def test_a_secret_stays_one_when_it_is_set_again() -> None:
    context = RequestContext()
    context.set("key", "old", secret=True)
    context.set("key", "new")
    assert (context["key"], context.public(), context.secrets) == ("new", {}, {"key"})


@pytest.mark.parametrize("name", ["Authorization", "api_key", "API-Key", "password", "auth token", "Cookie"])
def test_a_name_that_is_only_ever_a_secret_needs_no_mark(name: str) -> None:
    context = RequestContext({name: "s3cret", "keyboard": "qwerty"})
    assert (context.public(), context.secrets) == ({"keyboard": "qwerty"}, {name})


def test_its_repr_names_ids_and_secrets() -> None:
    context = RequestContext({"plan": "free"}, resource_id="u1")
    context.set("token", "s3cret", secret=True)
    assert repr(context) == "RequestContext({'plan': 'free'}, resource_id='u1', secrets=['token'])"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: RequestContext({1: 2}), "a name in a RequestContext is a string, not int"),  # type: ignore[dict-item]
        (lambda: RequestContext({"resource_id": 5}), "resource_id is a string or None, not int"),
        (lambda: RequestContext(thread_id=b"t"), "thread_id is a string or None, not bytes"),  # type: ignore[arg-type]
    ],
)
def test_what_it_cannot_hold_is_named(make: Any, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert str(caught.value) == text


@given(st.dictionaries(names, values), st.dictionaries(names, secret_texts, min_size=1))
def test_no_secret_is_ever_shown(shown: dict[str, Any], secrets: dict[str, str]) -> None:
    context = RequestContext(shown)
    for name, secret in secrets.items():
        context.set(name, secret, secret=True)
    for one in (context, context.copy(), RequestContext(context), RequestContext.of(context)):
        assert dict(one) == {**shown, **secrets}
        assert not any(secret in repr(one) or secret in str(one) for secret in secrets.values())
        assert not any(secret in repr(one.public()) for secret in secrets.values())
        assert one.secrets >= set(secrets)


@pytest.mark.parametrize("value", [5, "text", ["a"]])
def test_what_is_no_mapping_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="request_context must be a RequestContext or a mapping"):
        RequestContext.of(value)
