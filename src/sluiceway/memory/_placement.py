"""Where memory's processors stand in an agent's lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sluiceway.engine import Plan, calls
from sluiceway.memory._message_history import MessageHistory
from sluiceway.memory._semantic_recall import SemanticRecall
from sluiceway.memory._working_memory import WorkingMemory
from sluiceway.processors import Chain, Processor

__all__ = ["placed", "remembers"]


def placed(own: Sequence[Processor], listed: Sequence[object], *, first: bool) -> Sequence[object]:
    """Return a list with memory's processors, but for those that the user has listed by hand.

    Args:
        own: Memory's.
        listed: The user's list, workflows with what is in them counted.
        first: Whether they go before it, else after it.
    """
    known = {name for item in listed for name in _ids(item)}
    missing = tuple(processor for processor in own if processor.id not in known)
    if not missing:
        return listed
    return (*missing, *listed) if first else (*listed, *missing)


def remembers(*chains: Chain) -> bool:
    """Whether any of these lists has a processor that goes on with a thread.

    Args:
        chains: The lists of an agent.
    """
    kinds = (MessageHistory, SemanticRecall, WorkingMemory)
    return any(isinstance(step.processor, kinds) for chain in chains for step in chain.processors)


def _ids(item: object) -> list[str]:
    if hasattr(item, "commit"):
        item = cast("Any", item).commit()
    plan = getattr(item, "plan", None)
    if isinstance(plan, tuple):
        return [cast("Any", call.step).id for call in calls(cast("Plan", plan))]
    found = getattr(item, "id", None)
    return [found] if isinstance(found, str) else []
