"""What the engine needs to know of a workflow that runs on its own."""

from __future__ import annotations

from dataclasses import dataclass

from sluiceway.engine._plan import Plan
from sluiceway.engine._typed import TypeCheck

__all__ = ["FlowSpec"]


@dataclass(frozen=True, slots=True)
class FlowSpec:
    """A workflow, ready to run on its own.

    Args:
        id: The workflow.
        plan: What it does.
        fingerprint: Changes when the graph does; a suspended run goes on only with the same.
        nodes: The paths of all nodes, to say what has changed.
        input: The type of what goes in, or None.
        output: The type of what comes out, or None.
        state: The type of a run's state, or None: a dict.
    """

    id: str
    plan: Plan
    fingerprint: str
    nodes: tuple[str, ...]
    input: TypeCheck | None = None
    output: TypeCheck | None = None
    state: TypeCheck | None = None
