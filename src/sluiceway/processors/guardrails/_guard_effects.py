"""What the hooks of a guardrail read and write."""

from __future__ import annotations

from sluiceway.processors._effects import Effects, Surface
from sluiceway.processors._protocols import HookName

__all__ = ["guard_effects"]


def guard_effects(*, edits: bool, holds: bool, external: bool = False) -> dict[HookName, Effects]:
    """Return what the hooks of a guardrail read and write.

    Args:
        edits: Whether it changes what it finds something in.
        holds: Whether the text of a stream waits until it is decided.
        external: Whether it sends text to another service.
    """
    held: tuple[Surface, ...] = ("chunk",) if holds else ()
    edited: tuple[Surface, ...] = ("messages",) if edits else ()
    stream = Effects(reads=("chunk",), writes=(*held, "state"), external=external)
    output = Effects(reads=("messages",), writes=(*edited, "state"), external=external)
    return {
        "process_input": Effects(reads=("messages",), writes=edited, external=external),
        "process_output_stream": stream,
        "finish_output_stream": stream,
        "process_tool_result": output,
        "process_output_result": output,
    }
