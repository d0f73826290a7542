"""Chat Completions, as OpenAI's clients speak it."""

from __future__ import annotations

import time
from typing import Any, Final

from sluiceway.engine import ToolCall
from sluiceway.messages import Chunk, ReasoningPart, TextPart, Usage
from sluiceway.serve._ask import Ask
from sluiceway.serve._chat_ask import chat_ask
from sluiceway.serve._refusal import Refusal
from sluiceway.serve._wire import Ending, compact

__all__ = ["Chat"]

_DONE: Final = b"data: [DONE]\n\n"
_KINDS: Final = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


class Chat:
    """Chat Completions."""

    name = "chat"
    provider = "openai"

    def ask(self, body: bytes) -> Ask:
        """Read a request."""
        return chat_ask(body)

    def writer(self, ask: Ask, run_id: str) -> _ChatWriter:
        """Return what writes an answer in pieces."""
        return _ChatWriter(ask, run_id)

    def whole(self, ask: Ask, ending: Ending) -> dict[str, Any]:
        """Return an answer in one piece."""
        text = "".join(part.text for part in ending.parts if isinstance(part, TextPart) and part.type == "text")
        message: dict[str, Any] = {
            "role": "assistant",
            "content": text if text or not (ending.calls or ending.refused) else None,
            "refusal": ending.refused,
        }
        thought = "".join(part.text for part in ending.parts if isinstance(part, ReasoningPart))
        if ask.reasoning and thought:
            message["reasoning_content"] = thought
        if ending.calls:
            message["tool_calls"] = [_call(call) for call in ending.calls]
        return {
            **_head(ask, ending.run_id, "chat.completion"),
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(ending)}],
            "usage": _usage(ending.usage),
            "sluiceway": ending.extension(),
        }

    def fault(self, refusal: Refusal) -> dict[str, Any]:
        """Return the body of a refusal."""
        kind = _KINDS.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "server_error")
        told = {"message": refusal.message, "type": kind, "param": refusal.param, "code": refusal.code}
        return {"error": told}

    def event(self, refusal: Refusal) -> bytes:
        """Write a refusal into a stream that has begun."""
        return _event(self.fault(refusal))


class _ChatWriter:
    """Writes the chunks of one answer."""

    def __init__(self, ask: Ask, run_id: str) -> None:
        self._ask = ask
        self._head = _head(ask, run_id, "chat.completion.chunk")
        if ask.include_usage:
            self._head["usage"] = None
        # A delta of text is the one chunk of which there are many: all but its text is written once.
        before, after = self._chunk({"content": 0}).split(b'"content":0', 1)
        self._before, self._after = before + b'"content":', after
        self._started = False

    def text(self, text: str) -> bytes:
        """Write more of the text."""
        return self._start() + self._before + compact(text) + self._after

    def reasoning(self, chunk: Chunk) -> bytes:
        """Write more of the reasoning, where the client wants to see it, under the name that most servers use."""
        if not self._ask.reasoning or chunk.type != "reasoning-delta":
            return b""
        return self._start() + self._chunk({"reasoning_content": chunk.text})

    def end(self, ending: Ending) -> bytes:
        """Write the calls, the reason, and the count of tokens."""
        out = [self._start()]
        if ending.calls:
            calls = [{"index": number, **_call(call)} for number, call in enumerate(ending.calls)]
            out.append(self._chunk({"tool_calls": calls}))
        last = {} if ending.refused is None else {"refusal": ending.refused}
        out.append(self._chunk(last, _reason(ending), sluiceway=ending.extension()))
        if self._ask.include_usage:
            out.append(_event({**self._head, "choices": [], "usage": _usage(ending.usage)}))
        return b"".join((*out, _DONE))

    def fault(self, refusal: Refusal) -> bytes:
        """Write that the answer is broken off."""
        return Chat().event(refusal)

    def _start(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        return self._chunk({"role": "assistant", "content": ""})

    def _chunk(self, delta: dict[str, Any], reason: str | None = None, **more: object) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _event({**self._head, "choices": [choice], **more})


def _head(ask: Ask, run_id: str, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{run_id}",
        "object": kind,
        "created": int(time.time()),
        "model": ask.model,
        "system_fingerprint": None,
    }


def _event(value: object) -> bytes:
    return b"data: " + compact(value) + b"\n\n"


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = compact(call.args).decode()
    return {"id": call.tool_call_id, "type": "function", "function": {"name": call.tool_name, "arguments": arguments}}


def _reason(ending: Ending) -> str:
    if ending.refused is not None or ending.reason == "content-filter":
        return "content_filter"
    if ending.calls:
        return "tool_calls"
    # A loop that ends at its bound while tools of its own were called has not come to an answer.
    return "length" if ending.reason in ("length", "tool-calls") else "stop"


def _usage(usage: Usage) -> dict[str, Any]:
    details = dict(usage.details)
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": details.get("cached_tokens", 0)},
        "completion_tokens_details": {"reasoning_tokens": details.get("reasoning_tokens", 0)},
    }
