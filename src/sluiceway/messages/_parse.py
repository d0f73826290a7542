"""What a caller gives to `generate` and `stream`, as messages."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sluiceway.errors import MessageError
from sluiceway.messages._content import first_of, mapping_of
from sluiceway.messages._message import Message, SystemMessage
from sluiceway.messages._parts import StepStartPart
from sluiceway.messages._tool import ToolPart

__all__ = ["ParsedInput", "parse_input"]


@dataclass(slots=True)
class ParsedInput:
    """What was given, taken apart.

    Args:
        messages: The conversation's messages.
        system: System messages, apart from it.
        tool_results: Results of calls that are not among these messages: call id and content.
    """

    messages: list[Message] = field(default_factory=list[Message])
    system: list[SystemMessage] = field(default_factory=list[SystemMessage])
    tool_results: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])


def parse_input(given: Any, *, copy: bool = True) -> ParsedInput:
    """Return what a str, a chat dict, a `Message` or a list of these stands for.

    A tool's dict joins the call it answers; the assistant's dict after it goes on with the
    same reply, as its next step.

    Args:
        given: The input.
        copy: Whether messages are copied, so that the caller's own stay as they are.

    Raises:
        MessageError: A shape that nothing can be made of; the text says where.
    """
    reader = _Reader(copy=copy)
    if isinstance(given, str | Mapping | Message | SystemMessage):
        reader.read(given, "input")
    elif isinstance(given, Sequence) and not isinstance(given, bytes | bytearray):
        for i, item in enumerate(cast("Sequence[Any]", given)):
            reader.read(item, f"input[{i}]")
    else:
        raise MessageError(f"input: expected a str, a dict, a Message or a list of these, got {type(given).__name__}.")
    return reader.parsed


class _Reader:
    """Reads one input, item by item."""

    def __init__(self, *, copy: bool) -> None:
        self.parsed = ParsedInput()
        self._copy = copy
        self._calls: dict[str, ToolPart] = {}
        self._reply: Message | None = None
        self._answered = False

    def read(self, item: Any, where: str) -> None:
        if isinstance(item, str):
            self._add(Message(item))
        elif isinstance(item, Message):
            self._add(item.copy() if self._copy else item)
        elif isinstance(item, SystemMessage):
            self.parsed.system.append(item)
        else:
            self._read_chat(mapping_of(item, where), where)

    def _read_chat(self, chat: Mapping[str, Any], where: str) -> None:
        role = chat.get("role")
        if role in ("system", "developer"):
            self.parsed.system.append(SystemMessage(_plain_text(chat, where)))
        elif role == "tool":
            self._read_results(chat, where)
        elif role in ("user", "assistant"):
            if not any(key in chat for key in ("content", "parts", "tool_calls")):
                raise MessageError(f"{where}: a message needs `content`, `parts` or `tool_calls`; got {list(chat)}.")
            self._read_message(chat, where)
        else:
            raise MessageError(f"{where}.role: expected one of user, assistant, system and tool, got {role!r}.")

    def _read_message(self, chat: Mapping[str, Any], where: str) -> None:
        chat, results = _apart(chat, where)
        for call_id, content, is_error in results:
            self._answer(call_id, content, is_error=is_error)
        if results and not chat["content"]:
            return
        try:
            message = Message(chat)
        except MessageError as error:
            raise MessageError(f"{where}.{error}") from error
        reply = self._reply
        if message._role == "assistant" and reply is not None and self._answered and "id" not in chat:
            reply._peek().append(StepStartPart())
            reply._peek().extend(message._peek())
            self._answered = False
            self._note_calls(reply)
        else:
            self._add(message)

    def _add(self, message: Message) -> None:
        self.parsed.messages.append(message)
        self._reply = message if message._role == "assistant" else None
        self._answered = False
        self._note_calls(message)

    def _note_calls(self, message: Message) -> None:
        for part in message._peek():
            if isinstance(part, ToolPart):
                self._calls[part._tool_call_id] = part

    def _read_results(self, chat: Mapping[str, Any], where: str) -> None:
        call_id = first_of(chat, "tool_call_id", "toolCallId")
        content = chat.get("content")
        if isinstance(call_id, str):
            self._answer(call_id, _joined(content), is_error=False)
            return
        if not isinstance(content, Sequence) or isinstance(content, str | bytes):
            raise MessageError(f"{where}.tool_call_id: a tool's dict names the call that it answers.")
        for i, item in enumerate(cast("Sequence[Any]", content)):
            at = f"{where}.content[{i}]"
            self._answer(*_result(mapping_of(item, at), at))

    def _answer(self, call_id: str, content: Any, is_error: bool) -> None:
        part = self._calls.get(call_id)
        if part is None:
            self.parsed.tool_results.append((call_id, content))
            return
        if is_error:
            part.set_error(content if isinstance(content, str) else str(content))
        else:
            part.set_result(content)
        self._answered = True


def _plain_text(chat: Mapping[str, Any], where: str) -> str:
    text = _joined(chat.get("content"))
    if not isinstance(text, str):
        raise MessageError(f"{where}.content: the content of a system message is text.")
    return text


def _joined(content: Any) -> Any:
    """Return the text of a content list that is nothing but text, and anything else as it is."""
    if content is None:
        return ""
    if not isinstance(content, list | tuple):
        return content
    texts: list[str] = []
    for item in cast("Sequence[Any]", content):
        if isinstance(item, str):
            texts.append(item)
            continue
        text = cast("Mapping[str, Any]", item).get("text") if isinstance(item, Mapping) else None
        if not isinstance(text, str):
            return cast("Any", content)
        texts.append(text)
    return "".join(texts)


def _apart(chat: Mapping[str, Any], where: str) -> tuple[Mapping[str, Any], list[tuple[str, Any, bool]]]:
    """Take the tool results out of a content list; Anthropic's API has them in the user's turn."""
    content = chat.get("content")
    if not isinstance(content, list | tuple):
        return chat, []
    results: list[tuple[str, Any, bool]] = []
    rest: list[Any] = []
    for i, item in enumerate(cast("Sequence[Any]", content)):
        kind = cast("Mapping[str, Any]", item).get("type") if isinstance(item, Mapping) else None
        if kind in ("tool_result", "tool-result"):
            at = f"{where}.content[{i}]"
            results.append(_result(mapping_of(item, at), at))
        else:
            rest.append(item)
    return ({**chat, "content": rest}, results) if results else (chat, [])


def _result(fields: Mapping[str, Any], where: str) -> tuple[str, Any, bool]:
    call_id = first_of(fields, "tool_call_id", "toolCallId", "tool_use_id")
    if not isinstance(call_id, str):
        raise MessageError(f"{where}.tool_call_id: a tool result names the call that it answers.")
    output = first_of(fields, "output", "result", "content")
    is_error = bool(first_of(fields, "is_error", "isError"))
    if isinstance(output, Mapping):
        typed = cast("Mapping[str, Any]", output)
        if set(typed) == {"type", "value"}:
            is_error = is_error or str(typed["type"]).startswith("error")
            return call_id, typed["value"], is_error
    return call_id, _joined(output), is_error
