"""What the server says: bytes, pauses, and ways to break off."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

TRANSCRIPTS = Path(__file__).parent / "transcripts"


@dataclass(frozen=True)
class Pause:
    """Wait before going on."""

    seconds: float


@dataclass(frozen=True)
class Hang:
    """Say nothing more, and keep the connection until the client closes it."""


@dataclass(frozen=True)
class Close:
    """Close the connection in an orderly way, wherever the answer is."""


@dataclass(frozen=True)
class Reset:
    """Break the connection off."""


Step: TypeAlias = bytes | Pause | Hang | Close | Reset


@dataclass(frozen=True)
class Answer:
    """One response.

    Args:
        steps: What is done one after another; bytes are one chunk of the body each.
        status: The HTTP status.
        headers: On top of those that are always sent.
        framing: `chunked`, `length` (of all bytes together), `close` (until the connection
            ends), or `raw`: the steps are everything, status line and headers included.
    """

    steps: Sequence[Step] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    framing: str = "chunked"


def sse(*events: object, name: bool = False, newline: str = "\n") -> bytes:
    """Write events; with `name` each has the name that its `type` says."""
    text = ""
    for event in events:
        if name and isinstance(event, Mapping):
            text += f"event: {event['type']}{newline}"
        data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
        text += f"data: {data}{newline}{newline}"
    return text.encode()


def transcript(name: str) -> bytes:
    """Return a transcript by its file name."""
    return (TRANSCRIPTS / name).read_bytes()


def chat(*deltas: Mapping[str, Any] | str, reason: str | None = "stop", usage: bool = False) -> Answer:
    """A Chat Completions stream: texts or deltas, then the end."""
    events: list[object] = [{"role": "assistant", "content": ""}]
    events += [{"content": delta} if isinstance(delta, str) else delta for delta in deltas]
    chunks: list[object] = [_chat_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in events]
    chunks.append(_chat_chunk([{"index": 0, "delta": {}, "finish_reason": reason}]))
    if usage:
        counts = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
        chunks.append({**_chat_chunk([]), "usage": counts})
    return Answer([sse(chunk) for chunk in [*chunks, "[DONE]"]])


def _chat_chunk(choices: list[Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "m-1",
        "choices": choices,
    }


def anthropic(*texts: str, reason: str = "end_turn") -> Answer:
    """A Messages stream of one block of text."""
    start = {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m-1",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 5, "output_tokens": 1},
        },
    }
    events: list[Any] = [
        start,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}} for text in texts),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 7},
        },
        {"type": "message_stop"},
    ]
    return Answer([sse(event, name=True) for event in events])


def refusal(status: int, body: object, **headers: str) -> Answer:
    """A refusal with a JSON or text body; `_` in the names of headers stands for `-`."""
    kind = "text/plain" if isinstance(body, str) else "application/json"
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer([data], status, {"content-type": kind, **named}, framing="length")
