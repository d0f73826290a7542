"""`Settings`: what a call of a model can be told, under one name for all providers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sluiceway.errors import ConfigurationError

__all__ = ["Settings", "settings_of"]

Seconds = Annotated[float, Field(gt=0)]


class Settings(BaseModel):
    """The settings of a call. None leaves one to the provider, or to the model object.

    What a provider has no word for is left out, with a warning in the `finish` chunk. What
    only one provider knows goes into `provider_options`.

    Attributes:
        temperature: From 0 up.
        top_p: From 0 to 1.
        top_k: From 1 up.
        max_tokens: The most the answer may take, in tokens, reasoning included.
        stop: Texts that end the answer.
        seed: For the same answer again, where the provider can.
        presence_penalty: From -2 to 2.
        frequency_penalty: From -2 to 2.
        reasoning_effort: Such as `low`, `medium`, `high`.
        parallel_tool_calls: Whether one answer may hold several tool calls.
        headers: More headers of the request. Their values are shown nowhere.
        max_retries: How often a refused call is made again, before the first chunk.
        retry_unknown_errors: Whether errors without an HTTP status are tried again too; False
            by default.
        connect_timeout_s: For making a connection, in seconds.
        read_timeout_s: The longest silence of the server, in seconds.
        total_timeout_s: For the whole answer, in seconds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: Annotated[float, Field(ge=0)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    stop: str | Sequence[str] | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    reasoning_effort: str | None = None
    parallel_tool_calls: bool | None = None
    headers: Mapping[str, str] = Field(default_factory=dict, repr=False)
    max_retries: Annotated[int, Field(ge=0)] | None = None
    retry_unknown_errors: bool = False
    connect_timeout_s: Seconds | None = None
    read_timeout_s: Seconds | None = None
    total_timeout_s: Seconds | None = None


def settings_of(values: Mapping[str, Any]) -> Settings:
    """Return the settings in a mapping.

    Raises:
        ConfigurationError: A name that there is not, or a value out of range; values are
            not shown.
    """
    try:
        return Settings.model_validate(dict(values))
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {_WORDS.get(item['type'], item['msg'])}"
            for item in error.errors(include_url=False, include_input=False, include_context=False)
        )
    raise ConfigurationError(f"model settings: {wrong}; known are {', '.join(Settings.model_fields)}")


_WORDS = {"extra_forbidden": "no such setting"}
