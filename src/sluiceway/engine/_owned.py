"""Tasks that outlive one read of a stream, and the mailbox they report to.

The only module that talks to asyncio and trio themselves. A task group cannot stay open
between two reads of a stream: its cancel scope would have to be closed in the order it was
opened, in a task that the consumer chooses. So what must go on between two reads (tools, a
model that is read ahead) runs in tasks outside of every task group, each in a cancel scope
of its own, and whoever started them ends and awaits them.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar, cast

import anyio

__all__ = ["Mailbox", "Owned", "asked_to_end", "loop_is_running", "to_the_end"]

T = TypeVar("T")


def loop_is_running() -> bool:
    """Whether this thread is inside a loop of asyncio or trio."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def asked_to_end() -> bool:
    """Whether somebody has cancelled the task at work.

    Code can also let out by itself what a cancellation raises in asyncio, by waiting for a
    future that was cancelled.
    """
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        return True
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _spawn(run: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None] | None:
    """Start `run` outside of every task group, with a copy of the caller's context.

    Returns:
        What the caller keeps while it runs: the loop of asyncio holds tasks weakly.
    """
    trio = sys.modules.get("trio")  # a program that runs on trio has imported it
    if trio is not None and trio.lowlevel.in_trio_task():
        trio.lowlevel.spawn_system_task(run, context=contextvars.copy_context())
        return None
    return asyncio.get_running_loop().create_task(run())


def _scheduler() -> Callable[[Callable[[], None]], object]:
    """Return what has a function called in the running loop, from any thread."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        return cast("Callable[[Callable[[], None]], object]", trio.lowlevel.current_trio_token().run_sync_soon)
    return asyncio.get_running_loop().call_soon_threadsafe


class Owned:
    """A set of tasks with one owner.

    A task reports its own result: no exception may leave the function it runs.
    """

    __slots__ = ("_changed", "_running", "_schedule")

    def __init__(self) -> None:
        self._running: dict[anyio.CancelScope, asyncio.Task[None] | None] = {}
        self._changed: anyio.Event | None = None
        self._schedule: Callable[[Callable[[], None]], object] | None = None

    @property
    def running(self) -> int:
        """How many have not ended."""
        return len(self._running)

    def note_loop(self) -> None:
        """Note the loop that runs, where tasks are started and from any thread ended; `start` does it too."""
        if self._schedule is None:
            self._schedule = _scheduler()

    def start(self, fn: Callable[[], Awaitable[None]]) -> None:
        """Start a task; it begins at the next checkpoint of the caller."""
        self.note_loop()
        scope = anyio.CancelScope()
        self._running[scope] = None

        async def body() -> None:
            try:
                with scope:
                    await fn()
            finally:
                del self._running[scope]
                if self._changed is not None:
                    self._changed.set()

        task = _spawn(body)
        if scope in self._running:  # an eager task may have ended already
            self._running[scope] = task

    def cancel(self) -> None:
        """Ask all of them to end."""
        for scope in tuple(self._running):
            scope.cancel()

    def forget(self) -> None:
        """Ask all of them to end, from any thread: their owner was dropped without a word."""
        if self._running and self._schedule is not None:
            with suppress(RuntimeError):  # the loop has ended, and they with it
                self._schedule(self.cancel)

    def start_late(self, fn: Callable[[], Awaitable[None]]) -> None:
        """Have a task started in the noted loop, from any thread; nothing happens if that has ended."""

        async def begin() -> None:  # a task, since a callback of another thread runs in the context of that
            self.start(fn)

        def spawn() -> None:
            with suppress(RuntimeError):  # a loop that is about to end calls back, but takes no more tasks
                _spawn(begin)

        if self._schedule is not None:
            with suppress(RuntimeError):
                self._schedule(spawn)

    async def join(self) -> None:
        """Wait until all have ended, even if the caller is being cancelled."""
        with anyio.CancelScope(shield=True):
            while self._running:
                if self._changed is None or self._changed.is_set():  # else it is of another who waits too
                    self._changed = anyio.Event()
                await self._changed.wait()


async def to_the_end(fn: Callable[[], Awaitable[None]]) -> None:
    """Run something to its end, whoever cancels the caller; the cancellation goes up afterwards.

    A shielded scope does that for cancel scopes, but not where asyncio cancels the task itself.

    Args:
        fn: What is run, in a task of its own. It opens no cancel scope that outlives it.
    """
    failed: list[Exception] = []

    async def run() -> None:
        try:
            await fn()
        except Exception as error:  # noqa: BLE001 - raised below, in the caller's task
            failed.append(error)

    cancelled: BaseException | None = None
    owned = Owned()
    owned.start(run)
    while owned.running:
        try:
            await owned.join()
        except anyio.get_cancelled_exc_class() as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    if failed:
        raise failed[0]


class Mailbox(Generic[T]):
    """Where owned tasks put what the consumer's task takes.

    Args:
        size: How much may lie in it before `put` waits.
    """

    __slots__ = ("_arrived", "_items", "_size", "_space")

    def __init__(self, size: int = 64) -> None:
        self._items: deque[T] = deque()
        self._size = size
        self._arrived: anyio.Event | None = None
        self._space: anyio.Event | None = None

    def __len__(self) -> int:
        return len(self._items)

    def post(self, item: T) -> None:
        """Put something in, over the bound if need be."""
        self._items.append(item)
        if self._arrived is not None:
            self._arrived.set()

    async def put(self, item: T) -> None:
        """Put something in when there is space for it."""
        await self.room()
        self.post(item)

    async def room(self) -> None:
        """Wait until there is space."""
        while len(self._items) >= self._size:
            if self._space is None:
                self._space = anyio.Event()
            await self._space.wait()

    async def wait(self) -> None:
        """Wait until something lies in it. An event exists only meanwhile."""
        while not self._items:
            self._arrived = anyio.Event()
            try:
                await self._arrived.wait()
            finally:
                self._arrived = None

    def take(self) -> T:
        """Take the oldest; there must be one."""
        item = self._items.popleft()
        space = self._space
        if space is not None and len(self._items) < self._size:
            self._space = None
            space.set()
        return item

    def clear(self) -> None:
        """Drop everything."""
        while self._items:
            self.take()
