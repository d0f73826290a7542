"""Files and images of a message."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from sluiceway.errors import MessageError
from sluiceway.messages._part import Noted, Part

__all__ = ["FilePart", "ImagePart"]

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,38}:")
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
)


class FilePart(Part):
    """A file, by URL or by value.

    Args:
        data: Bytes, a data URL, another URL, or base64 text.
        media_type: Such as `application/pdf`; None: as the data say, else a general one.
        url: The URL, where `data` is not given.
        filename: Its name, or None.
        provider_metadata: What providers attached, by provider.

    Raises:
        MessageError: Neither `data` nor `url` is given, or it is neither bytes nor str.
    """

    __slots__ = ("_filename", "_media_type", "_source")

    type = "file"
    media_type = Noted[str]()
    filename = Noted["str | None"]()
    _default_media_type = "application/octet-stream"

    def __init__(
        self,
        data: bytes | str | None = None,
        media_type: str | None = None,
        *,
        url: str | None = None,
        filename: str | None = None,
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(provider_metadata)
        self._source: bytes | str = self._checked(url if data is None else data, is_url=data is None)
        self._media_type: str = media_type or self._guess()
        self._filename = filename

    @property
    def url(self) -> str | None:
        """The URL, a data URL among them; None where the file is held as bytes."""
        return self._source if isinstance(self._source, str) else None

    @url.setter
    def url(self, value: str) -> None:
        self._replace(self._checked(value, is_url=True))

    @property
    def data(self) -> bytes | None:
        """The bytes, also those of a data URL; None where only another URL is known.

        Raises:
            MessageError: A data URL that cannot be decoded.
        """
        if isinstance(self._source, bytes):
            return self._source
        return _decode(self._source) if self._source[:5].lower() == "data:" else None

    @data.setter
    def data(self, value: bytes) -> None:
        self._replace(self._checked(value, is_url=False))

    def data_url(self) -> str:
        """Return the URL, or a data URL of the bytes."""
        if isinstance(self._source, str):
            return self._source
        return f"data:{self.media_type};base64,{base64.b64encode(self._source).decode('ascii')}"

    def _checked(self, source: Any, *, is_url: bool) -> bytes | str:
        if isinstance(source, bytes | bytearray):
            return bytes(source)
        if not isinstance(source, str):
            kind = type(source).__name__
            raise MessageError(f"A part of type {self.type} is made from bytes or a URL, not {kind}.")
        if is_url or _is_url(source):
            return source
        return _decode_base64(source)

    def _replace(self, source: bytes | str) -> None:
        if source != self._source:
            self._source = source
            self._note("data")

    def _guess(self) -> str:
        if isinstance(self._source, str):
            head = self._source[:200]
            if head[:5].lower() == "data:":
                return head[5:].split(",", 1)[0].split(";", 1)[0] or self._default_media_type
            return self._default_media_type
        for magic, media_type in _MAGIC:
            if self._source.startswith(magic):
                return media_type
        if self._source[:4] == b"RIFF" and self._source[8:12] == b"WEBP":
            return "image/webp"
        return self._default_media_type

    def _state(self) -> tuple[Any, ...]:
        return (self._source, self._media_type, self._filename, self._meta_state())

    def _load(self, state: tuple[Any, ...]) -> None:
        self._source, self._media_type, self._filename, meta = state
        self._load_meta(meta)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(<{self.media_type}>, filename={self.filename!r})"


class ImagePart(FilePart):
    """An image, by URL or by value."""

    __slots__ = ()

    type = "image"
    _default_media_type = "image/*"


def _is_url(text: str) -> bool:
    return _SCHEME.match(text) is not None


def _decode(url: str) -> bytes:
    head, comma, body = url.partition(",")
    if not comma:
        raise MessageError("A data URL has a comma between its media type and its data.")
    if head.lower().endswith(";base64"):
        return _decode_base64(body)
    try:
        return unquote_to_bytes(body)
    except UnicodeEncodeError as error:
        raise MessageError("The data of a data URL are not valid text.") from error


def _decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError) as error:
        raise MessageError("The data of a file are neither a URL nor valid base64.") from error
