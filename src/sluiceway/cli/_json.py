"""A run as JSON lines: hooks, chunks, and the result last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TextIO, cast

from sluiceway.engine import Result
from sluiceway.messages import Chunk, Message, Part, ui_message
from sluiceway.processors import HookEvent

__all__ = ["JsonLines", "plain"]


class JsonLines:
    """Writes one JSON object per line: `hook`, `chunk`, and `result` or `error` at the end.

    Edits are offsets and lengths; no value that a processor took out is in any line.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def hook(self, event: HookEvent) -> None:
        """Write what a hook did."""
        self._line({"hook": plain(event)})

    def chunk(self, chunk: Chunk) -> None:
        """Write a chunk."""
        payload = {key: plain(value) for key, value in chunk.payload.items() if key not in ("response", "error")}
        if isinstance(chunk.get("error"), str):
            payload["error"] = chunk.get("error")
        self._line({"chunk": {"type": chunk.type, "from": chunk.from_, **payload}})

    def result(self, result: Result) -> None:
        """Write the result."""
        self._line({"result": plain(result)})

    def error(self, error: BaseException) -> None:
        """Write what the run failed with."""
        self._line({"error": {"type": type(error).__name__, "message": str(error)}})

    def _line(self, value: Mapping[str, Any]) -> None:
        line = json.dumps(value, ensure_ascii=False, default=str)
        self._out.write(line.encode("utf-8", "backslashreplace").decode() + "\n")
        self._out.flush()


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Message):
        return ui_message(value)
    if isinstance(value, Part):
        return {"type": value.type}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    return str(value)
