"""What a message list remembers of its changes: the edits made, and what to go back to."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sluiceway.messages._message import Message, Saved, SystemMessage

__all__ = ["EditAction", "Journal", "ListEdit", "Snapshot"]

EditAction: TypeAlias = Literal["edit", "add", "remove", "replace", "tool-result", "system", "order"]


@dataclass(frozen=True, slots=True)
class ListEdit:
    """One edit of a message list: who did what where. Never a value.

    Args:
        processor_id: The processor at work, or None: the library itself.
        action: What was done.
        message_id: The message it was done to; None for system messages and order.
        part: The index of the part, or None where the message as a whole is meant.
        start: For a text: where the edited stretch began.
        end: For a text: where it ended.
        length: For a text: the length of what stands there now.
        what: What of the part was edited, such as `text` or `args`.
    """

    processor_id: str | None
    action: EditAction
    message_id: str | None = None
    part: int | None = None
    start: int = 0
    end: int = 0
    length: int = 0
    what: str = ""


@dataclass(slots=True)
class Journal:
    """What messages were at the time of the newest snapshot, of those that were given out since."""

    saved: dict[Message, Saved] = field(default_factory=dict[Message, Saved])

    def keep(self, message: Message) -> None:
        """Save a message unless that was done."""
        if message not in self.saved:
            self.saved[message] = message._save()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A message list at one moment, for `restore`. Only a list's newest one can be restored.

    Args:
        items: The messages by id.
        system: The system messages.
        journal: What had been done until then.
    """

    items: Mapping[str, Message]
    system: tuple[SystemMessage, ...]
    journal: Journal
