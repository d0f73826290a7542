"""The hook order of a run."""

from __future__ import annotations

from typing import Any

from sluiceway.messages import Chunk

__all__ = ["TRACED_CHUNKS", "Trace", "is_traced", "line_of_messages", "stage"]

TRACED_CHUNKS = frozenset({"text-delta", "reasoning-delta", "tool-call", "tool-result"})

Trace = list[str]

STEP_HOOKS = frozenset(
    {
        "process_input_step",
        "process_llm_request",
        "process_llm_response",
        "process_api_error",
        "process_output_step",
    }
)


def line_of_messages(messages: Any) -> str:
    """Return `role|text` of each message, joined by ` / `."""
    return " / ".join(f"{message.role}|{message.text}" for message in messages)


def is_traced(chunk: Chunk) -> bool:
    """Whether a chunk of this type is noted in the hook order."""
    return chunk.type in TRACED_CHUNKS or chunk.type.startswith("data-")


def stage(processor_id: str, hook: str, ctx: Any) -> str | None:
    """Return the entry of one hook call, or None where it is not noted."""
    name = f"{processor_id}.{hook}"
    if hook == "finish_output_stream":
        return None
    if hook == "process_output_stream":
        return f"{name}:{ctx.part.type}" if is_traced(ctx.part) else None
    if hook == "process_tool_result":
        return f"{name}:{ctx.tool_name}"
    return f"{name}:{ctx.step_number}" if hook in STEP_HOOKS else name
