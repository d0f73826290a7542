"""Guarded language-model agents, built from processors in lists and workflow graphs.

The names below are what most programs need; each lives in the package named beside it and is
loaded on first use, so that `import sluiceway` costs little.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sluiceway.agent import Agent
    from sluiceway.errors import TripWire
    from sluiceway.graphs import Workflow
    from sluiceway.messages import Message, MessageList
    from sluiceway.processors import Processor, guard
    from sluiceway.steps import step
    from sluiceway.tools import RequestContext, Tool, ToolContext, tool

__all__ = [
    "Agent",
    "Message",
    "MessageList",
    "Processor",
    "RequestContext",
    "Tool",
    "ToolContext",
    "TripWire",
    "Workflow",
    "guard",
    "step",
    "tool",
]

_HOMES = {
    "Agent": "sluiceway.agent",
    "Message": "sluiceway.messages",
    "MessageList": "sluiceway.messages",
    "Processor": "sluiceway.processors",
    "RequestContext": "sluiceway.tools",
    "Tool": "sluiceway.tools",
    "ToolContext": "sluiceway.tools",
    "TripWire": "sluiceway.errors",
    "Workflow": "sluiceway.graphs",
    "guard": "sluiceway.processors",
    "step": "sluiceway.steps",
    "tool": "sluiceway.tools",
}


if not TYPE_CHECKING:  # a checker that knew this function would believe any name

    def __getattr__(name: str) -> object:
        """Load a root name from its home, once."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
