"""Messages as JSON text and back: what a store keeps of them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

from sluiceway._types import MISSING
from sluiceway.errors import MessageError, StorageError
from sluiceway.memory._port import MessageRow, checked_id
from sluiceway.messages import (
    DataPart,
    FilePart,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    SourcePart,
    StepStartPart,
    TextPart,
    ToolPart,
    UnknownPart,
    jsonable,
)

__all__ = ["decode", "dumps", "encode", "is_edited"]

_Fields: TypeAlias = "Mapping[str, Any]"


def encode(message: Message, thread_id: str, *, parts: Sequence[Part], edited: bool = False) -> MessageRow:
    """Return a message as a row.

    Args:
        message: The message.
        thread_id: Its thread.
        parts: Those of its parts that are kept.
        edited: Whether processors changed what the user sent.

    Raises:
        MessageError: A value in it is nested too deep.
        StorageError: Its id cannot be stored.
    """
    document: dict[str, Any] = {"parts": [_part(part) for part in parts]}
    if message.attachments:
        document["attachments"] = [_part(part) for part in message.attachments]
    if message.metadata:
        document["metadata"] = jsonable(message.metadata)
    if message.provider_metadata:
        document["provider_metadata"] = jsonable(message.provider_metadata)
    if edited:
        document["edited"] = True
    return MessageRow(
        thread_id, checked_id("the message id", message.id), message.role, message.created_at, dumps(document)
    )


def decode(row: MessageRow, resource_id: str | None, created_at: datetime | None = None) -> Message:
    """Return the message of a row. What is missing is empty, what is unknown is kept as it is.

    Args:
        row: The row.
        resource_id: Whose thread it is from.
        created_at: Another time than the row's.

    Raises:
        StorageError: The row holds no JSON object.
    """
    document = _document(row)
    return Message(
        role=row.role,
        parts=_parts(document.get("parts")),
        id=row.id,
        metadata=_mapping(document.get("metadata")),
        created_at=created_at or row.created_at,
        thread_id=row.thread_id,
        resource_id=resource_id,
        attachments=_parts(document.get("attachments")),
        provider_metadata=_mapping(document.get("provider_metadata")),
    )


def is_edited(row: MessageRow) -> bool:
    """Whether processors changed the message before it was saved."""
    return _document(row).get("edited") is True


def dumps(value: Any) -> str:
    """Return compact JSON that every database can hold: NUL is always escaped, half characters too."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except RecursionError as error:
        raise MessageError("A value is nested too deep to be stored.") from error
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return json.dumps(value, separators=(",", ":"))
    return text


def _document(row: MessageRow) -> _Fields:
    try:
        document: object = json.loads(row.document)
    except (ValueError, RecursionError) as error:
        raise StorageError(f"message {row.id!r} of thread {row.thread_id!r} is stored as no valid JSON") from error
    if not isinstance(document, Mapping):
        raise StorageError(f"message {row.id!r} of thread {row.thread_id!r} is stored as no JSON object")
    return cast("_Fields", document)


def _mapping(value: Any) -> _Fields | None:
    return cast("_Fields", value) if isinstance(value, Mapping) else None


def _parts(value: Any) -> list[Part]:
    if isinstance(value, str):
        return [TextPart(value)]
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [_read(cast("_Fields", item)) for item in items if isinstance(item, Mapping)]


def _read(fields: _Fields) -> Part:
    kind = fields.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    try:
        part = reader(fields) if reader is not None else UnknownPart(str(kind), dict(fields))
    except (KeyError, TypeError, ValueError, AttributeError, MessageError):
        part = UnknownPart(str(kind), dict(fields))
    metadata = _mapping(fields.get("provider_metadata"))
    if metadata:
        part.provider_metadata = dict(metadata)
    return part


def _part(part: Part) -> dict[str, Any]:
    # A part may be of a class that somebody derived from one of ours; it is read back as ours.
    fields = next(_WRITERS[kind] for kind in type(part).__mro__ if kind in _WRITERS)(part)
    if part.provider_metadata:
        fields["provider_metadata"] = jsonable(part.provider_metadata)
    return fields


def _write_text(part: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": part.type, "text": part.text}
    return fields if part.id is None else {**fields, "id": part.id}


def _write_tool(part: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "type": "tool",
        "tool_name": part.tool_name,
        "tool_call_id": part.tool_call_id,
        "args": jsonable(part.args),
        "state": part.state,
    }
    if part.state == "result":
        fields["result"] = jsonable(part.result)
    if part.error is not None:
        fields["error"] = part.error
    if part.model_output is not MISSING:
        fields["model_output"] = jsonable(part.model_output)
    if part.provider_executed:
        fields["provider_executed"] = True
    return fields


def _write_file(part: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": part.type, "media_type": part.media_type}
    if part.url is not None:
        fields["url"] = part.url
    else:
        fields["data"] = base64.b64encode(part.data).decode("ascii")
    return fields if part.filename is None else {**fields, "filename": part.filename}


def _write_source(part: Any) -> dict[str, Any]:
    named = {name: getattr(part, name) for name in ("id", "url", "title", "media_type", "filename")}
    return {"type": "source", **{name: value for name, value in named.items() if value is not None}}


def _write_data(part: Any) -> dict[str, Any]:
    fields = {"type": "data", "name": part.type, "data": jsonable(part.data)}
    return fields if part.id is None else {**fields, "id": part.id}


def _write_step(part: Any) -> dict[str, Any]:
    return {"type": part.type}


def _write_unknown(part: Any) -> dict[str, Any]:
    return {"type": "unknown", "kind": part.type, "data": jsonable(part.data)}


def _text(fields: _Fields, name: str) -> str | None:
    """Return a text, or None; anything else is a TypeError, and the part is kept as an unknown one."""
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise TypeError(name)
    return value


def _read_text(fields: _Fields) -> Part:
    return TextPart(_text(fields, "text") or "", id=_text(fields, "id"))


def _read_reasoning(fields: _Fields) -> Part:
    return ReasoningPart(_text(fields, "text") or "", id=_text(fields, "id"))


def _read_tool(fields: _Fields) -> Part:
    state = fields.get("state", "result" if "result" in fields else "call")
    return ToolPart(
        fields["tool_name"],
        fields["tool_call_id"],
        fields.get("args"),
        state,
        fields.get("result") if state == "result" else None,
        error=_text(fields, "error"),
        model_output=fields.get("model_output", MISSING),
        provider_executed=bool(fields.get("provider_executed")),
    )


def _read_file(fields: _Fields, kind: type[FilePart] = FilePart) -> Part:
    data = base64.b64decode(fields["data"]) if "data" in fields else None
    return kind(data, _text(fields, "media_type"), url=_text(fields, "url"), filename=_text(fields, "filename"))


def _read_image(fields: _Fields) -> Part:
    return _read_file(fields, ImagePart)


def _read_source(fields: _Fields) -> Part:
    return SourcePart(
        _text(fields, "id") or "",
        _text(fields, "url"),
        _text(fields, "title"),
        media_type=_text(fields, "media_type"),
        filename=_text(fields, "filename"),
    )


def _read_data(fields: _Fields) -> Part:
    return DataPart(fields["name"], fields.get("data"), id=_text(fields, "id"))


def _read_step(fields: _Fields) -> Part:
    del fields
    return StepStartPart()


def _read_unknown(fields: _Fields) -> Part:
    kind = _text(fields, "kind")
    if kind is None:
        raise TypeError("kind")
    return UnknownPart(kind, fields.get("data"))


_WRITERS: Final[Mapping[type[Part], Callable[[Any], dict[str, Any]]]] = {
    TextPart: _write_text,
    ReasoningPart: _write_text,
    ToolPart: _write_tool,
    FilePart: _write_file,
    ImagePart: _write_file,
    SourcePart: _write_source,
    DataPart: _write_data,
    StepStartPart: _write_step,
    UnknownPart: _write_unknown,
}

_READERS: Final[Mapping[str, Callable[[_Fields], Part]]] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "tool": _read_tool,
    "file": _read_file,
    "image": _read_image,
    "source": _read_source,
    "data": _read_data,
    "step-start": _read_step,
    "unknown": _read_unknown,
}
