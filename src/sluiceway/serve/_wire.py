"""The port to an API: how a request is read, and an answer written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from sluiceway.engine import Result, ToolCall
from sluiceway.messages import Chunk, Part, ToolPart, Usage
from sluiceway.serve._ask import Ask
from sluiceway.serve._refusal import Refusal

__all__ = ["Ending", "Wire", "Writer", "compact", "ending_of"]

_JSON: Final = json.JSONEncoder(separators=(",", ":"), default=str)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended.

    Args:
        run_id: The run.
        reason: The finish reason, in the words of `Result`.
        usage: Tokens of all attempts.
        calls: Calls of tools that the client is to run.
        refused: Why a guardrail ended it, or None.
        processor_id: Which one that was.
        parts: What was answered, in order.
    """

    run_id: str
    reason: str
    usage: Usage = field(default_factory=Usage)
    calls: tuple[ToolCall, ...] = ()
    refused: str | None = None
    processor_id: str | None = None
    parts: Sequence[Part] = ()

    def extension(self) -> dict[str, Any]:
        """Return what the APIs have no field for."""
        told: dict[str, Any] = {"run_id": self.run_id}
        if self.refused is not None:
            told["tripwire"] = {"reason": self.refused, "processor_id": self.processor_id}
        return told


def ending_of(result: Result) -> Ending:
    """Return how a run ended that is not streamed."""
    trip = result.tripwire
    if trip is not None:
        return Ending(result.run_id, "other", result.usage, refused=trip.reason, processor_id=trip.processor_id)
    parts = tuple(part for message in result.response.messages for part in message.parts)
    return Ending(result.run_id, result.finish_reason, result.usage, open_calls(parts), parts=parts)


def open_calls(parts: Iterable[Part]) -> tuple[ToolCall, ...]:
    """Return the calls that wait for the client."""
    return tuple(
        ToolCall(part.tool_call_id, part.tool_name, part.args)
        for part in parts
        if isinstance(part, ToolPart) and part.state == "call" and not part.provider_executed
    )


class Writer(Protocol):
    """Writes the pieces of one answer; each method returns bytes to send, or none."""

    def text(self, text: str) -> bytes:
        """Write more of the text."""
        ...

    def reasoning(self, chunk: Chunk) -> bytes:
        """Write a chunk of reasoning."""
        ...

    def end(self, ending: Ending) -> bytes:
        """Write the end."""
        ...

    def fault(self, refusal: Refusal) -> bytes:
        """Write that the answer is broken off."""
        ...


class Wire(Protocol):
    """An API."""

    @property
    def name(self) -> str:
        """What the page calls it."""
        ...

    @property
    def provider(self) -> str:
        """What the models that speak it call themselves."""
        ...

    def ask(self, body: bytes) -> Ask:
        """Read a request; `Refusal` where that cannot be done."""
        ...

    def writer(self, ask: Ask, run_id: str) -> Writer:
        """Return what writes an answer in pieces."""
        ...

    def whole(self, ask: Ask, ending: Ending) -> dict[str, Any]:
        """Return an answer in one piece."""
        ...

    def fault(self, refusal: Refusal) -> dict[str, Any]:
        """Return the body of a refusal."""
        ...

    def event(self, refusal: Refusal) -> bytes:
        """Write a refusal into a stream that has begun."""
        ...


def compact(value: object) -> bytes:
    """Return JSON in ASCII, so that also halves of characters arrive as they are."""
    return _JSON.encode(value).encode("ascii")
