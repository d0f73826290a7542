"""Which part of a prompt belongs to the turn that is being answered."""

from __future__ import annotations

from sluiceway.messages import MessageList, Prompt

__all__ = ["turn_start"]


def turn_start(prompt: Prompt, messages: MessageList) -> int:
    """Return where the user's message that the run answers stands in a prompt; its length where there is none.

    That is the newest one before all that the run itself has answered: one that a processor
    adds later is part of the loop at work. A signal is no message of the user, though the
    model is shown it as one.
    """
    listed = prompt.messages
    newest = found = None
    for index in range(len(listed) - 1, -1, -1):
        message = listed[index]
        if message.role in ("assistant", "tool"):
            if message.source == "response":
                found = None
            elif found is not None:
                break
        elif message.role == "user" and found is None:
            origin = None if message.message_id is None else messages.get(message.message_id)
            if origin is None or origin.role != "signal":
                found = index
                newest = index if newest is None else newest
    if found is None:
        found = newest
    return len(listed) if found is None else found
