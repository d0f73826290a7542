"""Streams of chunks: of one text, of several blocks at once, and what came out of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from sluiceway.messages import Chunk, Message, SourcePart
from sluiceway.testing._source import Generator, Source
from sluiceway.testing._texts import make_cut, make_text

__all__ = ["block_chunks", "block_texts", "make_chunks", "make_stream"]

_OTHERS: Final[tuple[Chunk, ...]] = (
    Chunk("source", {"part": SourcePart("s1", "https://example.org")}),
    Chunk("x-unknown", {"text": "not a delta"}),
    Chunk("response-metadata", {"id": "r1", "model_id": "scripted", "timestamp": None}),
)


def block_chunks(pieces: Iterable[str], *, block: str = "text-1", kind: str = "text") -> list[Chunk]:
    """Return the chunks of one block of text.

    Args:
        pieces: The deltas.
        block: The id of the block.
        kind: `text` or `reasoning`.

    Examples:
        >>> [chunk.type for chunk in block_chunks(["Hel", "lo"])]
        ['text-start', 'text-delta', 'text-delta', 'text-end']
    """
    deltas = [Chunk(f"{kind}-delta", {"id": block, "text": piece}) for piece in pieces]
    return [Chunk(f"{kind}-start", {"id": block}), *deltas, Chunk(f"{kind}-end", {"id": block})]


def block_texts(chunks: Iterable[Chunk]) -> dict[str, str]:
    """Return the text of each block, by its id; blocks without any are left out.

    Args:
        chunks: The chunks of an answer.
    """
    texts: dict[str, str] = {}
    for chunk in chunks:
        if chunk.text:
            block = str(chunk.get("id"))
            texts[block] = texts.get(block, "") + chunk.text
    return texts


def make_chunks(text: Generator[str]) -> Generator[list[Chunk]]:
    """Return a generator of the chunks of one text, cut anywhere."""
    return lambda source: block_chunks(make_cut(source, text(source)))


def make_stream(source: Source, text: Generator[str] = make_text) -> list[Chunk]:
    """Return a stream: blocks of text and reasoning, calls of tools and other chunks, woven into each other."""
    sources: list[list[Chunk]] = []
    for number, kind in enumerate(source.many(lambda one: one.pick(("text", "reasoning")), 0, 3)):
        sources.append(block_chunks(make_cut(source, text(source)), block=f"{kind}-{number}", kind=kind))
    calls = source.integer(0, 2)
    sources.append([_call(source, f"c{number}", text) for number in range(calls)])
    sources.append(source.many(lambda one: one.pick(_OTHERS), 0, 2))
    out: list[Chunk] = []
    while left := [one for one in sources if one]:
        out.append(left[source.integer(0, len(left) - 1)].pop(0))
    return [*out, Chunk("finish", {"reason": "tool-calls" if calls else "stop", "usage": None})]


def _call(source: Source, identity: str, text: Generator[str]) -> Chunk:
    call = {"tool_call_id": identity, "tool_name": "lookup", "args": {"query": text(source)}}
    return Chunk("tool-call", {**call, "provider_executed": False})


def shown_part(part: Any) -> str:
    """Return a part as one piece of a line: `text:…`, `tool:name:state:args -> result`."""
    if part.type in ("text", "reasoning"):
        return f"{part.type}:{part.text!r}"
    if part.type == "tool":
        outcome = part.error if part.state == "error" else part.result
        return f"tool:{part.tool_name}#{part.tool_call_id}:{part.state}:{dict(part.args)!r} -> {outcome!r}"
    return part.type


def shown_message(message: Message) -> str:
    """Return a message as `role: part + part`."""
    return f"{message.role}: {' + '.join(shown_part(part) for part in message.parts)}"


def shown_chunk(chunk: Chunk) -> str:
    """Return a chunk as its type and what it says; runs and objects left out."""
    payload = {key: value for key, value in chunk.payload.items() if key not in ("message_id", "part", "response")}
    return f"{chunk.type}:{payload!r}"
