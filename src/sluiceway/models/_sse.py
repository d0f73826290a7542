"""Server-sent events: from bytes, however they were cut, to events.

The format is that of the HTML standard, section 9.2.6 "Interpreting an event stream". It is
read from bytes, not from text, so that a cut in the middle of a character does no harm.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EventTooLong", "SSEDecoder", "ServerEvent"]

_BOM = b"\xef\xbb\xbf"
_COLON = ord(":")


class ServerEvent(NamedTuple):
    """One event: its name (`""` where none was sent) and its data, lines joined by newlines."""

    name: str
    data: bytes


class EventTooLong(Exception):
    """An event grew past the limit."""


class SSEDecoder:
    """Takes bytes as they arrive and gives the events that are complete.

    The work is linear in the bytes, also where a line comes in a thousand pieces. Comments,
    `id`, `retry` and unknown fields are skipped.

    Args:
        limit_bytes: The longest line or event that is kept in memory.
    """

    __slots__ = (
        "_after_cr",
        "_data",
        "_data_bytes",
        "_limit_bytes",
        "_name",
        "_pieces",
        "_pieces_bytes",
        "_started",
    )

    def __init__(self, limit_bytes: int = 32 * 1024 * 1024) -> None:
        self._limit_bytes = limit_bytes
        self._pieces: list[bytes] = []
        """The line that is not complete yet."""
        self._data: list[bytes] = []
        self._name = ""
        self._pieces_bytes = 0
        self._data_bytes = 0
        self._after_cr = False
        self._started = False

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Return the events that end in these bytes.

        Raises:
            EventTooLong: A line or an event is longer than the limit.
        """
        if self._after_cr and data:
            self._after_cr = False
            if data.startswith(b"\n"):
                data = data[1:]
        events: list[ServerEvent] = []
        for line in data.splitlines(keepends=True):
            content = line.rstrip(b"\r\n")
            if len(content) == len(line):
                self._hold(line)
                break
            self._read(self._whole(content), events)
        if data.endswith(b"\r"):
            self._after_cr = True
        return events

    def end(self) -> list[ServerEvent]:
        """Return what was sent without the empty line that ends an event.

        The standard drops it; some servers send their last event so.
        """
        events: list[ServerEvent] = []
        self._read(self._whole(b""), events)
        self._read(b"", events)
        return events

    def _hold(self, piece: bytes) -> None:
        self._pieces_bytes += len(piece)
        if self._pieces_bytes > self._limit_bytes:
            raise EventTooLong
        self._pieces.append(piece)

    def _whole(self, last: bytes) -> bytes:
        if not self._pieces:
            return last
        self._pieces.append(last)
        line = b"".join(self._pieces)
        self._pieces.clear()
        self._pieces_bytes = 0
        return line

    def _read(self, line: bytes, events: list[ServerEvent]) -> None:
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                events.append(ServerEvent(self._name, b"\n".join(self._data)))
                self._data.clear()
            self._name = ""
            self._data_bytes = 0
            return
        if line[0] == _COLON:
            return
        field, _, value = line.partition(b":")
        if value.startswith(b" "):
            value = value[1:]
        if field == b"data":
            self._data_bytes += len(value) + 1
            if self._data_bytes > self._limit_bytes:
                raise EventTooLong
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
