"""Asking a model, and showing what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sluiceway.errors import ModelError
from sluiceway.messages import Chunk, Prompt, PromptMessage, PromptText
from sluiceway.models import AnthropicMessages, Model, ModelCall, ModelRequest, OpenAIChat, Timeouts
from tests.integration.modelserver import ModelServer

KEY = "sk-test-4f9c2d7e8b1a"
WHOLE = "Grüße aus Köln 🌉."
"""The text of the plain transcripts."""

Make = Callable[..., OpenAIChat | AnthropicMessages]


def asking(text: str = "hi", **more: Any) -> ModelRequest:
    return ModelRequest(Prompt((PromptMessage("user", (PromptText(text),)),)), run_id="run-1", **more)


def openai(server: ModelServer, **more: Any) -> OpenAIChat:
    return OpenAIChat("m-1", base_url=server.url, **{"api_key": KEY, **more})


def anthropic(server: ModelServer, **more: Any) -> AnthropicMessages:
    return AnthropicMessages("m-1", base_url=server.url, **{"api_key": KEY, **more})


def quick(**seconds: float) -> Timeouts:
    return Timeouts(**{"connect_s": 2.0, "read_s": 0.3, "total_s": 10.0, **seconds})


async def answer(model: Model, request: ModelRequest | None = None) -> list[Chunk]:
    async with model.stream(request or asking()) as chunks:
        return [chunk async for chunk in chunks]


async def text(model: Model, request: ModelRequest | None = None) -> str:
    return "".join(chunk.text for chunk in await answer(model, request))


def shown(chunks: list[Chunk]) -> list[tuple[str, dict[str, Any]]]:
    return [(chunk.type, dict(chunk.payload)) for chunk in chunks]


async def failure(model: Model, request: ModelRequest | None = None) -> tuple[ModelError, str]:
    """Ask for what fails; return the error and the text that came before it."""
    got: list[str] = []

    async def read() -> None:
        async with model.stream(request or asking()) as chunks:
            async for chunk in chunks:
                got.append(chunk.text)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(ModelError) as caught:
        await read()
    return caught.value, "".join(got)


async def drained(call: ModelCall) -> str:
    """Read a call to its end and close it."""
    got = ""
    try:
        await call.open()
        while (chunk := await call.next()) is not None:
            got += chunk.text
    finally:
        await call.close()
    return got


BOTH = pytest.mark.parametrize(
    ("make", "name", "plain"),
    [(openai, "openai", "chat_plain.sse"), (anthropic, "anthropic", "messages_plain.sse")],
    ids=["openai", "anthropic"],
)
"""A test of both adapters: what makes one, what it is called, and a transcript for it."""


def half(data: bytes) -> bytes:
    """The stream up to the middle of the event with the bridge, in the middle of its character."""
    return data[: data.index("🌉".encode()) + 2]
