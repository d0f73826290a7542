"""An answer in the making: blocks of text and reasoning, tool calls, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import json_repair
from pydantic_core import from_json

from sluiceway._types import new_id
from sluiceway.messages import Chunk, Usage
from sluiceway.models._errors import Refusals
from sluiceway.models._sse import ServerEvent

__all__ = ["Answer", "ToolDraft", "count", "mended"]

_MENDED_CHARS = 20_000
"""How long arguments may be that are mended: it takes time, for deep ones that of their square."""

_CUT_REASONS = frozenset({"length", "content-filter"})


@dataclass(slots=True)
class ToolDraft:
    """A tool call whose arguments are still coming, in pieces, or came whole."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    arguments: Mapping[str, Any] | None = None
    provider_executed: bool = False
    provider_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Answer:
    """Turns what a provider sends into chunks; one per call.

    Args:
        refusals: Makes its errors.
        run_id: Of the chunks.
        warnings: What could not be asked for; sent with `finish`.

    Attributes:
        events: How many events have been read.
        usage: What the provider counted.
    """

    def __init__(self, refusals: Refusals, run_id: str, warnings: tuple[str, ...] = ()) -> None:
        self.refusals = refusals
        self.events = 0
        self.usage: Usage | None = None
        self._run_id = run_id
        self._warnings = list(warnings)
        self._open: tuple[str, str] | None = None
        self._blocks = 0
        self._halves = False
        self._half = ""

    def load(self, event: ServerEvent) -> dict[str, Any]:
        """Return the JSON object in an event.

        Raises:
            ModelError: It is none.
        """
        self.events += 1
        try:
            value = from_json(event.data)
        except ValueError:
            value = self._load_leniently(event)
        if not isinstance(value, dict):
            raise self.refusals.error(
                f"event {self.events} is no JSON object ({len(event.data)} bytes): {self.refusals.outline(event.data)}",
                retryable=True,
            )
        return cast("dict[str, Any]", value)

    def _load_leniently(self, event: ServerEvent) -> object:
        """Read what a strict parser refuses: bytes that are not UTF-8, and halves of characters.

        A server that cuts its texts by UTF-16 units sends the two halves of an emoji apart.
        """
        self._halves = True
        try:
            return json.loads(event.data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None

    def chunk(self, type: str, **payload: object) -> Chunk:  # noqa: A002 - the field's own name
        """Return a chunk of this run."""
        return Chunk(type, payload, self._run_id)

    def delta(self, kind: str, text: str) -> list[Chunk]:
        """Return the chunks for more text of a kind, `text` or `reasoning`."""
        if self._halves:
            text = self._joined(text)
        if not text:
            return []
        chunks: list[Chunk] = []
        if self._open is None or self._open[0] != kind:
            chunks = self.close_block()
            chunks.append(self.open_block(kind))
        assert self._open is not None
        chunks.append(Chunk(f"{kind}-delta", {"id": self._open[1], "text": text}, self._run_id))
        return chunks

    def open_block(self, kind: str) -> Chunk:
        """Return the chunk that opens a block; the one before must be closed."""
        self._blocks += 1
        self._open = (kind, f"{kind}-{self._blocks}")
        return self.chunk(f"{kind}-start", id=self._open[1])

    @property
    def open_kind(self) -> str | None:
        """The kind of the block that is open."""
        return None if self._open is None else self._open[0]

    def close_block(self, provider_metadata: Mapping[str, Any] | None = None) -> list[Chunk]:
        """Return the chunks that close the open block, if there is one."""
        if self._open is None:
            return []
        (kind, block), self._open = self._open, None
        chunks: list[Chunk] = []
        if self._half:
            self._half = ""
            chunks.append(self.chunk(f"{kind}-delta", id=block, text="\ufffd"))
        payload: dict[str, object] = {"id": block}
        if provider_metadata:
            payload["provider_metadata"] = provider_metadata
        chunks.append(self.chunk(f"{kind}-end", **payload))
        return chunks

    def tool_call(self, draft: ToolDraft, reason: str) -> Chunk:
        """Return the chunk of a tool call that is complete.

        Args:
            draft: The call.
            reason: Why the answer ended; after `length` and `content-filter`, where no tool
                runs, arguments that were cut are given as far as they go.

        Raises:
            ModelError: No name, or arguments that are no JSON object.
        """
        if not draft.name:
            raise self.refusals.error("a tool call has no name", retryable=True)
        payload: dict[str, object] = {
            "tool_call_id": draft.id or new_id("call"),
            "tool_name": draft.name,
            "args": self._arguments(draft, reason),
            "provider_executed": draft.provider_executed,
        }
        if draft.provider_metadata:
            payload["provider_metadata"] = draft.provider_metadata
        return self.chunk("tool-call", **payload)

    def finish(self, reason: str, provider_metadata: Mapping[str, Any]) -> Chunk:
        """Return the last chunk."""
        return self.chunk(
            "finish",
            reason=reason,
            usage=self.usage,
            provider_metadata=provider_metadata,
            warnings=tuple(self._warnings),
        )

    def _arguments(self, draft: ToolDraft, reason: str) -> dict[str, Any]:
        if draft.arguments is not None:
            return dict(draft.arguments)
        text = mended("".join(draft.pieces)).strip()
        if not text:
            return {}
        try:
            value = from_json(text)
        except ValueError:
            value = self._repaired(text, reason)
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
        raise self.refusals.error(
            f"the arguments of a tool call are no JSON object ({len(text)} characters)",
            retryable=True,
        )

    def _repaired(self, text: str, reason: str) -> object:
        """Mend what is not quite JSON, but do not guess at what was cut: a tool would run with it."""
        try:
            partial = from_json(text, allow_partial="trailing-strings")
        except ValueError:
            if not text.endswith("}"):
                return {} if reason in _CUT_REASONS else None
            if len(text) > _MENDED_CHARS:
                return None
            try:
                value = json_repair.loads(text)
            except (ValueError, RecursionError):
                return None
            self._warnings.append("the arguments of a tool call were not quite JSON")
            return value
        return partial if reason in _CUT_REASONS else None

    def _joined(self, text: str) -> str:
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return mended(text)


def mended(text: str) -> str:
    """Return a text in which halves of characters are joined, or replaced where one is missing."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def count(fields: Mapping[str, Any], name: str) -> int:
    """Return a count of tokens; 0 where there is none."""
    value = fields.get(name)
    return value if isinstance(value, int) and value > 0 else 0
