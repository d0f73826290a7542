"""Compare what a run showed with the outcome that a case asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sluiceway.errors import ModelError, ProcessorError
from sluiceway.messages import Chunk
from tests.conformance.load import Case
from tests.conformance.observed import Observed, SeenTurn
from tests.conformance.prompts import prompt_faults
from tests.conformance.values import compact, same

__all__ = ["differences"]

COMPARED_CHUNKS = frozenset(
    {
        "error",
        "finish",
        "reasoning-delta",
        "step-finish",
        "text-delta",
        "tool-call",
        "tool-error",
        "tool-result",
        "tripwire",
    }
)
PAYLOAD_KEYS = {"tool": "tool_name", "id": "tool_call_id"}


def differences(case: Case, seen: Observed) -> list[str]:
    """Return one line for everything in which a run differs from its outcome."""
    expect = case.expect
    faults: list[str] = []
    if "hooks" in expect and list(seen.hooks) != expect["hooks"]:
        faults.append(f"hooks: {sequence_fault(expect['hooks'], list(seen.hooks))}")
    if "prompts" in expect:
        faults.extend(prompt_faults(expect["prompts"], seen.prompts))
    if "turns" in expect:
        faults.extend(turn_faults(expect["turns"], seen.turns))
    faults.extend(call_faults(expect.get("calls", []), seen.calls))
    others = expect.get("other_models", {})
    faults.extend(
        f"model {name}: called {seen.other_models.get(name, 0)} times, not {count}"
        for name, count in others.items()
        if seen.other_models.get(name, 0) != count
    )
    if "stored" in expect:
        faults.extend(stored_faults(expect["stored"], seen.stored))
    return faults


def sequence_fault(wanted: Sequence[Any], got: Sequence[Any]) -> str:
    """Say where two sequences part."""
    for place, (left, right) in enumerate(zip(wanted, got, strict=False)):
        if left != right:
            return f"[{place}] is {compact(right)}, not {compact(left)}"
    if len(got) > len(wanted):
        return f"{len(got)} instead of {len(wanted)}, the first too many {compact(got[len(wanted)])}"
    return f"{len(got)} instead of {len(wanted)}, the first missing {compact(wanted[len(got)])}"


def turn_faults(wanted: Sequence[Mapping[str, Any]], seen: Sequence[SeenTurn]) -> Iterator[str]:
    """Compare the calls, one by one."""
    if len(wanted) != len(seen):
        yield f"turns: {len(seen)}, not {len(wanted)}"
    for place, (expect, turn) in enumerate(zip(wanted, seen, strict=False)):
        for fault in one_turn(expect, turn):
            yield f"turn {place}: {fault}"


def one_turn(expect: Mapping[str, Any], turn: SeenTurn) -> Iterator[str]:
    """Compare one call: its error or result, then its chunks."""
    if "raises" in expect or "error_contains" in expect:
        yield from error_faults(expect, turn)
    elif turn.error is not None:
        yield f"raised {turn.error!r}"
    else:
        yield from result_faults(expect, turn)
    if turn.chunks is not None and "chunks" in expect:
        yield from chunk_faults(expect, turn.chunks)


def error_faults(expect: Mapping[str, Any], turn: SeenTurn) -> Iterator[str]:
    """Compare what was raised."""
    error = turn.error
    if error is None:
        yield f"raised nothing, text {turn.text!r}"
    elif "raises" in expect:
        wanted = (expect["raises"], expect.get("processor_id"), expect.get("hook"))
        if not isinstance(error, ProcessorError):
            yield f"raised {error!r}, not a ProcessorError"
        elif (got := (str(error.__cause__), error.processor_id, error.hook)) != wanted:
            yield f"raised {got}, not {wanted}"
    elif not isinstance(error, ModelError) or expect["error_contains"] not in str(error):
        yield f"raised {error!r}, not a ModelError with {expect['error_contains']!r}"


def result_faults(expect: Mapping[str, Any], turn: SeenTurn) -> Iterator[str]:
    """Compare text, finish reason and tripwire of a result."""
    for name in ("text", "finish_reason"):
        if name in expect and getattr(turn, name) != expect[name]:
            yield f"{name} is {getattr(turn, name)!r}, not {expect[name]!r}"
    if "tripwire" not in expect:
        return
    if expect["tripwire"] is None or turn.tripwire is None:
        if expect["tripwire"] is not turn.tripwire:
            yield f"tripwire is {turn.tripwire!r}, not {expect['tripwire']!r}"
        return
    for key, wanted in expect["tripwire"].items():
        if not same(getattr(turn.tripwire, key), wanted):
            yield f"tripwire.{key} is {getattr(turn.tripwire, key)!r}, not {wanted!r}"


def chunk_faults(expect: Mapping[str, Any], chunks: Sequence[Chunk]) -> Iterator[str]:
    """Compare the chunks that the client got: those of the compared types, on the given keys."""
    got = [chunk for chunk in chunks if is_compared(chunk)]
    wanted = expect["chunks"]
    types = [chunk.type for chunk in got]
    if types != [entry["type"] for entry in wanted]:
        yield f"chunks: {sequence_fault([entry['type'] for entry in wanted], types)}"
    for place, (entry, chunk) in enumerate(zip(wanted, got, strict=False)):
        for key, value in entry.items():
            if key != "type" and chunk.type == entry["type"] and not chunk_agrees(chunk, key, value):
                payload = compact(dict(chunk.payload))
                yield f"chunk {place} ({chunk.type}): {key} is not {compact(value)} in {payload}"
    if "finish_reason" in expect and (not chunks or chunks[-1].type != "finish"):
        yield "chunks: the last one is no finish"
    elif "finish_reason" in expect and chunks[-1].payload["reason"] != expect["finish_reason"]:
        yield f"finish: reason is {chunks[-1].payload['reason']!r}, not {expect['finish_reason']!r}"


def is_compared(chunk: Chunk) -> bool:
    """Whether a chunk is of a type that outcomes list."""
    is_data = chunk.type.startswith("data-") and chunk.type != "data-signal"
    return is_data or chunk.type in COMPARED_CHUNKS


def chunk_agrees(chunk: Chunk, key: str, wanted: object) -> bool:
    """Whether a chunk has the value under a key of the case; the message of an error by containment."""
    got = chunk.payload.get(PAYLOAD_KEYS.get(key, key))
    if chunk.type == "error" and key == "message":
        return str(wanted) in str(got)
    return same(got, wanted)


def call_faults(wanted: Sequence[Mapping[str, Any]], calls: Sequence[Any]) -> Iterator[str]:
    """Compare what the agent's own model was called with."""
    if wanted and len(wanted) != len(calls):
        yield f"calls: {len(calls)}, not {len(wanted)}"
    for place, (expect, call) in enumerate(zip(wanted, calls, strict=False)):
        got = {"tool_choice": call.tool_choice, "tools": [t.name for t in call.tools], "model": "model"}
        for key, value in expect.items():
            if not same(got[key], value):
                yield f"call {place}: {key} is {compact(got[key])}, not {compact(value)}"


def stored_faults(wanted: Sequence[Mapping[str, Any]], stored: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    """Compare what storage holds; a leading step-start of a message may be left out."""
    got = [without_leading_start(message) for message in stored or []]
    if got != [without_leading_start(message) for message in wanted]:
        yield f"stored: {sequence_fault(wanted, got)}"


def without_leading_start(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored message without the step-start in front of its parts."""
    parts = list(message["parts"])
    if parts[:1] == ["step-start"]:
        parts = parts[1:]
    return {**message, "parts": parts}
