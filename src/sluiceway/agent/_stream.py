"""`AgentStream`: a run as its reader sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

from sluiceway.agent._run import Run
from sluiceway.engine import Owned, Result
from sluiceway.errors import RunError
from sluiceway.messages import Chunk

__all__ = ["AgentStream"]

T = TypeVar("T")


class AgentStream:
    """The chunks of a run, made as they are asked for. Use it with `async with`.

    For one task at a time. Leaving early cancels the model's call, the tools and the
    processors; nothing is saved then. A stream that is dropped without being left is closed
    likewise, in a task of its own, while its loop runs.

    Args:
        opener: What starts the run; `Agent.stream` makes it.

    Examples:
        >>> async def show(agent):
        ...     async with agent.stream("Hello") as stream:
        ...         async for chunk in stream:
        ...             print(chunk.type)
        ...     return await stream.result()
    """

    __slots__ = ("_open", "_opener", "_orphaned", "_run")

    def __init__(self, opener: Callable[[], Awaitable[Run]]) -> None:
        self._opener: Callable[[], Awaitable[Run]] | None = opener
        self._run: Run | None = None
        self._open = False
        self._orphaned = Owned()

    async def __aenter__(self) -> Self:
        if self._opener is None:
            raise RunError(
                "this stream was used already; call agent.stream(...) again",
                run_id=self._run.run_id if self._run else None,
            )
        self._run = await self._opener()
        self._opener = None  # and what it was asked with
        self._orphaned.note_loop()
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open = False
        if self._run is not None:
            await self._run.close()

    def __del__(self) -> None:
        if self._open and self._run is not None:  # dropped without a word: what it has begun ends all the same
            self._orphaned.start_late(self._run.close_unwatched)

    @property
    def run_id(self) -> str:
        """The run.

        Raises:
            RunError: The stream was not entered.
        """
        return self._entered().run_id

    def __aiter__(self) -> Self:
        self._entered()
        return self

    def __anext__(self) -> Awaitable[Chunk]:
        run = self._run
        if run is None or not self._open or run.broken:
            raise self._unusable()
        return run.next()

    def text(self) -> AsyncIterator[str]:
        """Give the text of the answer, delta by delta."""
        return _Some(self, lambda chunk: chunk.type == "text-delta", lambda chunk: chunk.text)

    def events(self, type: str | None = None) -> AsyncIterator[Chunk]:  # noqa: A002
        """Give the data chunks, of one type or of all.

        Args:
            type: Such as `data-moderation`; None gives every `data-*` chunk.
        """
        return _Some(
            self,
            lambda chunk: chunk.type == type or (type is None and chunk.type.startswith("data-")),
            lambda chunk: chunk,
        )

    async def result(self) -> Result:
        """Read what is unread, and return the result.

        Raises:
            ProcessorError: A hook raised.
            MergeConflict: Branches of a `parallel` disagree.
            ModelError: The provider refused or broke off.
            StorageError: Memory could not be read or written.
            RunError: The stream was left or cancelled before its end.
        """
        run = self._entered()
        if self._open and not run.broken:
            async for _ in self:
                pass
        return run.result

    def _entered(self) -> Run:
        if self._run is None:
            raise RunError("enter the stream first: async with agent.stream(...) as stream: ...")
        return self._run

    def _unusable(self) -> RunError:
        if self._run is None:
            return RunError("enter the stream first: async with agent.stream(...) as stream: ...")
        why = "was cancelled" if self._run.broken else "has been left"
        return RunError(f"this stream {why}; there is nothing more to read", run_id=self._run.run_id)


class _Some(Generic[T]):
    """Some chunks of a stream. An iterator, not a generator: there is nothing to close."""

    __slots__ = ("_made", "_stream", "_wanted")

    def __init__(self, stream: AgentStream, wanted: Callable[[Chunk], bool], made: Callable[[Chunk], T]) -> None:
        self._stream = stream
        self._wanted = wanted
        self._made = made

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while True:
            chunk = await anext(self._stream)
            if self._wanted(chunk):
                return self._made(chunk)
