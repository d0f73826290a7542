"""`AttachmentUploader`: files that came as data become URLs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

from sluiceway.engine import fan_out
from sluiceway.errors import ConfigurationError, MessageError
from sluiceway.messages import FilePart, Message
from sluiceway.processors import Effects, InputContext, Processor

__all__ = ["AttachmentUploader", "Upload"]


class Upload(Protocol):
    """Stores a file and returns where it is."""

    def __call__(self, data: bytes, media_type: str, filename: str | None) -> Awaitable[str] | str:
        """Return the URL."""
        ...


_Job: TypeAlias = Callable[[], Awaitable[None]]


class AttachmentUploader(Processor):
    """Uploads the files and images of the input that are held by value, before anything is saved.

    Those of one message are uploaded together. One that fails is an abort with the file's name.

    Hooks: `process_input` (writes messages; sends files to `upload`).

    Args:
        upload: Takes bytes, media type and name, and returns the URL; sync or async.
        min_bytes: Files smaller than this stay as they are.
        id: The id.

    Raises:
        ConfigurationError: A value that is not allowed.
    """

    def __init__(
        self,
        upload: Upload,
        *,
        min_bytes: int = 0,
        id: str = "attachment-uploader",  # noqa: A002 - the field's own name
    ) -> None:
        super().__init__(id)
        if not callable(upload):
            raise ConfigurationError(f"upload is a function, not {type(upload).__name__}")
        if not isinstance(min_bytes, int) or isinstance(min_bytes, bool) or min_bytes < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"min_bytes={min_bytes!r} is not allowed; give a whole number from 0")
        self._upload = upload
        self.min_bytes = min_bytes
        self.effects = Effects(reads=("messages",), writes=("messages",), external=True)

    async def process_input(self, ctx: InputContext) -> None:
        """Upload what is held by value."""
        for message in ctx.message_list.input:
            parts = self._held_by_value(ctx, message)
            outcomes = await fan_out([partial(self._replace, part, data) for part, data in parts], wait="all")
            failed = [
                (part, outcome.error)
                for (part, _), outcome in zip(parts, outcomes, strict=True)
                if outcome.error is not None
            ]
            for part, error in failed:
                if not isinstance(error, Exception):
                    raise error
                ctx.abort(
                    f"the file {_name(part)} could not be uploaded",
                    metadata={"filename": part.filename, "error": type(error).__name__},
                )

    def _held_by_value(self, ctx: InputContext, message: Message) -> list[tuple[FilePart, bytes]]:
        found: list[tuple[FilePart, bytes]] = []
        for part in (*message.parts, *message.attachments):
            if not isinstance(part, FilePart):
                continue
            try:
                data = part.data
            except MessageError as error:
                ctx.abort(f"the file {_name(part)} cannot be read: {error}", metadata={"filename": part.filename})
            if data is not None and len(data) >= self.min_bytes:
                found.append((part, data))
        return found

    async def _replace(self, part: FilePart, data: bytes) -> None:
        url = self._upload(data, part.media_type, part.filename)
        if not isinstance(url, str):
            url = await url
        if not isinstance(cast("Any", url), str) or not url:
            raise ConfigurationError(f"upload returned {type(url).__name__}, not a URL")
        part.url = url


def _name(part: FilePart) -> str:
    return repr(part.filename) if part.filename else f"of type {part.media_type}"
