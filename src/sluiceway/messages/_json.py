"""Messages as JSON records, and back without loss."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from sluiceway._types import MISSING
from sluiceway.errors import MessageError
from sluiceway.messages._content import mapping_of, part_of, text_of
from sluiceway.messages._jsonable import jsonable
from sluiceway.messages._media import FilePart, ImagePart
from sluiceway.messages._part import Part
from sluiceway.messages._parts import DataPart, SourcePart, StepStartPart, UnknownPart
from sluiceway.messages._text import ReasoningPart, TextPart
from sluiceway.messages._tool import ToolPart

__all__ = ["part_from_record", "part_record", "parts_from_records"]

_Record: TypeAlias = "Mapping[str, Any]"


def part_record(part: Part) -> dict[str, Any]:
    """Return a part as a record that JSON can hold; bytes become base64 text."""
    out = _body(part)
    if part._meta is not None and part._meta.peek():
        out["provider_metadata"] = jsonable(part._meta.peek())
    return out


def part_from_record(record: Any, where: str) -> Part:
    """Return the part of a record; one of an unknown type becomes an `UnknownPart`.

    Raises:
        MessageError: A record that no part can be made of; the text says where.
    """
    fields = mapping_of(record, where)
    kind = fields.get("type")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None and isinstance(kind, str) and kind.startswith("data-"):
        read = _read_data
    if read is None:
        return part_of(record, where)
    try:
        part = read(fields, where)
    except (TypeError, ValueError) as error:
        if isinstance(error, MessageError) and str(error).startswith(where):
            raise
        raise MessageError(f"{where}: {error}") from error
    metadata = fields.get("provider_metadata")
    if isinstance(metadata, Mapping) and metadata:
        part.provider_metadata = dict(cast("_Record", metadata))
        part._log = None
    return part


def _body(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        out = {"type": part.type, "text": part.text}
        return out if part.id is None else {**out, "id": part.id}
    if isinstance(part, ToolPart):
        return _tool(part)
    if isinstance(part, FilePart):
        return _file(part)
    if isinstance(part, SourcePart):
        named = {
            "id": part.id,
            "url": part.url,
            "title": part.title,
            "media_type": part.media_type,
            "filename": part.filename,
        }
        return {"type": "source"} | {name: value for name, value in named.items() if value is not None}
    if isinstance(part, DataPart):
        out = {"type": part.type, "data": jsonable(part._data.peek())}
        if part.id is not None:
            out["id"] = part.id
        return {**out, "transient": True} if part.transient else out
    if isinstance(part, StepStartPart):
        return {"type": "step-start"}
    assert isinstance(part, UnknownPart)
    return {"type": "unknown", "of": part.type, "data": jsonable(part._data.peek())}


def _tool(part: ToolPart) -> dict[str, Any]:
    part._sync()
    out: dict[str, Any] = {
        "type": "tool",
        "tool_name": part.tool_name,
        "tool_call_id": part.tool_call_id,
        "args": jsonable(part._args.peek()),
        "state": part.state,
    }
    if part.state == "result":
        out["result"] = jsonable(part._result.peek())
        if part._model_output is not None:
            out["model_output"] = jsonable(part._model_output.peek())
    elif part.state == "error":
        out["error"] = part.error
    if part.provider_executed:
        out["provider_executed"] = True
    return out


def _file(part: FilePart) -> dict[str, Any]:
    out: dict[str, Any] = {"type": part.type, "media_type": part.media_type}
    source = part._source
    if isinstance(source, bytes):
        out["data"] = base64.b64encode(source).decode("ascii")
    else:
        out["url"] = source
    if part.filename is not None:
        out["filename"] = part.filename
    return out


def _read_text(fields: _Record, where: str) -> Part:
    kind = ReasoningPart if fields["type"] == "reasoning" else TextPart
    return kind(text_of(fields, where, "text"), id=fields.get("id"))


def _read_tool(fields: _Record, where: str) -> Part:  # noqa: ARG001 - one signature for all readers
    args = fields.get("args")
    part = ToolPart(
        fields.get("tool_name"),  # pyright: ignore[reportArgumentType] - checked by the part
        fields.get("tool_call_id"),  # pyright: ignore[reportArgumentType]
        {} if args is None else args,
        provider_executed=bool(fields.get("provider_executed")),
    )
    state = fields.get("state", "call")
    if state == "result":
        part.set_result(fields.get("result"), fields.get("model_output", MISSING))
    elif state == "error":
        part.set_error(str(fields.get("error") or ""))
    elif state != "call":
        raise MessageError(f"unknown state {state!r} of a tool part")
    part._revision = 0
    return part


def _read_file(fields: _Record, where: str) -> Part:
    if "data" not in fields and "url" not in fields:
        return part_of(fields, where)
    kind = ImagePart if fields["type"] == "image" else FilePart
    media_type = fields.get("media_type")
    if "url" in fields:
        return kind(url=fields["url"], media_type=media_type, filename=fields.get("filename"))
    if "media_type" not in fields:
        return part_of(fields, where)
    data = base64.b64decode(text_of(fields, where, "data"))
    return kind(data, media_type, filename=fields.get("filename"))


def _read_data(fields: _Record, where: str) -> Part:  # noqa: ARG001 - one signature for all readers
    return DataPart(fields["type"], fields.get("data"), id=fields.get("id"), transient=bool(fields.get("transient")))


def _read_unknown(fields: _Record, where: str) -> Part:
    return UnknownPart("unknown" if fields.get("of") is None else text_of(fields, where, "of"), fields.get("data"))


def _read_source(fields: _Record, where: str) -> Part:
    if "source_id" in fields or "sourceId" in fields or "source" in fields:
        return part_of(fields, where)
    return SourcePart(
        text_of(fields, where, "id"),
        fields.get("url"),
        fields.get("title"),
        media_type=fields.get("media_type"),
        filename=fields.get("filename"),
    )


_READERS: Final[Mapping[str, Callable[[_Record, str], Part]]] = {
    "text": _read_text,
    "reasoning": _read_text,
    "tool": _read_tool,
    "file": _read_file,
    "image": _read_file,
    "source": _read_source,
    "step-start": lambda fields, where: StepStartPart(),  # noqa: ARG005 - one signature for all readers
    "unknown": _read_unknown,
}


def parts_from_records(records: Any, where: str) -> list[Part]:
    """Return the parts of a list of records; a missing list is empty."""
    if records is None:
        return []
    if not isinstance(records, Sequence) or isinstance(records, str | bytes):
        raise MessageError(f"{where}: expected a list of parts, got {type(records).__name__}.")
    return [part_from_record(item, f"{where}[{i}]") for i, item in enumerate(cast("Sequence[Any]", records))]
