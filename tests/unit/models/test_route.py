"""route: from names to models."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.models import AnthropicMessages, EchoModel, OpenAIChat, ScriptedModel, route

KNOWN = (
    "anthropic, azure, cerebras, deepseek, echo, fireworks, google, groq, llamacpp, lmstudio, "
    "mistral, ollama, openai, openrouter, together, vllm, xai"
)


@pytest.mark.parametrize(
    ("name", "kind", "provider", "model_id"),
    [
        ("openai/gpt-5-mini", OpenAIChat, "openai", "gpt-5-mini"),
        ("openrouter/openai/gpt-oss-safeguard-20b", OpenAIChat, "openrouter", "openai/gpt-oss-safeguard-20b"),
        ("ollama/qwen3:4b", OpenAIChat, "ollama", "qwen3:4b"),
        ("anthropic/claude-sonnet-4-5", AnthropicMessages, "anthropic", "claude-sonnet-4-5"),
        ("echo/echo", EchoModel, "echo", "echo"),
        ("http://127.0.0.1:8000/v1#org/m", OpenAIChat, "openai-compatible", "org/m"),
        ("https://api.example.org/v1/#m", OpenAIChat, "openai-compatible", "m"),
    ],
)
def test_a_name_is_a_model(name: str, kind: type, provider: str, model_id: str) -> None:
    model = route(name)
    assert (type(model), model.provider, model.model_id) == (kind, provider, model_id)
    assert getattr(model, "from_string", None) is ("://" not in name)


def test_a_model_is_itself() -> None:
    model = ScriptedModel("a")
    assert route(model) is model


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "opnai/gpt",
            f"unknown provider 'opnai' in 'opnai/gpt'; known are {KNOWN}, and http://host:port/v1#model",
        ),
        ("gpt-5", "unknown provider 'gpt-5' in 'gpt-5'; known are "),
        ("openai/", "'openai/' names no model; write openai/model"),
        ("echo", "'echo' names no model; write echo/model"),
        ("http://127.0.0.1/v1", "'http://127.0.0.1/v1' names no model; write http://127.0.0.1/v1#model"),
        ("ftp://127.0.0.1/v1#m", "base_url is no http or https URL: 'ftp://127.0.0.1/v1'"),
        (7, "a model is a string or has `stream`, not int"),
    ],
)
def test_what_names_no_model_is_an_error_that_says_what_would(name: Any, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        route(name)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("url", ["http://ann:s3cret@host/v1", "http://tok3n@host/v1"])
def test_an_address_with_a_password_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIChat("m", base_url=url)
    assert str(caught.value) == "base_url holds a name or a password; pass headers instead"
    with pytest.raises(ConfigurationError) as caught:
        route(url)
    assert str(caught.value) == "base_url holds a name or a password; pass headers instead"


@pytest.mark.parametrize("url", ["http://[::1", "http://a]b[/v1"])
def test_an_address_that_cannot_be_read_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIChat("m", base_url=url)
    assert str(caught.value) == f"base_url is no http or https URL: {url!r}"


def test_an_address_with_a_query_is_refused_without_showing_it() -> None:
    """A key in it would be in the logs of the HTTP client."""
    with pytest.raises(ConfigurationError) as caught:
        OpenAIChat("m", base_url="http://host/v1?key=s3cret")
    assert str(caught.value) == "base_url has a query; pass a client with params instead"


def test_a_provider_that_is_not_known_needs_an_address() -> None:
    with pytest.raises(ConfigurationError, match="provider 'mine' is not known; pass base_url"):
        OpenAIChat("m", provider="mine")
    assert OpenAIChat("m", provider="mine", base_url="http://127.0.0.1/v1").provider == "mine"
