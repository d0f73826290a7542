"""Messages, as Anthropic's clients speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from sluiceway.engine import ToolCall
from sluiceway.messages import Chunk, Part, ReasoningPart, TextPart, ToolPart, Usage
from sluiceway.serve._ask import Ask
from sluiceway.serve._messages_ask import messages_ask
from sluiceway.serve._refusal import Refusal
from sluiceway.serve._wire import Ending, compact

__all__ = ["Messages"]

_KINDS: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Messages:
    """Messages."""

    name = "messages"
    provider = "anthropic"

    def ask(self, body: bytes) -> Ask:
        """Read a request."""
        return messages_ask(body)

    def writer(self, ask: Ask, run_id: str) -> _MessagesWriter:
        """Return what writes an answer in pieces."""
        return _MessagesWriter(ask, run_id)

    def whole(self, ask: Ask, ending: Ending) -> dict[str, Any]:
        """Return an answer in one piece."""
        waiting = {call.tool_call_id for call in ending.calls}
        blocks = [block for part in ending.parts if (block := _block(part, ask, waiting)) is not None]
        return {
            **_head(ask, ending.run_id),
            "content": blocks,
            **_stop(ending),
            "usage": _usage(ending.usage),
            "sluiceway": ending.extension(),
        }

    def fault(self, refusal: Refusal) -> dict[str, Any]:
        """Return the body of a refusal."""
        kind = _KINDS.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": refusal.message}}

    def event(self, refusal: Refusal) -> bytes:
        """Write a refusal into a stream that has begun."""
        return _event(self.fault(refusal))


class _MessagesWriter:
    """Writes the events of one answer."""

    def __init__(self, ask: Ask, run_id: str) -> None:
        self._ask = ask
        self._run_id = run_id
        self._started = False
        self._index = 0
        self._open: str | None = None

    def text(self, text: str) -> bytes:
        """Write more of the text."""
        begun = self._enter("text", {"type": "text", "text": ""})
        return begun + self._delta({"type": "text_delta", "text": text})

    def reasoning(self, chunk: Chunk) -> bytes:
        """Write a chunk of reasoning, where the client wants to see it."""
        if not self._ask.reasoning:
            return b""
        if chunk.type == "reasoning-delta":
            begun = self._enter("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            return begun + self._delta({"type": "thinking_delta", "thinking": chunk.text})
        own = _own(chunk.get("provider_metadata"))
        if chunk.type != "reasoning-end":
            return b""
        if "redacted_data" in own:
            begun = self._enter("redacted", {"type": "redacted_thinking", "data": own["redacted_data"]})
            return begun + self._leave()
        begun = self._enter("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        signed = self._delta({"type": "signature_delta", "signature": own.get("signature", "")})
        return begun + signed + self._leave()

    def end(self, ending: Ending) -> bytes:
        """Write the calls, the reason, and the count of tokens."""
        out = [self._start(), self._leave()]
        for call in ending.calls:
            out.append(self._enter(call.tool_call_id, {**_call(call), "input": {}}))
            out.append(self._delta({"type": "input_json_delta", "partial_json": compact(call.args).decode()}))
            out.append(self._leave())
        delta = {"type": "message_delta", "delta": _stop(ending), "usage": _usage(ending.usage)}
        out.append(_event({**delta, "sluiceway": ending.extension()}))
        out.append(_event({"type": "message_stop"}))
        return b"".join(out)

    def fault(self, refusal: Refusal) -> bytes:
        """Write that the answer is broken off."""
        return Messages().event(refusal)

    def _start(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        message: dict[str, Any] = {
            **_head(self._ask, self._run_id),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(Usage()),
        }
        return _event({"type": "message_start", "message": message})

    def _enter(self, block: str, start: Mapping[str, Any]) -> bytes:
        """Open a block, unless it is open."""
        if self._open == block:
            return b""
        begun = self._start() + self._leave()
        self._open = block
        return begun + _event({"type": "content_block_start", "index": self._index, "content_block": start})

    def _leave(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        self._index += 1
        return _event({"type": "content_block_stop", "index": self._index - 1})

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return _event({"type": "content_block_delta", "index": self._index, "delta": delta})


def _head(ask: Ask, run_id: str) -> dict[str, Any]:
    return {"id": f"msg_{run_id}", "type": "message", "role": "assistant", "model": ask.model}


def _event(value: Mapping[str, Any]) -> bytes:
    return b"event: " + str(value["type"]).encode() + b"\ndata: " + compact(value) + b"\n\n"


def _block(part: Part, ask: Ask, waiting: set[str]) -> dict[str, Any] | None:
    if isinstance(part, ToolPart):
        call = ToolCall(part.tool_call_id, part.tool_name, part.args)
        return {**_call(call), "input": call.args} if part.tool_call_id in waiting else None
    if isinstance(part, ReasoningPart):  # which is a text part too
        if not ask.reasoning:
            return None
        own = _own(part.provider_metadata)
        if "redacted_data" in own:
            return {"type": "redacted_thinking", "data": own["redacted_data"]}
        return {"type": "thinking", "thinking": part.text, "signature": own.get("signature", "")}
    if isinstance(part, TextPart) and part.text:
        return {"type": "text", "text": part.text}
    return None


def _own(metadata: object) -> Mapping[str, Any]:
    if not isinstance(metadata, Mapping):
        return {}
    own = cast("Mapping[str, Any]", metadata).get("anthropic")
    return cast("Mapping[str, Any]", own) if isinstance(own, Mapping) else {}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.tool_call_id, "name": call.tool_name}


def _stop(ending: Ending) -> dict[str, Any]:
    reason, details = "end_turn", None
    if ending.refused is not None or ending.reason == "content-filter":
        reason = "refusal"
        details = {"type": "refusal", "category": None, "explanation": ending.refused}
    elif ending.calls:
        reason = "tool_use"
    elif ending.reason in ("length", "tool-calls"):
        reason = "max_tokens"
    return {"stop_reason": reason, "stop_sequence": None, "stop_details": details}


def _usage(usage: Usage) -> dict[str, Any]:
    details = dict(usage.details)
    cached, made = details.get("cached_tokens", 0), details.get("cache_creation_tokens", 0)
    return {
        "input_tokens": usage.input_tokens - cached - made,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": made,
    }
