"""The fields of a message from a chat dict."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from sluiceway.errors import MessageError
from sluiceway.messages._content import content_parts, first_of, mapping_of, metadata_of, tool_calls
from sluiceway.messages._part import Part

__all__ = ["aware", "chat_fields", "moment"]


def aware(value: Any) -> datetime:
    """Return the time with a time zone; one without is taken as UTC.

    Raises:
        MessageError: It is no datetime.
    """
    if not isinstance(value, datetime):
        raise MessageError(f"created_at is a datetime, not {type(value).__name__}.")
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def chat_fields(chat: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a message from a chat dict."""
    role = chat.get("role", "user")
    if role in ("system", "developer", "tool"):
        raise MessageError(f"role: a dict of role {role!r} is no message of its own; give it to `generate`.")
    name = "parts" if "parts" in chat else "content"
    parts = content_parts(chat.get(name), name)
    parts += tool_calls(first_of(chat, "tool_calls", "toolCalls"), "tool_calls")
    fields: dict[str, Any] = {"role": role, "parts": parts, "provider_metadata": metadata_of(chat)}
    if chat.get("metadata") is not None:
        fields["metadata"] = mapping_of(chat["metadata"], "metadata")
    files = first_of(chat, "attachments", "experimental_attachments")
    if files:
        fields["attachments"] = [_attachment(item, f"attachments[{i}]") for i, item in enumerate(files)]
    if isinstance(chat.get("id"), str):
        fields["id"] = chat["id"]
    created = first_of(chat, "created_at", "createdAt")
    if created is not None:
        fields["created_at"] = moment(created, "created_at")
    return fields


def _attachment(item: Any, where: str) -> Any:
    if isinstance(item, Mapping) and "type" not in item:
        fields = cast("Mapping[str, Any]", item)
        media_type = first_of(fields, "contentType", "media_type", "mediaType")
        return {"type": "file", "media_type": media_type, **fields}
    if isinstance(item, Part | Mapping):
        return cast("Any", item)
    raise MessageError(f"{where}: an attachment is a file part or a dict, not {type(item).__name__}.")


def moment(value: Any, where: str) -> datetime:
    """Return a time from a datetime, ISO text or seconds since 1970."""
    if isinstance(value, datetime):
        return aware(value)
    try:
        if isinstance(value, str):
            return aware(datetime.fromisoformat(value))
        return datetime.fromtimestamp(value, UTC)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise MessageError(f"{where}: {value!r} is no time.") from error
