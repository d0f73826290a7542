"""`Reply`: the assistant message of a run while it is being received."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from typing import Any, Final

from sluiceway._types import new_id
from sluiceway.errors import MessageError
from sluiceway.messages._box import same_value
from sluiceway.messages._chunk import Chunk
from sluiceway.messages._content import part_of
from sluiceway.messages._list import MessageList
from sluiceway.messages._message import Message
from sluiceway.messages._part import Part
from sluiceway.messages._parts import DataPart, StepStartPart
from sluiceway.messages._text import ReasoningPart, TextPart
from sluiceway.messages._tool import ToolPart

__all__ = ["Reply"]

_DELTAS: Final = {"text-delta": TextPart, "reasoning-delta": ReasoningPart}


class Reply:
    """Builds the reply of a run in its message list, from the chunks that are delivered.

    The message is put into the list with its first part. Steps are parted by a
    `StepStartPart`, which comes with the first part of the later step.

    Args:
        messages: The run's list.
        message_id: The id of the reply; None: a new one.
        first: Whether this is the first step: what is in the reply already belongs to it.
        thread_id: The thread of the reply; None: no thread.
        resource_id: Whose thread it is.
    """

    __slots__ = (
        "_blocks",
        "_list",
        "_message",
        "_metadata",
        "_open",
        "message_id",
        "resource_id",
        "thread_id",
    )

    def __init__(
        self,
        messages: MessageList,
        message_id: str | None = None,
        *,
        thread_id: str | None = None,
        resource_id: str | None = None,
        first: bool = False,
    ) -> None:
        self._list = messages
        self.message_id = message_id or new_id("msg")
        self.thread_id = thread_id
        self.resource_id = resource_id
        self._blocks: dict[tuple[str, Any], TextPart] = {}
        self._metadata: dict[Any, Any] = {}
        self._message: Message | None = None
        self._open = first

    def start_step(self) -> None:
        """Begin a step, or begin one again after the list was restored."""
        self._blocks.clear()
        self._metadata.clear()
        self._message = None
        self._open = False

    def apply(self, chunk: Chunk) -> None:
        """Take in one delivered chunk; of a type that makes no part, nothing."""
        kind = chunk._type
        if kind in _DELTAS:
            payload = chunk._payload
            part = self._blocks.get((kind, payload.get("id")))
            text = payload.get("text")
            if type(text) is not str:
                text = chunk.text
            if part is None:
                self._open_block(kind, payload.get("id"), text)
            else:
                part.append(text)
            return
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, chunk)
        elif kind.startswith("data-") and not chunk.get("transient", False):
            self._add(DataPart(kind, chunk.data, id=chunk.get("data_id")))

    @property
    def message(self) -> Message | None:
        """The reply as it stands in the list; None while it has no part."""
        return self._list.get(self.message_id)

    def parts(self) -> list[Part]:
        """Return the parts of the current step, in order."""
        message = self._list.get(self.message_id)
        if message is None or not self._open:
            return []
        parts = message.parts
        for i in range(len(parts) - 1, -1, -1):
            if type(parts[i]) is StepStartPart:
                return parts[i + 1 :]
        return list(parts)

    def text_parts(self) -> list[TextPart]:
        """Return the texts of the current step, in order."""
        return [part for part in self.parts() if type(part) is TextPart]

    @property
    def text(self) -> str:
        """The text of the current step, as it stands in the list."""
        return "".join([part.text for part in self._peek() if type(part) is TextPart])

    @property
    def reasoning(self) -> str:
        """The reasoning of the current step."""
        return "".join([part.text for part in self._peek() if type(part) is ReasoningPart])

    @property
    def tool_calls(self) -> list[ToolPart]:
        """The tool calls of the current step, in order."""
        return [part for part in self.parts() if type(part) is ToolPart]

    def _peek(self) -> list[Part]:
        message = self._list.get(self.message_id)
        if message is None or not self._open:
            return []
        parts = message._peek()
        for i in range(len(parts) - 1, -1, -1):
            if type(parts[i]) is StepStartPart:
                return parts[i + 1 :]
        return parts

    def add(self, part: Part) -> None:
        """Put a part that no chunk brought behind the others of this step."""
        self._add(part)

    def _add(self, part: Part) -> None:
        message = self._message
        if message is None or self._list._items.get(self.message_id) is not message:
            message = self._current()
        if message in self._list._touched:
            self._list._collect()
        parts = message._peek()
        if not self._open:
            self._open = True
            if parts and type(parts[-1]) is not StepStartPart:
                boundary = StepStartPart()
                boundary._held = True
                parts.append(boundary)
        part._held = True
        parts.append(part)
        self._list._count += 1

    def _current(self) -> Message:
        """Return the message in the list, which is put there if need be."""
        self._list._settle()
        message = self._list.get(self.message_id)
        if message is None:
            message = Message(
                role="assistant",
                parts=(),
                id=self.message_id,
                thread_id=self.thread_id,
                resource_id=self.resource_id,
            )
            self._list._insert(message, "response")
        else:
            self._list._keep(message)
        self._message = message
        return message

    def _open_block(self, kind: str, block: Any, text: str) -> None:
        if not text:
            return
        part = _DELTAS[kind](text, id=block, provider_metadata=self._metadata.pop((kind, block), None))
        self._blocks[kind, block] = part
        self._add(part)

    def _start(self, chunk: Chunk) -> None:
        block = (chunk._type.replace("-start", "-delta"), chunk.get("id"))
        self._blocks.pop(block, None)
        if chunk.get("provider_metadata"):
            self._metadata[block] = chunk.get("provider_metadata")

    def _end(self, chunk: Chunk) -> None:
        kind = chunk._type.replace("-end", "-delta")
        metadata = chunk.get("provider_metadata") or self._metadata.pop((kind, chunk.get("id")), None)
        part = self._blocks.pop((kind, chunk.get("id")), None)
        if not metadata:
            return
        if part is None:  # a block of nothing but a provider's signature
            if kind == "reasoning-delta":
                self._add(ReasoningPart("", id=chunk.get("id"), provider_metadata=metadata))
            return
        part.provider_metadata = {**part.provider_metadata, **metadata}
        part._log = None

    def _call(self, chunk: Chunk) -> None:
        self._add(
            ToolPart(
                chunk.get("tool_name"),
                chunk.get("tool_call_id"),
                chunk.get("args"),
                provider_executed=bool(chunk.get("provider_executed", False)),
                provider_metadata=chunk.get("provider_metadata"),
            )
        )

    def _result(self, chunk: Chunk) -> None:
        call_id = chunk.get("tool_call_id")
        part = self._list.find_call(call_id)
        # A result that is there already keeps what the model is shown of it.
        if part is not None and not (part.state == "result" and same_value(part.result, chunk.get("result"))):
            self._list.set_tool_result(call_id, chunk.get("result"))

    def _error(self, chunk: Chunk) -> None:
        call_id = chunk.get("tool_call_id")
        if self._list.has_call(call_id):
            self._list.set_tool_error(call_id, str(chunk.get("error")))

    def _part(self, chunk: Chunk) -> None:
        given = chunk.get("part")
        if given is None:
            raise MessageError(f"A chunk of type {chunk.type!r} needs a `part` in its payload.")
        part = part_of(given, chunk.type)
        self._add(part.copy())


_HANDLERS: Final = {
    "text-start": Reply._start,
    "reasoning-start": Reply._start,
    "text-end": Reply._end,
    "reasoning-end": Reply._end,
    "tool-call": Reply._call,
    "tool-result": Reply._result,
    "tool-error": Reply._error,
    "source": Reply._part,
    "file": Reply._part,
}
