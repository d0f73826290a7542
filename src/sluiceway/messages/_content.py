"""Parts from the content of chat dicts, in the spellings of the usual APIs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from sluiceway.errors import MessageError
from sluiceway.messages._media import FilePart, ImagePart
from sluiceway.messages._part import Part
from sluiceway.messages._parts import DataPart, SourcePart, StepStartPart, UnknownPart
from sluiceway.messages._text import ReasoningPart, TextPart
from sluiceway.messages._tool import ToolPart

__all__ = ["content_parts", "first_of", "mapping_of", "metadata_of", "part_of", "text_of", "tool_calls"]

Fields: TypeAlias = Mapping[str, Any]
_Builder: TypeAlias = Callable[[Fields, str], Part]


def content_parts(content: Any, where: str) -> list[Part]:
    """Return the parts of a message's content: None, a str, or a list of parts and dicts.

    Args:
        content: The content.
        where: Where it stands, such as `input[2].content`, for the error.

    Raises:
        MessageError: A shape that nothing can be made of.
    """
    if content is None:
        return []
    if isinstance(content, str):
        return [TextPart(content)]
    if isinstance(content, Mapping | Part):
        return [part_of(content, where)]
    if isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        items = cast("Sequence[Any]", content)
        return [part_of(item, f"{where}[{i}]") for i, item in enumerate(items)]
    raise MessageError(f"{where}: content is a str or a list of parts, not {type(content).__name__}.")


def part_of(item: Any, where: str) -> Part:
    """Return the part that one item of a content list stands for."""
    if isinstance(item, Part):
        return item
    if isinstance(item, str):
        return TextPart(item)
    fields = mapping_of(item, where)
    kind = fields.get("type")
    if not isinstance(kind, str):
        raise MessageError(f"{where}: a part is a dict with a `type` of type str; {kind!r} is not one.")
    build = _BUILDERS.get(kind)
    if build is not None:
        return build(fields, where)
    if kind.startswith("data-"):
        data_id = _optional_str(fields, where, "id")
        return DataPart(kind, fields.get("data"), id=data_id, provider_metadata=metadata_of(fields))
    if kind.startswith("tool-"):
        return _ui_tool(fields, where)
    return UnknownPart(kind, dict(fields))


def tool_calls(calls: Any, where: str) -> list[Part]:
    """Return the tool parts for the `tool_calls` of an assistant dict.

    Both spellings are read: `{"id", "function": {"name", "arguments"}}` with JSON text for
    arguments, and the flat `{"id", "name", "args"}`.
    """
    if not calls:
        return []
    if not isinstance(calls, Sequence) or isinstance(calls, str | bytes):
        raise MessageError(f"{where}: `tool_calls` is a list, not {type(calls).__name__}.")
    return [_flat_call(call, f"{where}[{i}]") for i, call in enumerate(cast("Sequence[Any]", calls))]


def _tool_args(raw: Any, where: str) -> Any:
    """Return the arguments of a call from a dict or from JSON text."""
    if raw is None or raw == "":
        return {}
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except RecursionError as error:
        raise MessageError(f"{where}: the arguments of the tool call are nested too deep.") from error
    except ValueError as error:
        raise MessageError(f"{where}: the arguments of the tool call are not valid JSON.") from error


def metadata_of(fields: Fields) -> Fields | None:
    """Return the provider metadata of a dict, in any of the usual spellings."""
    found = first_of(fields, "provider_metadata", "providerMetadata", "provider_options", "providerOptions")
    return cast("Fields", found) if isinstance(found, Mapping) and found else None


def first_of(fields: Fields, *names: str) -> Any:
    """Return the value of the first of these keys that is there and not None."""
    for name in names:
        value = fields.get(name)
        if value is not None:
            return value
    return None


def mapping_of(item: Any, where: str) -> Fields:
    """Return the item if it is a mapping.

    Raises:
        MessageError: It is none.
    """
    if not isinstance(item, Mapping):
        raise MessageError(f"{where}: expected a dict, got {type(item).__name__}.")
    return cast("Fields", item)


def text_of(fields: Fields, where: str, *names: str) -> str:
    """Return a text field; a missing one is empty."""
    value = first_of(fields, *names)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MessageError(f"{where}: `{names[0]}` is a str, not {type(value).__name__}.")
    return value


def _optional_str(fields: Fields, where: str, *names: str) -> str | None:
    return text_of(fields, where, *names) or None


def _required(fields: Fields, where: str, *names: str) -> str:
    value = text_of(fields, where, *names)
    if not value:
        raise MessageError(f"{where}: `{names[0]}` is missing.")
    return value


def _text(fields: Fields, where: str) -> Part:
    return TextPart(text_of(fields, where, "text", "refusal"), provider_metadata=metadata_of(fields))


def _reasoning(fields: Fields, where: str) -> Part:
    metadata = metadata_of(fields)
    signature = fields.get("signature")
    if signature is not None and metadata is None:
        metadata = {"anthropic": {"signature": signature}}
    return ReasoningPart(text_of(fields, where, "text", "thinking", "reasoning"), provider_metadata=metadata)


def _image(fields: Fields, where: str) -> Part:
    media_type = _optional_str(fields, where, "media_type", "mediaType", "mimeType")
    source = first_of(fields, "image_url", "image", "url", "data", "source")
    metadata = metadata_of(fields)
    if isinstance(source, Mapping):
        inner = cast("Fields", source)
        media_type = media_type or _optional_str(inner, where, "media_type")
        detail = inner.get("detail")
        if detail is not None and metadata is None:
            metadata = {"openai": {"detail": detail}}
        source = first_of(inner, "url", "data")
    if not isinstance(source, str | bytes):
        raise MessageError(f"{where}: an image needs a URL, a data URL or bytes.")
    return _media(ImagePart, source, media_type, where, metadata=metadata)


def _file(fields: Fields, where: str) -> Part:
    inner = fields.get("file")
    fields = {**fields, **cast("Fields", inner)} if isinstance(inner, Mapping) else fields
    media_type = _optional_str(fields, where, "media_type", "mediaType", "mimeType")
    source = first_of(fields, "url", "data", "file_data", "file_url", "source")
    if isinstance(source, Mapping):
        block = cast("Fields", source)
        media_type = media_type or _optional_str(block, where, "media_type")
        source = first_of(block, "url", "data", "content")
    if not isinstance(source, str | bytes):
        if first_of(fields, "file_id", "fileId") is not None:
            return UnknownPart("file", dict(fields))
        raise MessageError(f"{where}: a file needs a URL, a data URL, base64 text or bytes.")
    kind = ImagePart if media_type is not None and media_type.startswith("image/") else FilePart
    name = _optional_str(fields, where, "filename", "name", "title")
    return _media(kind, source, media_type, where, filename=name, metadata=metadata_of(fields))


def _audio(fields: Fields, where: str) -> Part:
    inner = mapping_of(fields.get("input_audio"), f"{where}.input_audio")
    kind = f"audio/{text_of(inner, where, 'format') or 'wav'}"
    return _media(FilePart, text_of(inner, where, "data"), kind, where, metadata=metadata_of(fields))


def _media(
    kind: type[FilePart],
    source: str | bytes,
    media_type: str | None,
    where: str,
    *,
    filename: str | None = None,
    metadata: Fields | None = None,
) -> Part:
    try:
        return kind(source, media_type, filename=filename, provider_metadata=metadata)
    except MessageError as error:
        raise MessageError(f"{where}: {error}") from error


def _call(fields: Fields, where: str) -> Part:
    return ToolPart(
        _required(fields, where, "tool_name", "toolName", "name"),
        _required(fields, where, "tool_call_id", "toolCallId", "id"),
        _tool_args(first_of(fields, "args", "input", "arguments"), where),
        provider_executed=bool(first_of(fields, "provider_executed", "providerExecuted")),
        provider_metadata=metadata_of(fields),
    )


def _flat_call(item: Any, where: str) -> Part:
    fields = mapping_of(item, where)
    inner = fields.get("function")
    if isinstance(inner, Mapping):
        fields = {**fields, **cast("Fields", inner)}
    return _call(fields, where)


def _ui_tool(fields: Fields, where: str) -> Part:
    kind: str = fields["type"]
    inner = first_of(fields, "toolInvocation", "tool_invocation")
    if isinstance(inner, Mapping):
        fields = {**fields, **cast("Fields", inner)}
    name = text_of(fields, where, "tool_name", "toolName") or kind.removeprefix("tool-")
    part = ToolPart(
        name,
        _required(fields, where, "toolCallId", "tool_call_id", "id"),
        _tool_args(first_of(fields, "input", "args", "rawInput"), where),
        provider_executed=bool(first_of(fields, "providerExecuted", "provider_executed")),
        provider_metadata=metadata_of(fields) or _call_metadata(fields),
    )
    state = fields.get("state")
    if state in ("output-available", "result"):
        part.set_result(fields["output"] if "output" in fields else fields.get("result"))
    elif state in ("output-error", "error"):
        part.set_error(text_of(fields, where, "errorText", "error") or "The tool failed.")
    return part


def _call_metadata(fields: Fields) -> Fields | None:
    found = fields.get("callProviderMetadata")
    return cast("Fields", found) if isinstance(found, Mapping) and found else None


def _source(fields: Fields, where: str) -> Part:
    inner = fields.get("source")
    fields = {**fields, **cast("Fields", inner)} if isinstance(inner, Mapping) else fields
    return SourcePart(
        text_of(fields, where, "sourceId", "source_id", "id"),
        _optional_str(fields, where, "url"),
        _optional_str(fields, where, "title"),
        media_type=_optional_str(fields, where, "mediaType", "media_type"),
        filename=_optional_str(fields, where, "filename"),
        provider_metadata=metadata_of(fields),
    )


def _step_start(fields: Fields, where: str) -> Part:  # noqa: ARG001 - one signature for all builders
    return StepStartPart(provider_metadata=metadata_of(fields))


_BUILDERS: Final[Mapping[str, _Builder]] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "refusal": _text,
    "reasoning": _reasoning,
    "thinking": _reasoning,
    "image": _image,
    "image_url": _image,
    "input_image": _image,
    "file": _file,
    "document": _file,
    "input_file": _file,
    "input_audio": _audio,
    "tool-call": _call,
    "tool_call": _call,
    "tool_use": _call,
    "dynamic-tool": _ui_tool,
    "tool-invocation": _ui_tool,
    "source": _source,
    "source-url": _source,
    "source-document": _source,
    "step-start": _step_start,
}
