"""`ModelCall`: one call of the first model of a list that answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import cast

import anyio

from sluiceway.errors import ConfigurationError, ModelError
from sluiceway.messages import Chunk
from sluiceway.models._backoff import Backoff
from sluiceway.models._port import Model, ModelRequest

__all__ = ["ModelCall"]

_CLOSING_S = 5.0


class ModelCall:
    """A call of the first model that answers, each tried again where that may help.

    A model is asked again, and the next one asked, only before the first chunk: what was sent
    cannot be taken back. Nothing but a `ModelError` is looked at; a `TripWire`, a
    cancellation or a fault in a program's own model goes through as it is.

    Belongs to one task at a time. Holds no cancel scope between two calls of `next`.

    Args:
        models: Tried in this order, each once with its retries.
        request: What they are asked. Its setting `max_retries` counts for all of them;
            `retry_unknown_errors` has errors without a status tried again too.
        backoff: How long to wait between. None: what the model itself says, else the default.

    Attributes:
        model: The model that answers, or the last one tried.
        failures: What was refused before, in order.
    """

    __slots__ = ("_backoff", "_chunks", "_first", "_models", "_opened", "_request", "failures", "model")

    def __init__(self, models: Sequence[Model], request: ModelRequest, *, backoff: Backoff | None = None) -> None:
        if not models:
            raise ConfigurationError("a call needs a model")
        self._models = tuple(models)
        self._request = request
        self._backoff = backoff
        self._opened: AbstractAsyncContextManager[AsyncIterator[Chunk]] | None = None
        self._chunks: AsyncIterator[Chunk] | None = None
        self._first: Chunk | None = None
        self.model = self._models[0]
        self.failures: list[ModelError] = []

    async def open(self) -> None:
        """Make the call and read its first chunk.

        Raises:
            ModelError: The last model's, when none answers.
        """
        for place, model in enumerate(self._models):
            self.model = model
            try:
                await self._ask(model)
            except ModelError as error:
                if place == len(self._models) - 1:
                    raise
                self.failures.append(error)
            else:
                return

    async def next(self) -> Chunk | None:
        """Return the next chunk, or None at the end.

        Raises:
            ModelError: The provider broke off.
        """
        first = self._first
        if first is not None:
            self._first = None
            return first
        chunks = self._chunks
        return None if chunks is None else await anext(chunks, None)

    def reader(self) -> Callable[[], Awaitable[Chunk]]:
        """Return the function that reads the next chunk; it raises StopAsyncIteration at the end.

        Once the first chunk has been read this is the model's own, with nothing in between.
        """
        return self._read_first if self._first is not None or self._chunks is None else self._chunks.__anext__

    async def _read_first(self) -> Chunk:
        first, self._first = self._first, None
        if first is None:
            raise StopAsyncIteration
        return first

    async def close(self) -> None:
        """End the call and its connection; again is nothing."""
        opened, self._opened = self._opened, None
        chunks, self._chunks, self._first = self._chunks, None, None
        if opened is not None:
            with anyio.move_on_after(_CLOSING_S, shield=True):
                try:
                    if isinstance(chunks, AsyncGenerator):  # a model may have left it to its reader
                        await cast("AsyncGenerator[Chunk]", chunks).aclose()
                finally:
                    await opened.__aexit__(None, None, None)

    async def _ask(self, model: Model) -> None:
        retries = self._retries(model)
        own: Backoff = getattr(model, "backoff", None) or Backoff()
        backoff = own if self._backoff is None else self._backoff
        retry = 0
        while True:
            try:
                await self._try(model)
            except ModelError as error:
                wait_s = backoff.wait_s(retry, error.retry_after_s)
                if retry >= retries or wait_s is None or not self._may_help(error):
                    raise
                self.failures.append(error)
                retry += 1
            else:
                return
            await anyio.sleep(wait_s)

    async def _try(self, model: Model) -> None:
        opened = model.stream(self._request)
        self._chunks = await opened.__aenter__()
        self._opened = opened
        try:
            self._first = await anext(self._chunks, None)
        except BaseException:
            await self.close()
            raise

    def _retries(self, model: Model) -> int:
        given = self._request.settings.get("max_retries")
        retries = getattr(model, "max_retries", 0) if given is None else given
        if not isinstance(retries, int) or retries < 0:
            raise ConfigurationError(f"max_retries is a number from 0 up, not {retries!r}")
        return retries

    def _may_help(self, error: ModelError) -> bool:
        if error.retryable:
            return True
        return error.status is None and bool(self._request.settings.get("retry_unknown_errors"))
