"""What of a turn is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from sluiceway._types import MISSING
from sluiceway.memory._window import trimmed
from sluiceway.messages import DataPart, Message, MessageList, Part, StepStartPart, ToolPart

__all__ = ["UPDATE_TOOL", "answer_calls", "is_transient", "kept_parts", "open_calls"]

UPDATE_TOOL: Final = "update_working_memory"
"""The tool whose calls are no part of a conversation."""


def is_transient(message: Message) -> bool:
    """Whether a message is a signal for this run alone."""
    if message.role != "signal":
        return False
    signal = message.metadata.get("signal")
    return isinstance(signal, Mapping) and bool(cast("Mapping[str, Any]", signal).get("transient"))


def kept_parts(message: Message, *, awaits_client: bool = False) -> list[Part]:
    """Return those parts of a message that are saved.

    Args:
        message: The message.
        awaits_client: Whether the run ended to let the client run the calls of its last step;
            their results come with the next request.
    """
    if message.role != "assistant":
        return list(message.parts)
    last_step = max((i for i, p in enumerate(message.parts) if isinstance(p, StepStartPart)), default=-1)
    kept: list[Part] = []
    for index, part in enumerate(message.parts):
        if isinstance(part, DataPart) and part.transient:
            continue
        if isinstance(part, ToolPart):
            is_pending = part.provider_executed or (awaits_client and index > last_step)
            if part.tool_name == UPDATE_TOOL or (part.state == "call" and not is_pending):
                continue
        kept.append(part)
    return kept if len(kept) == len(message.parts) else trimmed(kept)


def open_calls(message: Message) -> list[str]:
    """Return the ids of the calls of a message that have no result."""
    return [part.tool_call_id for part in message.parts if isinstance(part, ToolPart) and part.state == "call"]


def answer_calls(stored: Message, call_ids: Sequence[str], messages: MessageList) -> bool:
    """Give calls of a stored message the results that they have in the list; say whether any got one."""
    answered = False
    for part in stored.parts:
        if not isinstance(part, ToolPart) or part.tool_call_id not in call_ids:
            continue
        found = messages.find_call(part.tool_call_id)
        if found is None or found.state == "call":
            continue
        answered = True
        if found.state == "error":
            part.set_error(found.error or "")
        elif found.model_output is MISSING:
            part.set_result(found.result)
        else:
            part.set_result(found.result, found.model_output)
    return answered
