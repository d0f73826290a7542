"""Which part of a prompt belongs to the turn that is being answered."""

from __future__ import annotations

from sluiceway.messages import MessageList, Prompt

__all__ = ["turn_start"]


def turn_start(prompt: Prompt, messages: MessageList) -> int:
    """Return where the newest message of the user stands in a prompt; its length where there is none.

    What comes after it, and whatever else the run itself has answered, is the loop at work.
    A signal is no message of the user, though the model is shown it as one.
    """
    listed = prompt.messages
    for index in range(len(listed) - 1, -1, -1):
        message = listed[index]
        if message.role != "user":
            continue
        origin = None if message.message_id is None else messages.get(message.message_id)
        if origin is None or origin.role != "signal":
            return index
    return len(listed)
