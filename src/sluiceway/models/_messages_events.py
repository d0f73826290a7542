"""What the events of Anthropic's Messages mean.

As documented by Anthropic ("Streaming messages"): unknown types of events and blocks are
passed over, since more are added over time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from sluiceway._types import new_id
from sluiceway.messages import Chunk, SourcePart, Usage
from sluiceway.models._answer import Answer, ToolDraft, count
from sluiceway.models._errors import Refusals
from sluiceway.models._sse import ServerEvent

__all__ = ["MessagesEvents"]

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool-calls",
    "refusal": "content-filter",
}
_RESULT = "_tool_result"


class MessagesEvents:
    """Maps the events of one answer.

    Args:
        provider: Under whose name what belongs to it is kept.
        refusals: Makes errors.
        run_id: Of the chunks.
        warnings: What could not be asked for.
    """

    def __init__(self, provider: str, refusals: Refusals, run_id: str = "", warnings: tuple[str, ...] = ()) -> None:
        self.done = False
        self._provider = provider
        self._refusals = refusals
        self._answer = Answer(refusals, run_id, warnings)
        self._reason: str | None = None
        self._counts: dict[str, Any] = {}
        self._block: Mapping[str, Any] = {}
        self._signature = ""
        self._draft = ToolDraft()
        self._calls: list[ToolDraft] = []
        self._handlers: Mapping[str, Callable[[Mapping[str, Any]], Sequence[Chunk]]] = {
            "message_start": self._start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._delta,
            "message_stop": self._stop,
        }

    def take(self, event: ServerEvent) -> Sequence[Chunk]:
        """Return the chunks of an event."""
        fields = self._answer.load(event)
        kind = fields.get("type")
        if kind == "error" or fields.get("error"):
            raise self._refusals.reported(fields.get("error") or fields, {})
        try:
            if isinstance(kind, str):
                handler = self._handlers.get(kind)
                return () if handler is None else handler(fields)
        except (KeyError, TypeError, AttributeError):
            pass
        raise self._refusals.error(
            f"event {self._answer.events} is no event of a message: {self._refusals.outline(event.data)}",
            retryable=True,
        )

    def end(self) -> Sequence[Chunk]:
        """Return the last chunks."""
        answer = self._answer
        if self._reason is None:
            raise self._refusals.error(
                f"the server closed the connection in the middle of the answer, after {answer.events} events",
                retryable=True,
            )
        answer.usage = _usage(self._counts) if self._counts else None
        chunks = answer.close_block()
        chunks += [answer.tool_call(draft, self._reason) for draft in self._calls]
        chunks.append(answer.finish(self._reason, {}))
        return chunks

    def _start(self, fields: Mapping[str, Any]) -> Sequence[Chunk]:
        message = _mapping(fields["message"])
        self._count(message.get("usage"))
        return [
            self._answer.chunk("response-metadata", id=message.get("id"), model_id=message.get("model"), timestamp=None)
        ]

    def _block_start(self, fields: Mapping[str, Any]) -> Sequence[Chunk]:
        block = self._block = _mapping(fields["content_block"])
        self._signature = _text_of(block.get("signature") or "")
        kind = block["type"]
        if kind in ("tool_use", "server_tool_use"):
            self._draft = ToolDraft(
                _text_of(block["id"]), _text_of(block["name"]), provider_executed=kind != "tool_use"
            )
        if kind == "text":
            return self._text("text", block.get("text") or "")
        if kind == "thinking":
            return self._text("reasoning", block.get("thinking") or "")
        return ()

    def _block_delta(self, fields: Mapping[str, Any]) -> Sequence[Chunk]:
        delta = fields["delta"]
        kind = delta["type"]
        if kind == "text_delta":
            return self._text("text", delta["text"])
        if kind == "input_json_delta":
            self._draft.pieces.append(_text_of(delta["partial_json"]))
        elif kind == "thinking_delta":
            return self._text("reasoning", delta["thinking"])
        elif kind == "signature_delta":
            self._signature += delta["signature"]
        elif kind == "citations_delta" and isinstance(url := delta["citation"].get("url"), str):
            part = SourcePart(new_id("source"), url, delta["citation"].get("title"))
            return [self._answer.chunk("source", part=part)]
        return ()

    def _block_stop(self, fields: Mapping[str, Any]) -> Sequence[Chunk]:
        del fields
        answer, block, self._block = self._answer, self._block, {}
        kind: str = block.get("type", "")
        if kind == "thinking":
            opened = [] if answer.open_kind else [answer.open_block("reasoning")]
            return opened + answer.close_block({self._provider: {"signature": self._signature}})
        if kind == "redacted_thinking":
            return [
                answer.open_block("reasoning"),
                *answer.close_block({self._provider: {"redacted_data": block["data"]}}),
            ]
        if kind == "tool_use":
            self._calls.append(self._filled(block))
        elif kind == "server_tool_use":
            return [answer.tool_call(self._filled(block), "")]
        elif kind.endswith(_RESULT):
            return [
                answer.chunk(
                    "tool-result",
                    tool_call_id=_text_of(block["tool_use_id"]),
                    tool_name=kind.removesuffix(_RESULT),
                    result=block.get("content"),
                    provider_executed=True,
                )
            ]
        return answer.close_block()

    def _filled(self, block: Mapping[str, Any]) -> ToolDraft:
        """Take the arguments from the block's start where no pieces of them came."""
        draft = self._draft
        if not any(draft.pieces) and isinstance(block.get("input"), Mapping):
            draft.arguments = block["input"]
        return draft

    def _delta(self, fields: Mapping[str, Any]) -> Sequence[Chunk]:
        reason = _mapping(fields["delta"]).get("stop_reason")
        if reason is not None:
            self._reason = _REASONS.get(reason, "other")
        self._count(fields.get("usage"))
        return ()

    def _stop(self, fields: Mapping[str, Any]) -> Sequence[Chunk]:
        del fields
        self.done = True
        return ()

    def _count(self, usage: object) -> None:
        """Note the counts so far, of which later ones replace earlier ones."""
        if usage is not None:
            self._counts.update({name: value for name, value in _mapping(usage).items() if value is not None})

    def _text(self, kind: str, text: object) -> Sequence[Chunk]:
        return self._answer.delta(kind, _text_of(text))


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return cast("dict[str, Any]", value)


def _text_of(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _usage(counts: Mapping[str, Any]) -> Usage:
    """Return the usage; what was read from or written to a cache counts as input."""
    details = {
        "cached_tokens": count(counts, "cache_read_input_tokens"),
        "cache_creation_tokens": count(counts, "cache_creation_input_tokens"),
    }
    return Usage(
        count(counts, "input_tokens") + sum(details.values()),
        count(counts, "output_tokens"),
        details=tuple((name, number) for name, number in details.items() if number),
    )
