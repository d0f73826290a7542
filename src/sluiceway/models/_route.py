"""`route`: from the name of a model to the model."""

from __future__ import annotations

from sluiceway.errors import ConfigurationError
from sluiceway.models._anthropic import AnthropicMessages
from sluiceway.models._endpoint import checked_url
from sluiceway.models._openai import OpenAIChat
from sluiceway.models._port import Model
from sluiceway.models._providers import PROVIDERS
from sluiceway.models._scripted import EchoModel

__all__ = ["route"]


def route(model: str | Model) -> Model:
    """Return the model that a string names, or the model itself.

    A model made from a name has `from_string` set: another one of the same provider and name
    is the same model. One made from an address has not, since the address counts too.

    Args:
        model: `provider/model`, such as `openai/gpt-5-mini` or
            `openrouter/openai/gpt-oss-20b`; `http://host:port/v1#model` for a server that
            speaks Chat Completions; `echo/echo`; or a model.

    Raises:
        ConfigurationError: No such provider, or no model; the text names the providers
            that are known.

    Examples:
        >>> route("ollama/qwen3")
        OpenAIChat('qwen3', provider='ollama')
    """
    if not isinstance(model, str):
        if isinstance(model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
            return model
        raise ConfigurationError(f"a model is a string or has `stream`, not {type(model).__name__}")
    if "://" in model:
        address, _, name = model.partition("#")
        if not name:
            checked_url(address)  # before it is shown
            raise ConfigurationError(f"{address!r} names no model; write {address}#model")
        return OpenAIChat(name, provider="openai-compatible", base_url=address)
    provider, _, name = model.partition("/")
    if provider != "echo" and provider not in PROVIDERS:
        known = ", ".join(sorted([*PROVIDERS, "echo"]))
        raise ConfigurationError(
            f"unknown provider {provider!r} in {model!r}; known are {known}, and http://host:port/v1#model"
        )
    if not name:
        raise ConfigurationError(f"{model!r} names no model; write {provider}/model")
    made = _made(provider, name)
    made.from_string = True
    return made


def _made(provider: str, name: str) -> EchoModel | AnthropicMessages | OpenAIChat:
    if provider == "echo":
        return EchoModel(name)
    if PROVIDERS[provider].api == "messages":
        return AnthropicMessages(name)
    return OpenAIChat(name, provider=provider)
