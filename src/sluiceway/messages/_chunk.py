"""`Chunk`: one piece of a run's stream."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from sluiceway._types import MISSING, Missing

__all__ = ["Chunk", "ChunkSource"]

ChunkSource: TypeAlias = Literal["AGENT", "TOOL", "USER"]
"""Who made a chunk: the agent, a tool, or a processor or the user's own code."""


class Chunk:
    """One piece of a run's stream. Frozen: `replace` gives a changed copy.

    Slots behind read-only properties, not a frozen dataclass: a stream makes one of these
    per token, and a frozen dataclass takes four times as long to build.

    Args:
        type: Such as `text-delta`, `tool-call`, `data-progress`; any text is allowed.
        payload: What belongs to the type; read-only from here on.
        run_id: The run it belongs to.
        from_: Who sent it: the agent's loop, a tool, or the user's own code.
    """

    __slots__ = ("_execute", "_from", "_payload", "_run_id", "_type")

    def __init__(
        self,
        type: str,  # noqa: A002 - the field's own name
        payload: Mapping[str, Any] | None = None,
        run_id: str = "",
        from_: ChunkSource = "AGENT",
    ) -> None:
        self._type = type
        self._payload: Mapping[str, Any] = {} if payload is None else payload
        self._run_id = run_id
        self._from: ChunkSource = from_
        self._execute = False

    @property
    def type(self) -> str:
        """What kind of chunk this is."""
        return self._type

    @property
    def payload(self) -> Mapping[str, Any]:
        """What belongs to the type, read-only."""
        return MappingProxyType(self._payload)

    @property
    def run_id(self) -> str:
        """The run it belongs to."""
        return self._run_id

    @property
    def from_(self) -> ChunkSource:
        """Who sent it."""
        return self._from

    @property
    def text(self) -> str:
        """The text of a text or reasoning delta; `""` for any other chunk."""
        text = self._payload.get("text")
        return text if isinstance(text, str) and self._type.endswith("-delta") else ""

    @property
    def data(self) -> Any:
        """The data of a `data-*` chunk; None for any other chunk."""
        return self._payload.get("data")

    @property
    def execute(self) -> bool:
        """Whether a tool call with edited `args` runs with these instead of the model's own."""
        return self._execute

    def get(self, key: str, default: Any = None) -> Any:
        """Return `payload[key]`, or the default.

        Args:
            key: A field of the payload.
            default: What is returned where there is none.
        """
        return self._payload.get(key, default)

    def replace(
        self,
        *,
        text: str | None = None,
        args: Mapping[str, Any] | None = None,
        execute: bool | None = None,
        payload: Mapping[str, Any] | None = None,
        run_id: str | None = None,
        data: Any | Missing = MISSING,
    ) -> Chunk:
        """Return a copy with some of it changed.

        Args:
            text: Other text of a delta.
            args: Other arguments of a tool call.
            execute: Whether the tool runs with these arguments.
            payload: A whole other payload; `text`, `args` and `data` go on top of it.
            run_id: Another run.
            data: Other data of a `data-*` chunk.
        """
        new = dict(self._payload if payload is None else payload)
        if text is not None:
            new["text"] = text
        if args is not None:
            new["args"] = args
        if data is not MISSING:
            new["data"] = data
        copy = Chunk(self._type, new, self._run_id if run_id is None else run_id, self._from)
        copy._execute = self._execute if execute is None else execute
        return copy

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Chunk):
            return NotImplemented
        return (
            self._type == other._type
            and self._payload == other._payload
            and self._run_id == other._run_id
            and self._from == other._from
        )

    def __hash__(self) -> int:
        return hash((self._type, self._run_id, self._from))

    def __repr__(self) -> str:
        return f"Chunk({self._type!r}, {dict(self._payload)!r})"
