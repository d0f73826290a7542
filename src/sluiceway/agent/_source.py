"""Where the chunks of an attempt come from: a model, a replay, or a model read ahead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Protocol

import anyio

from sluiceway.engine import Mailbox, Owned
from sluiceway.errors import ModelError, SluicewayError, TripWire, text_of
from sluiceway.messages import Chunk
from sluiceway.models import Model, ModelCall

__all__ = ["ModelSource", "Pump", "Replay", "Source", "nothing"]


class Source(Protocol):
    """Chunks of one answer."""

    @property
    def from_cache(self) -> bool:
        """Whether they are a replay."""
        ...

    @property
    def model(self) -> Model | None:
        """Who answers."""
        ...

    @property
    def read(self) -> Callable[[], Awaitable[Chunk]]:
        """The function to call for the next chunk; it raises StopAsyncIteration at the end."""
        ...

    def mapped(self, error: Exception) -> Exception:
        """Return what an exception of `read` goes up as."""
        ...

    async def close(self) -> None:
        """End it; again is nothing."""
        ...


async def nothing() -> Chunk:
    """Read where nothing is being read."""
    raise StopAsyncIteration


class Replay:
    """Chunks that a request hook returned instead of calling the provider."""

    __slots__ = ("_chunks", "_run_id")

    from_cache = True
    model = None

    def __init__(self, chunks: Iterable[Chunk], run_id: str) -> None:
        self._chunks: Iterator[Chunk] = iter(chunks)
        self._run_id = run_id

    async def read(self) -> Chunk:
        """Return the next chunk, as one of this run."""
        for chunk in self._chunks:
            return chunk if chunk.run_id == self._run_id else chunk.replace(run_id=self._run_id)
        raise StopAsyncIteration

    def mapped(self, error: Exception) -> Exception:
        """Return the error as it is: it is the caller's own iterable that raised."""
        return error

    async def close(self) -> None:
        """Do nothing."""


class ModelSource:
    """The answer of a model. Errors of any kind come out as `ModelError`."""

    __slots__ = ("_call",)

    from_cache = False

    def __init__(self, call: ModelCall) -> None:
        self._call = call

    @property
    def model(self) -> Model:
        """The model that answers."""
        return self._call.model

    async def open(self) -> None:
        """Make the call.

        Raises:
            ModelError: The provider refused.
        """
        try:
            await self._call.open()
        except SluicewayError:
            raise
        except Exception as error:
            if (mapped := self.mapped(error)) is error:  # which is nobody's cause
                raise
            raise mapped from error

    @property
    def read(self) -> Callable[[], Awaitable[Chunk]]:
        """What reads the model itself, without anything in between."""
        return self._call.reader()

    async def read_next(self) -> Chunk:
        """Return the next chunk; to be called when the call has been made."""
        return await self._call.reader()()

    async def close(self) -> None:
        """Close the call.

        Raises:
            ModelError: The model failed in its own closing.
        """
        try:
            await self._call.close()
        except SluicewayError:
            raise
        except Exception as error:
            if (mapped := self.mapped(error)) is error:  # which is nobody's cause
                raise
            raise mapped from error

    def mapped(self, error: Exception) -> Exception:
        """Return a `ModelError` for whatever the model raised."""
        if isinstance(error, SluicewayError):
            return error
        model = self._call.model
        return ModelError(
            f"model {model.provider}/{model.model_id} raised {type(error).__name__}: {text_of(error)}",
            provider=model.provider,
            model_id=model.model_id,
        )


class Pump:
    """Reads another source ahead in an owned task, at most 64 chunks.

    Needed where the reader must be able to stop waiting without ending the read: while a
    timer runs, or while checks run beside the model.
    """

    __slots__ = ("_box", "_error", "_open", "_owned", "_read_source", "_source")

    def __init__(
        self,
        source: Source,
        read: Callable[[], Awaitable[Chunk]],
        *,
        open: Callable[[], Awaitable[None]] | None = None,  # noqa: A002
    ) -> None:
        self._source = source
        self._read_source = read
        self._open = open
        self._box: Mailbox[Chunk | None] = Mailbox(64)
        self._owned = Owned()
        self._error: BaseException | None = None
        self._owned.start(self._read)

    @classmethod
    def opening(cls, source: ModelSource) -> Pump:
        """Return a pump whose task also opens the source, and closes it."""
        return cls(source, source.read_next, open=source.open)

    @property
    def from_cache(self) -> bool:
        """Whether the source is a replay."""
        return self._source.from_cache

    @property
    def model(self) -> Model | None:
        """Who answers."""
        return self._source.model

    @property
    def waiting(self) -> bool:
        """Whether a chunk, or the end, can be had without waiting."""
        return len(self._box) > 0

    async def wait(self) -> None:
        """Wait until one can be had; may be cancelled without harm."""
        await self._box.wait()

    async def read(self) -> Chunk:
        """Return the next chunk."""
        await self._box.wait()
        chunk = self._box.take()
        if chunk is None:
            self._box.post(None)  # the end stays the end
            raise StopAsyncIteration if self._error is None else self._error
        return chunk

    def mapped(self, error: Exception) -> Exception:
        """Return what the source makes of it."""
        return self._source.mapped(error)

    async def close(self) -> None:
        """End the reading task, then the source."""
        self._owned.cancel()
        await self._owned.join()
        await self._source.close()

    def unread(self) -> list[Chunk]:
        """Take what was read ahead and nobody has asked for."""
        left: list[Chunk] = []
        while len(self._box):
            chunk = self._box.take()
            if chunk is not None:
                left.append(chunk)
        return left

    async def _read(self) -> None:
        try:
            await self._read_on()
        finally:
            if self._open is not None:
                with anyio.CancelScope(shield=True):
                    await self._source.close()

    async def _read_on(self) -> None:
        try:
            if self._open is not None:
                await self._open()
            while True:
                await self._box.put(await self._read_source())
        except StopAsyncIteration:
            self._box.post(None)
        except (Exception, TripWire) as error:  # noqa: BLE001 - told to the reader
            self._error = error
            self._box.post(None)


def check_silence(read: object) -> None:
    """See to it that what was read and is no chunk is None: a time of silence is over.

    Args:
        read: What was read.

    Raises:
        ModelError: It is something else.
    """
    if read is not None:
        raise ModelError(f"the model sent a {type(read).__name__} in place of a Chunk")
