"""`HookScope`: what the hooks of one run share."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Any, Final, Protocol, cast

from sluiceway._types import MISSING
from sluiceway.engine import AuditEntry, StepResult, to_the_end
from sluiceway.errors import ConfigurationError
from sluiceway.messages import Chunk, Usage
from sluiceway.models import Model
from sluiceway.processors._events import HookEvent, Observer
from sluiceway.processors._results import Violation
from sluiceway.tools import RequestContext

__all__ = ["AgentRef", "Emitter", "HookScope", "Kept", "RunLinks", "Writer", "call_observer", "call_violation"]

log: Final = logging.getLogger("sluiceway")

Accepted = Callable[[StepResult], Awaitable[None] | None]


class AgentRef(Protocol):
    """What a context shows of its agent."""

    @property
    def id(self) -> str:
        """The agent's id."""
        ...


class Emitter(Protocol):
    """Whoever a data chunk or a violation comes from: a step of a plan."""

    @property
    def id(self) -> str: ...

    @property
    def processor(self) -> object: ...


class Kept:
    """What hooks did to the run, apart from messages, while it waits for checks before them."""

    __slots__ = ("accepted", "audit", "told", "violations", "written")

    def __init__(self) -> None:
        self.accepted: list[tuple[Emitter, Accepted]] = []
        self.audit: list[AuditEntry] = []
        self.violations: list[Violation] = []
        self.written: list[tuple[Chunk, Emitter | None]] = []
        self.told: list[HookEvent | tuple[object, Violation]] | None = []
        """What observers and `on_violation` are to be told; None: they are told at once."""


class RunLinks:
    """What built-in processors need of the run that they are part of; shared by all its scopes.

    Attributes:
        object: The structured answer, where one has been delivered; else `MISSING`.
        ends: Called, sync or async, and forgotten, when the attempt at work ends, accepted or not.
        run_ends: Called when the run is over, whatever ended it.
        retries_left: Says how often the step may still be tried again.
        book: Adds the usage of a call that a processor made of a model; None outside of a run.
        models: The agent's own models, first choice first; none outside of a run.
        tools: Names of the agent's tools, with those that hooks have added; none outside of a run.
    """

    __slots__ = ("book", "ends", "models", "object", "retries_left", "run_ends", "tools")

    def __init__(self) -> None:
        self.object: Any = MISSING
        self.ends: list[Callable[[], Awaitable[None] | None]] = []
        self.run_ends: tuple[Callable[[], None], ...] = ()
        self.retries_left: Callable[[], int] = int
        self.book: Callable[[Usage, Model | None], Awaitable[None]] | None = None
        self.models: Sequence[Model] = ()
        self.tools: Collection[str] = ()

    async def end_attempt(self) -> None:
        """Call what waits for the end of the attempt; what is async runs to its end, whoever cancels the caller."""
        ends, self.ends = self.ends, []
        waiting = [left for end in ends if (left := end()) is not None]

        async def wait() -> None:
            for left in waiting:
                await call_observer(partial(_same, left), what="giving back what an attempt had taken")

        if waiting:
            await to_the_end(wait)

    def end_run(self) -> None:
        """Call what waits for the end of the run."""
        ends, self.run_ends = self.run_ends, ()
        for end in ends:
            end()

    def add_tools(self, names: Collection[str]) -> None:
        """Add names of tools to the known ones; all runs of an agent share its own."""
        known = self.tools
        if any(name not in known for name in names):
            self.tools = {*known, *names}


class HookScope:
    """The state of one run as its hooks see it.

    One object per run; nothing of it is ever shared with another run.

    Args:
        run_id: The run.
        request_context: The request that it serves.
        agent: Whose run it is; None without an agent.
        observer: Called with a `HookEvent` for every hook that ran.
    """

    __slots__ = (
        "accepted",
        "agent",
        "attempt_states",
        "audit",
        "has_input",
        "links",
        "observer",
        "removed_by",
        "request_context",
        "retry_count",
        "run_id",
        "states",
        "step_number",
        "steps",
        "timed",
        "told",
        "transients",
        "violations",
        "written",
    )

    def __init__(
        self,
        run_id: str,
        request_context: RequestContext,
        *,
        agent: AgentRef | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.run_id = run_id
        self.request_context = request_context
        self.agent = agent
        self.observer = observer
        self.links = RunLinks()
        self.retry_count = 0
        self.step_number: int | None = None
        self.steps: tuple[StepResult, ...] = ()
        self.states: dict[int, dict[str, Any]] = {}
        self.attempt_states: dict[int, dict[str, Any]] = {}
        self.written: list[tuple[Chunk, Emitter | None]] = []
        """Data chunks that hooks wrote and nobody has delivered yet, with who wrote them."""
        self.accepted: list[tuple[Emitter, Accepted]] = []
        self.audit: list[AuditEntry] = []
        self.violations: list[Violation] = []
        """Every `abort` and every `warn` so far."""
        self.told: list[HookEvent | tuple[object, Violation]] | None = None
        self.transients: set[str] = set()
        """Ids of the transient signals that hooks have sent and that are still in the list."""
        self.timed = False
        """Whether a processor has asked to be flushed after a time of silence."""
        self.removed_by: Any = None
        """The step that removed a message last, until somebody has looked whether one is left."""
        self.has_input = False
        """Whether a message with source input or context was there before the hook at work."""

    def state_of(self, processor: object) -> dict[str, Any]:
        """Return the state of a processor in this run."""
        return self.states.setdefault(id(processor), {})

    def attempt_state_of(self, processor: object) -> dict[str, Any]:
        """Return the state of a processor in this attempt."""
        return self.attempt_states.setdefault(id(processor), {})

    async def tell(self, processor: object, violation: Violation) -> None:
        """Note a violation and call `on_violation`, now or when what was before it has passed."""
        self.violations.append(violation)
        if self.told is None:
            await call_violation(processor, violation)
        else:
            self.told.append((processor, violation))

    def notify(self, event: HookEvent) -> None:
        """Tell the observer; what it raises is logged."""
        if self.observer is None:
            return
        if self.told is not None:
            self.told.append(event)
            return
        try:
            self.observer(event)
        except Exception:
            log.exception("the observer of run %s raised", self.run_id)

    # -- keeping back what hooks did

    def beside(self) -> HookScope:
        """Return the scope of a check that runs beside others: the same run, what it does kept."""
        copy = HookScope.__new__(HookScope)
        for name in HookScope.__slots__:
            setattr(copy, name, getattr(self, name))
        copy.transients = set(self.transients)
        copy.put(Kept())
        return copy

    def take(self) -> Kept:
        """Take what hooks did up to here; what they do from here on is kept."""
        taken = Kept()
        for name in Kept.__slots__:
            setattr(taken, name, getattr(self, name))
        self.put(Kept())
        return taken

    def put(self, kept: Kept) -> None:
        """Go on from what was taken."""
        for name in Kept.__slots__:
            setattr(self, name, getattr(kept, name))

    async def commit(self, kept: Kept) -> None:
        """Put into effect what was kept, and tell whoever was not told."""
        self.accepted.extend(kept.accepted)
        self.audit.extend(kept.audit)
        self.written.extend(kept.written)
        told = kept.told or ()
        if self.told is not None:
            self.violations.extend(kept.violations)
            self.told.extend(told)
            return
        for entry in told:
            if isinstance(entry, HookEvent):
                self.notify(entry)
            else:
                await self.tell(*entry)


class Writer:
    """Sends data chunks to whoever reads the stream.

    Args:
        run_id: The run.
        put: What is given each chunk.
        from_: The source that its chunks name.
    """

    __slots__ = ("_from", "_put", "_run_id")

    def __init__(self, run_id: str, put: Callable[[Chunk], None], from_: str = "USER") -> None:
        self._run_id = run_id
        self._put = put
        self._from = from_

    async def custom(self, type: str, data: Any, transient: bool = False) -> None:  # noqa: A002
        """Send one data chunk.

        Args:
            type: Its type; it must start with `data-`.
            data: Anything that JSON can hold.
            transient: Whether it is left out of what memory stores.

        Raises:
            ConfigurationError: For a type that does not start with `data-`.
        """
        if not type.startswith("data-") or type == "data-":
            raise ConfigurationError(
                f"writer.custom({type!r}, …): the type of a data chunk must start with 'data-', such as 'data-progress'"
            )
        payload = {"data": data, "transient": transient}
        self._put(Chunk(type, payload, self._run_id, cast("Any", self._from)))


def _same(waiting: Awaitable[None]) -> Awaitable[None]:
    return waiting


async def call_violation(processor: object, violation: Violation) -> None:
    """Call `on_violation`, if the processor has one. What it raises is logged, never raised."""
    callback = getattr(processor, "on_violation", None)
    if callback is not None:
        await call_observer(callback, violation, what=f"on_violation of processor {violation.processor_id!r}")


async def call_observer(callback: Callable[..., Any], *args: Any, what: str) -> None:
    """Call somebody who only watches, sync or async. What it raises is logged, never raised.

    Args:
        callback: Who watches.
        args: What it is called with.
        what: What it is, for the log.
    """
    try:
        outcome = callback(*args)
        if outcome is not None and hasattr(outcome, "__await__"):
            await outcome
    except Exception:
        log.exception("%s raised; the run goes on", what)
