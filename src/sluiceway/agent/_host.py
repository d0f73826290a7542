"""What an attempt needs of the run that it belongs to."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from sluiceway.agent._delivery import Delivery
from sluiceway.agent._setup import Setup
from sluiceway.engine import Plan, StepResult
from sluiceway.messages import Chunk, MessageList, SystemMessage, Usage
from sluiceway.processors import HookCall, HookScope

__all__ = ["RunHost", "Stage", "Then"]

Stage: TypeAlias = Callable[[], Awaitable[None]]
"""One piece of a run's work; it says which comes next."""

Then: TypeAlias = Callable[[HookCall], Awaitable[None]]
"""What follows when a hook has run over its list."""


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
    streamed: list[str]
    base_system: Sequence[SystemMessage]
    lasting_signals: frozenset[str]
    usage: Usage

    def go(self, stage: Stage | None) -> None:
        """Say which stage comes next."""
        ...

    def enter(self, entries: tuple[Plan, ...], call: HookCall, then: Then) -> None:
        """Run a hook over a list, then go on."""
        ...

    async def open_step(self) -> None:
        """Start the next step."""
        ...

    async def close_run(self) -> None:
        """Run the last hooks and end."""
        ...

    async def book(self, usage: Usage) -> None:
        """Add what a model call used."""
        ...
