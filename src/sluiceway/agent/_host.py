"""What an attempt needs of the run that it belongs to."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from sluiceway.agent._delivery import Delivery
from sluiceway.agent._overlap import PutOff
from sluiceway.agent._setup import Setup
from sluiceway.engine import Plan, StepResult
from sluiceway.messages import Chunk, MessageList, SystemMessage, Usage
from sluiceway.models import Model
from sluiceway.processors import HookCall, HookScope

__all__ = ["RunHost", "Stage", "Streamed", "Then"]

Stage: TypeAlias = Callable[[], Awaitable[None]]
"""One piece of a run's work; it says which comes next."""

Then: TypeAlias = Callable[[HookCall], Awaitable[None]]
"""What follows when a hook has run over its list."""


class Streamed(Protocol):
    """An accepted answer, which knows what of it was streamed; a last hook may add to that."""

    @property
    def streamed(self) -> str:
        """The text."""
        ...


class RunHost(Protocol):
    """A run, as its attempts see it."""

    setup: Setup
    run_id: str
    message_id: str
    messages: MessageList
    scope: HookScope
    delivery: Delivery
    ready: deque[Chunk]
    steps: list[StepResult]
    streamed: list[Streamed]
    base_system: Sequence[SystemMessage]
    lasting_signals: frozenset[str]
    usage: Usage
    put_off: PutOff

    def go(self, stage: Stage | None) -> None:
        """Say which stage comes next."""
        ...

    def enter(self, entries: tuple[Plan, ...], call: HookCall, then: Then) -> None:
        """Run a hook over a list, then go on."""
        ...

    async def run_entry(self, entry: Plan, call: HookCall) -> HookCall:
        """Run one entry of a list."""
        ...

    async def settle(self) -> None:
        """Run the checks that were put off; raises what one of them raised."""
        ...

    async def open_step(self) -> None:
        """Start the next step."""
        ...

    async def close_run(self) -> None:
        """Run the last hooks and end."""
        ...

    async def book(self, usage: Usage, model: Model | None = None, *, of_step: bool = False) -> None:
        """Add what a model call used."""
        ...
