"""Answers as a cache holds them: JSON of a version, read back with suspicion."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, cast

from sluiceway.engine import StepResult
from sluiceway.errors import MessageError
from sluiceway.messages import Chunk, Message, Part, Usage

__all__ = ["decoded", "encoded", "processed_chunks", "with_results"]

_VERSION: Final = 1

_NOT_OF_A_MODEL: Final = frozenset({"error", "tripwire", "start", "step-start", "step-finish"})
_BLOCK: Final[dict[str, Any]] = {"id": str}
_DELTA: Final[dict[str, Any]] = {"id": str, "text": str}
_CALL: Final[dict[str, Any]] = {"tool_call_id": str, "tool_name": str}
_FIELDS: Final[dict[str, dict[str, Any]]] = {
    "text-start": _BLOCK,
    "text-delta": _DELTA,
    "text-end": _BLOCK,
    "reasoning-start": _BLOCK,
    "reasoning-delta": _DELTA,
    "reasoning-end": _BLOCK,
    "tool-call": {**_CALL, "args": dict},
    "tool-result": _CALL,
    "source": {"part": Part},
    "file": {"part": Part},
    "finish": {"reason": str, "usage": Usage | None},
}
"""What a chunk has to have to be replayed."""


def with_results(chunks: Sequence[Chunk], step: StepResult) -> list[Chunk] | None:
    """Return the chunks of an answer with the results of its tools, before its end.

    None where a call failed or has no result in the run: such a step is made anew.
    """
    answered = {str(c.get("tool_call_id")) for c in chunks if c.type == "tool-result"}
    called = {str(c.get("tool_call_id")): c for c in chunks if c.type == "tool-call"}
    outcomes = {outcome.tool_call_id: outcome for outcome in step.tool_results}
    if any(outcome.error is not None for outcome in step.tool_results):
        return None
    wanted = [id_ for id_ in called if id_ not in answered]
    if any(id_ not in outcomes for id_ in wanted) and any(id_ in outcomes for id_ in wanted):
        return None  # some for the client, some done: a replay could not leave the rest open
    run_id = chunks[0].run_id if chunks else ""
    results = [
        Chunk(
            "tool-result",
            {
                "tool_call_id": id_,
                "tool_name": outcomes[id_].tool_name,
                "result": outcomes[id_].result,
                "provider_executed": False,
            },
            run_id,
        )
        for id_ in wanted
        if id_ in outcomes
    ]
    if not results:
        return list(chunks)
    end = [chunk for chunk in chunks if chunk.type == "finish"]
    return [*(chunk for chunk in chunks if chunk.type != "finish"), *results, *end]


def processed_chunks(step: StepResult, raw: Sequence[Chunk]) -> list[Chunk] | None:
    """Return the chunks of a step as it was delivered, edits of all hooks included."""
    run_id = raw[0].run_id if raw else ""
    chunks: list[Chunk] = []
    for kind, text in (("reasoning", step.reasoning), ("text", step.text)):
        if text:
            block = {"id": f"{kind}-1"}
            chunks += [
                Chunk(f"{kind}-start", block, run_id),
                Chunk(f"{kind}-delta", {**block, "text": text}, run_id),
                Chunk(f"{kind}-end", block, run_id),
            ]
    chunks += [Chunk("source", {"part": part}, run_id) for part in step.sources]
    chunks += [Chunk("file", {"part": part}, run_id) for part in step.files]
    outcomes = {outcome.tool_call_id: outcome.result for outcome in step.tool_results}
    for call in step.tool_calls:
        named = {
            "tool_call_id": call.tool_call_id,
            "tool_name": call.tool_name,
            "provider_executed": call.provider_executed,
        }
        chunks.append(Chunk("tool-call", {**named, "args": dict(call.args)}, run_id))
        if call.provider_executed and call.tool_call_id in outcomes:
            chunks.append(Chunk("tool-result", {**named, "result": outcomes[call.tool_call_id]}, run_id))
    chunks.append(Chunk("finish", {"reason": _reason(raw, step), "usage": step.usage}, run_id))
    return with_results(chunks, step)


def _reason(raw: Iterable[Chunk], step: StepResult) -> str:
    return next((str(chunk.get("reason")) for chunk in raw if chunk.type == "finish"), step.finish_reason)


def encoded(chunks: Iterable[Chunk]) -> bytes:
    """Return chunks as bytes.

    Raises:
        MessageError: Something in them would not come back as it was.
    """
    try:
        packed = [{"type": chunk.type, "payload": _packed(chunk.payload)} for chunk in chunks]
        # Halves of characters are escaped, so that they can be written as UTF-8.
        return json.dumps({"version": _VERSION, "chunks": packed}, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"an answer cannot be kept in a cache: {error}") from error


def decoded(value: object) -> list[Chunk]:
    """Return the chunks that a cache gave back.

    Raises:
        MessageError: It is of another version, or not what was put in.
    """
    if not isinstance(value, bytes | bytearray | str):
        raise MessageError(f"a cache gave back a {type(value).__name__} instead of bytes")
    try:
        record = json.loads(value)
        if record["version"] != _VERSION:
            raise MessageError(f"a cached answer is of version {record['version']!r}, not {_VERSION}")
        chunks = [_chunk(item["type"], item["payload"]) for item in record["chunks"]]
        if not chunks:
            raise ValueError("no chunk at all")
        return chunks
    except MessageError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MessageError(f"a cached answer cannot be read: {type(error).__name__}") from error


def _packed(value: Any) -> Any:
    kind = cast("type[Any]", type(value))
    if kind in (str, int, float, bool) or value is None:
        return value
    if isinstance(value, Mapping):
        fields = cast("Mapping[Any, Any]", value)
        if not all(isinstance(key, str) and not key.startswith("$") for key in fields):
            raise TypeError("a mapping with keys that JSON does not have")
        return {key: _packed(item) for key, item in fields.items()}
    if isinstance(value, list | tuple):
        return [_packed(item) for item in cast("Iterable[Any]", value)]
    return _packed_object(value)


def _packed_object(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, datetime):
        return {"$time": value.isoformat()}
    if isinstance(value, Usage):
        return {"$usage": asdict(value)}
    if isinstance(value, Part):
        return {"$part": Message(role="assistant", parts=[value.copy()]).to_dict()["parts"][0]}
    raise TypeError(f"a {type(value).__name__} is no JSON")


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    if "$bytes" in fields:
        return base64.b64decode(fields["$bytes"])
    if "$time" in fields:
        return datetime.fromisoformat(fields["$time"])
    if "$usage" in fields:
        usage = cast("dict[str, Any]", fields["$usage"])
        details = tuple((str(name), int(count)) for name, count in usage.pop("details"))
        return Usage(**usage, details=details)
    if "$part" in fields:
        return Message.from_dict({"role": "assistant", "parts": [fields["$part"]]}).parts[0].copy()
    return {key: _unpacked(item) for key, item in fields.items()}


def _chunk(kind: Any, packed: Any) -> Chunk:
    """Return a chunk that a model can have sent."""
    if not isinstance(kind, str) or kind in _NOT_OF_A_MODEL or not isinstance(packed, dict):
        raise TypeError("not the type or the payload of a model's chunk")
    payload: dict[str, Any] = {key: _unpacked(item) for key, item in cast("dict[str, Any]", packed).items()}
    wrong = next(
        (name for name, type_ in _FIELDS.get(kind, {}).items() if not isinstance(payload.get(name), type_)), ""
    )
    if wrong:
        raise TypeError(f"no {wrong}")
    return Chunk(kind, payload)
