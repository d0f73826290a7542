"""Settings: one set of names for all providers."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.models import Settings
from sluiceway.models._settings import settings_of


def test_what_is_not_given_is_none() -> None:
    given = settings_of({"temperature": 1, "stop": ["a"], "headers": {"x": "y"}})
    assert given == Settings(temperature=1.0, stop=["a"], headers={"x": "y"})
    assert (given.max_tokens, given.retry_unknown_errors) == (None, False)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"temprature": 1}, "model settings: temprature: no such setting; known are temperature, top_p, "),
        ({"temperature": -1}, "model settings: temperature: Input should be greater than or equal to 0; known"),
        ({"max_tokens": 0}, "model settings: max_tokens: Input should be greater than or equal to 1; known"),
        ({"read_timeout_s": 0}, "model settings: read_timeout_s: Input should be greater than 0; known"),
        ({"headers": {"x-key": 5}}, "model settings: headers.x-key: Input should be a valid string; known"),
    ],
)
def test_a_wrong_setting_is_named(values: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        settings_of(values)
    assert str(caught.value).startswith(text)


def test_no_header_is_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        settings_of({"headers": {"x-key": "s3cret"}, "top_k": "s3cret"})
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(Settings(headers={"x-key": "s3cret"}))
