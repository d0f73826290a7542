"""Messages as a chat UI takes them: UI messages of the AI SDK."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sluiceway.messages._jsonable import jsonable
from sluiceway.messages._media import FilePart
from sluiceway.messages._message import Message
from sluiceway.messages._part import Part
from sluiceway.messages._parts import DataPart, SourcePart, StepStartPart, UnknownPart
from sluiceway.messages._text import TextPart
from sluiceway.messages._tool import ToolPart

__all__ = ["ui_message"]


def ui_message(message: Message) -> dict[str, Any]:
    """Return a message as a UI message: `id`, `role`, `parts`, `metadata`.

    A signal becomes a message of the role `system` with one `data-signal` part. `Message`
    reads the other ones back.

    Args:
        message: Any message.
    """
    if message.role == "signal":
        return _signal(message)
    parts = [ui_part(part) for part in (*message._peek(), *message._peek_attachments())]
    return _with(message, message.role, parts)


def _signal(message: Message) -> dict[str, Any]:
    found = message._metadata.peek().get("signal")
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}
    data: dict[str, Any] = {
        "contents": message.text,
        "tagName": fields.get("tag_name"),
        "attributes": jsonable(fields.get("attributes") or {}),
    }
    return {"id": message.id, "role": "system", "parts": [{"type": "data-signal", "data": data}]}


def _with(message: Message, role: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {"id": message.id, "role": role, "parts": parts}
    metadata = message._metadata.peek()
    if metadata:
        out["metadata"] = jsonable(metadata)
    provider = message._peek_meta()
    if provider:
        out["providerMetadata"] = jsonable(provider)
    return out


def ui_part(part: Part) -> dict[str, Any]:
    """Return one part of a UI message."""
    out = _body(part)
    if part._meta is not None and part._meta.peek():
        name = "callProviderMetadata" if isinstance(part, ToolPart) else "providerMetadata"
        out[name] = jsonable(part._meta.peek())
    return out


def _body(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": part.type, "text": part.text}
    if isinstance(part, ToolPart):
        return _tool(part)
    if isinstance(part, FilePart):
        return _file(part)
    if isinstance(part, SourcePart):
        return _source(part)
    if isinstance(part, DataPart):
        out = {"type": part.type, "data": jsonable(part._data.peek())}
        return out if part.id is None else {"type": part.type, "id": part.id, "data": out["data"]}
    if isinstance(part, StepStartPart):
        return {"type": "step-start"}
    assert isinstance(part, UnknownPart)
    data = jsonable(part._data.peek())
    return {**data, "type": part.type} if isinstance(data, dict) else {"type": part.type, "data": data}


def _tool(part: ToolPart) -> dict[str, Any]:
    part._sync()
    out: dict[str, Any] = {
        "type": f"tool-{part.tool_name}",
        "toolName": part.tool_name,
        "toolCallId": part.tool_call_id,
        "state": "input-available",
        "input": jsonable(part._args.peek()),
    }
    if part.state == "result":
        out |= {"state": "output-available", "output": jsonable(part._result.peek())}
    elif part.state == "error":
        out |= {"state": "output-error", "errorText": part.error or ""}
    if part.provider_executed:
        out["providerExecuted"] = True
    return out


def _file(part: FilePart) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "file", "mediaType": part.media_type, "url": part.data_url()}
    if part.filename is not None:
        out["filename"] = part.filename
    return out


def _source(part: SourcePart) -> dict[str, Any]:
    kind = "source-document" if part.url is None else "source-url"
    out: dict[str, Any] = {"type": kind, "sourceId": part.id}
    named = {"url": part.url, "title": part.title, "mediaType": part.media_type, "filename": part.filename}
    return out | {name: value for name, value in named.items() if value is not None}
