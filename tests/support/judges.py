"""Models that judge, and detectors with a mind of their own."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel

from sluiceway.messages import Chunk, Usage
from sluiceway.models import ModelRequest
from sluiceway.processors import Detection, Span

__all__ = ["FlagsPlace", "FlagsWord", "Judge", "Told", "scores"]


class Judge:
    """A guard's model: answers with what a function makes of the text it is shown.

    Args:
        answer: Returns a JSON value, the answer itself as a text, or an exception to raise.
    """

    provider = "judge"
    model_id = "judge"
    structured = True

    def __init__(self, answer: Callable[[str], Any]) -> None:
        self.answer = answer
        self.texts: list[str] = []
        self.calls: list[ModelRequest] = []

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Answer."""
        self.calls.append(request)
        shown = next(m.text for m in request.prompt.messages if m.role == "user")
        text = shown.removeprefix("<text>").removesuffix("</text>")
        self.texts.append(text)
        await anyio.lowlevel.checkpoint()
        said = self.answer(text)
        if isinstance(said, BaseException):
            raise said
        chunks = self._chunks(said if isinstance(said, str) else json.dumps(said), request.run_id)
        try:
            yield chunks
        finally:
            await chunks.aclose()

    async def _chunks(self, said: str, run_id: str) -> AsyncGenerator[Chunk]:
        yield Chunk("text-delta", {"id": "t", "text": said}, run_id)
        yield Chunk("finish", {"reason": "stop", "usage": Usage(7, 3)}, run_id)


def scores(**scored: float | None) -> Callable[[str], Any]:
    """Return an answer that always gives these scores; `_` in names is `-`."""
    return lambda text: {"scores": {name.replace("_", "-"): score for name, score in scored.items()}}


class FlagsWord:
    """A detector that finds a word, with a score and, if it is to, without saying where."""

    def __init__(self, word: str, type_: str, score: float = 1.0) -> None:
        self.word = word
        self.type = type_
        self.score = score
        self.texts: list[str] = []

    async def detect(self, text: str, ctx: Any) -> Detection:
        """Look for the word."""
        self.texts.append(text)
        await anyio.lowlevel.checkpoint()
        return Detection({self.type: self.score} if self.word in text else {})


class Told:
    """A detector that answers with what it is told, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked = 0

    async def detect(self, text: str, ctx: Any) -> Detection:
        """Answer."""
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class FlagsPlace:
    """A detector that finds a word and says where."""

    def __init__(self, word: str, type_: str) -> None:
        self.word = word
        self.type = type_

    async def detect(self, text: str, ctx: Any) -> Detection:
        """Look for the word."""
        places = [match.span() for match in re.finditer(re.escape(self.word), text)]
        return Detection.of(tuple(Span(*place, self.type) for place in places))
