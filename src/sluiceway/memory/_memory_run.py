"""`MemoryRun`: what memory knows of one run, from its first hook to the save at its end."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from sluiceway.engine import clock, to_the_end
from sluiceway.errors import ConfigurationError, StorageError
from sluiceway.memory._lease import Claim
from sluiceway.memory._port import MemoryStore, MessageRow, Turn, WorkingChange, checked_id, foreign_thread
from sluiceway.messages import MessageList
from sluiceway.processors import HookContext
from sluiceway.tools import RequestContext

__all__ = ["THREAD_WAIT_S", "Contribution", "Draft", "MemoryRun", "request_context_for"]

log: Final = logging.getLogger("sluiceway.memory")

THREAD_WAIT_S: Final = 30.0

_OPTIONS: Final = ("thread", "resource", "read_only")


@dataclass(slots=True)
class Draft:
    """A turn while processors put together what they want saved of it."""

    rows: list[MessageRow] = field(default_factory=list[MessageRow])
    pending: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    working: list[WorkingChange] = field(default_factory=list[WorkingChange])
    after: list[Callable[[], Awaitable[None]]] = field(default_factory=list[Callable[[], Awaitable[None]]])
    """What is to be done once the turn is saved."""


Contribution: TypeAlias = Callable[[Draft, MessageList, str], None]
"""Adds to a draft, given the run's messages after all hooks and the reason why it finished."""


def request_context_for(given: Any, options: Mapping[str, Any] | None) -> RequestContext:
    """Return the request context of a run, with the thread and resource that its memory option names.

    Args:
        given: A request context or a mapping; None: a new one.
        options: The `memory=` of a call; None: no thread.

    Raises:
        ConfigurationError: An option that does not exist, or is of the wrong type.
    """
    context = RequestContext.of(given)
    if options is None:
        return context
    if not isinstance(options, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"memory= of a call is a mapping with {', '.join(_OPTIONS)}, not {options!r}")
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise ConfigurationError(f"memory={{{unknown[0]!r}: …}} does not exist; there are: {', '.join(_OPTIONS)}")
    thread_id = options.get("thread") or context.thread_id
    resource_id = options.get("resource") or context.resource_id
    if (thread_id, resource_id) == (context.thread_id, context.resource_id):
        return context
    # A copy: the caller may use its own for another thread at the same time.
    return RequestContext(context, thread_id=thread_id, resource_id=resource_id)


class Openable(Protocol):
    """Something with connections, which stay open in `async with`."""

    async def __aenter__(self) -> Any: ...

    async def __aexit__(self, *error: Any) -> None: ...


class MemoryRun:
    """The thread of one run, its leases, and what is to be saved at its end.

    Args:
        context: Names the thread and the resource; without a thread nothing is loaded or saved.
        read_only: Whether nothing is saved and no lease taken.
        wait_s: How long to wait for another run on the thread, in seconds.
        attached: False where no agent drives the run: then nothing is leased, and what is
            contributed is saved at once.
    """

    __slots__ = (
        "_attached",
        "_claims",
        "_drafts",
        "_kept_open",
        "_opened",
        "_outer",
        "_wait_s",
        "read_only",
        "resource_id",
        "run_id",
        "thread_id",
        "tool_results",
    )

    def __init__(
        self,
        context: RequestContext,
        *,
        read_only: bool = False,
        wait_s: float = THREAD_WAIT_S,
        attached: bool = True,
    ) -> None:
        self.thread_id = None if context.thread_id is None else checked_id("the thread id", context.thread_id)
        self.resource_id = None if not context.resource_id else checked_id("the resource id", context.resource_id)
        self.read_only = read_only
        self.run_id = ""
        self.tool_results: dict[str, Any] = {}
        """Results that came with the input, for calls that only memory may hold."""
        self._wait_s = wait_s
        self._attached = attached
        self._outer = _current.get()
        self._claims: dict[Any, tuple[Claim, bool]] = {}
        self._opened: dict[Any, MemoryStore] = {}
        self._kept_open: dict[int, Openable] = {}
        self._drafts: dict[Any, tuple[MemoryStore, list[Contribution]]] = {}

    @classmethod
    def of(cls, ctx: HookContext) -> MemoryRun:
        """Return the memory of the run that a hook belongs to."""
        run = _current.get()
        if run is not None and run.run_id == ctx.run_id:
            return run
        return cls(ctx.request_context, attached=False)

    async def work(self, stage: Callable[[], Awaitable[None]]) -> None:
        """Do a piece of the run's work, in which this is the memory of the run."""
        token = _current.set(self)
        try:
            await stage()
        finally:
            _current.reset(token)

    async def hold(self, store: MemoryStore) -> None:
        """See to it that the run may use its thread: nobody else's, and no other run at work on it.

        Raises:
            StorageError: It is somebody else's, another run does not end, or the store failed.
        """
        key = _key(store)
        if self.thread_id is None or key in self._opened:
            return
        if self._attached:
            await store.__aenter__()
            self._opened[key] = store
            if not self.read_only:
                await self._claim(store, key, self.thread_id)
        thread = await store.thread(self.thread_id)
        if thread is not None and thread.resource_id != self.resource_id:
            raise foreign_thread(self.thread_id)

    async def keep_open(self, thing: Openable) -> None:
        """Keep connections open until the run ends; by itself a call opens and closes its own."""
        if self._attached and id(thing) not in self._kept_open:
            await thing.__aenter__()
            self._kept_open[id(thing)] = thing

    async def _claim(self, store: MemoryStore, key: Any, thread_id: str) -> None:
        outer = self._outer
        while outer is not None:
            claim, _ = outer._claims.get(key, (None, False))
            if claim is not None and claim.held and claim.thread_id == thread_id:
                self._claims[key] = (claim, False)
                return
            outer = outer._outer
        claim = Claim(store, thread_id)
        self._claims[key] = (claim, True)
        try:
            await claim.take(self._wait_s)
        except StorageError:
            del self._claims[key]
            raise
        # What renews it must not keep the run alive, which is the current one here.
        apart = copy_context()
        apart.run(_current.set, None)
        apart.run(claim.keep)

    async def contribute(self, store: MemoryStore, fn: Contribution, messages: MessageList) -> None:
        """Have something saved at the end of the run; at once where no agent drives it."""
        self._drafts.setdefault(_key(store), (store, []))[1].append(fn)
        if not self._attached:
            await self.commit(messages, "unknown")

    async def commit(self, messages: MessageList, finish_reason: str) -> None:
        """Save the turn.

        Args:
            messages: As they are after all hooks.
            finish_reason: Why the run ended.

        Raises:
            StorageError: It cannot be saved; nothing of it is.
        """
        drafts, self._drafts = self._drafts, {}
        if self.thread_id is None or self.read_only:
            return
        for key, (store, contributions) in drafts.items():
            draft = Draft()
            for contribution in contributions:
                contribution(draft, messages, finish_reason)
            await self._save(store, key, draft)
            for fn in draft.after:
                await fn()

    async def _save(self, store: MemoryStore, key: Any, draft: Draft) -> None:
        assert self.thread_id is not None
        if not draft.rows and not draft.working:
            return
        claim, own = self._claims.get(key, (None, False))
        turn = Turn(
            thread_id=self.thread_id,
            resource_id=self.resource_id,
            now=clock().now(),
            rows=draft.rows,
            pending=[entry for entry in draft.pending if entry[1] in {row.id for row in draft.rows}],
            working=draft.working,
            lease=None if claim is None else claim.token,
            release=own,
        )
        if claim is not None:
            claim.ending = own
        await store.save_turn(turn)
        if claim is not None and own:
            del self._claims[key]
            await claim.stop(release=False)

    async def close(self) -> None:
        """Give back leases and connections; again is nothing."""
        claims, self._claims = self._claims, {}
        opened, self._opened = self._opened, {}
        kept_open, self._kept_open = self._kept_open, {}

        async def give_back() -> None:
            for claim, own in claims.values():
                if own:
                    await claim.stop(release=True)
            for thing in (*opened.values(), *kept_open.values()):
                await thing.__aexit__(None, None, None)

        if claims or opened or kept_open:
            await to_the_end(give_back)


def _key(store: MemoryStore) -> Any:
    """Return what is the same for two objects that stand for one database."""
    return getattr(store, "key", None) or id(store)


_current: Final[ContextVar[MemoryRun | None]] = ContextVar("sluiceway_memory_run", default=None)
