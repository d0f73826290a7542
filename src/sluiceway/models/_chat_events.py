"""What the events of Chat Completions mean.

As documented by OpenAI ("Chat Completions, streaming"), with what other servers add:
reasoning in `reasoning_content` or `reasoning`, content as a list of parts, whole messages
in place of deltas, calls without ids or all under index 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from sluiceway._types import new_id
from sluiceway.messages import Chunk, FilePart, Part, SourcePart, Usage
from sluiceway.models._answer import Answer, ToolDraft, count
from sluiceway.models._errors import Refusals
from sluiceway.models._sse import ServerEvent

__all__ = ["ChatEvents"]

_REASONS = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "content_filter": "content-filter",
    "error": "error",
}


class ChatEvents:
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
        self._known = False
        self._reason: str | None = None
        self._refused = False
        self._drafts: dict[int, list[ToolDraft]] = {}
        self._details: list[dict[str, Any]] = []

    def take(self, event: ServerEvent) -> Sequence[Chunk]:
        """Return the chunks of an event."""
        if event.data.strip() == b"[DONE]":
            self.done = True
            return ()
        fields = self._answer.load(event)
        if fields.get("error") or event.name == "error":
            raise self._refusals.reported(fields.get("error") or fields, {})
        chunks: list[Chunk] = []
        if not self._known:
            chunks.append(self._metadata(fields))
        try:
            self._read(fields, chunks)
        except (TypeError, AttributeError, KeyError):
            raise self._odd(event) from None
        return chunks

    def _read(self, fields: Mapping[str, Any], chunks: list[Chunk]) -> None:
        """Add the chunks of an event; a TypeError, AttributeError or KeyError where it is none."""
        usage = fields.get("usage") or _mapping(fields.get("x_groq")).get("usage")
        if usage:
            self._answer.usage = _usage(_mapping(usage))
        choices = fields.get("choices")
        if not isinstance(choices, list):
            if not usage:
                raise TypeError
            return
        for choice in cast("list[object]", choices)[:1]:
            self._choice(_mapping(choice), chunks)

    def end(self) -> Sequence[Chunk]:
        """Return the last chunks."""
        answer = self._answer
        if self._reason is None and not self.done:
            raise self._refusals.error(
                f"the server closed the connection in the middle of the answer, after {answer.events} events",
                retryable=True,
            )
        chunks = self._close_block()
        drafts = [draft for _, group in sorted(self._drafts.items()) for draft in group]
        reason = self._reason or ("tool-calls" if drafts else "unknown")
        if self._refused and reason == "stop":
            reason = "content-filter"
        chunks += [answer.tool_call(draft, reason) for draft in drafts]
        chunks.append(answer.finish(reason, {self._provider: {"refusal": True}} if self._refused else {}))
        return chunks

    def _metadata(self, fields: Mapping[str, Any]) -> Chunk:
        self._known = True
        created = fields.get("created")
        valid = isinstance(created, int | float) and 0 < created < 1e11
        return self._answer.chunk(
            "response-metadata",
            id=fields.get("id"),
            model_id=fields.get("model"),
            timestamp=datetime.fromtimestamp(cast("float", created), UTC) if valid else None,
        )

    def _choice(self, choice: Mapping[str, Any], chunks: list[Chunk]) -> None:
        delta = _mapping(choice.get("delta") or choice.get("message"))
        for details in delta.get("reasoning_details") or ():
            _add_detail(self._details, details)
        for kind, text in _texts_of(delta):
            self._add(kind, text, chunks)
        if delta.get("refusal"):
            self._refused = True
        for call in delta.get("tool_calls") or ():
            self._call(_mapping(call))
        chunks += [self._answer.chunk(kind, part=part) for kind, part in _parts_of(delta)]
        reason = choice.get("finish_reason")
        if reason:
            self._reason = _REASONS.get(reason, "other")

    def _add(self, kind: str, text: object, chunks: list[Chunk]) -> None:
        if not isinstance(text, str):
            raise TypeError
        if self._details and kind not in {"reasoning", self._answer.open_kind}:
            chunks += self._close_block()
        chunks += self._answer.delta(kind, text)

    def _close_block(self) -> list[Chunk]:
        """Close the block; reasoning takes along what the provider wants to have back."""
        answer = self._answer
        if not self._details:
            return answer.close_block()
        opened = [] if answer.open_kind == "reasoning" else [*answer.close_block(), answer.open_block("reasoning")]
        details, self._details = self._details, []
        return opened + answer.close_block({self._provider: {"reasoning_details": details}})

    def _call(self, call: Mapping[str, Any]) -> None:
        function = _mapping(call.get("function"))
        given_id, name = _word(call.get("id")), _word(function.get("name"))
        index = call.get("index")
        group = self._drafts.setdefault(index if isinstance(index, int) else len(self._drafts), [])
        # A server that counts wrongly sends every call under index 0, each with an id of its own.
        if not group or (name and given_id and given_id != group[-1].id and group[-1].name):
            group.append(ToolDraft())
        draft = group[-1]
        draft.id = draft.id or given_id
        draft.name = draft.name or name
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping):
            draft.arguments = cast("Mapping[str, Any]", arguments)
        elif arguments:
            draft.pieces.append(_word(arguments))
        if call.get("extra_content"):
            draft.provider_metadata = {self._provider: {"extra_content": call["extra_content"]}}

    def _odd(self, event: ServerEvent) -> Exception:
        return self._refusals.error(
            f"event {self._answer.events} is no chunk of a chat completion: {self._refusals.outline(event.data)}",
            retryable=True,
        )


def _mapping(value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError
    return cast("dict[str, Any]", value)


def _word(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts_of(delta: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the texts of a delta in order, each with its kind."""
    texts: list[tuple[str, Any]] = []
    reasoning = delta.get("reasoning_content") or delta.get("reasoning")
    if reasoning:
        texts.append(("reasoning", reasoning))
    content = delta.get("content")
    if content:
        texts += _texts(cast("object", content)) if isinstance(content, list) else [("text", content)]
    if delta.get("refusal"):
        texts.append(("text", delta["refusal"]))
    return texts


def _texts(content: object) -> list[tuple[str, str]]:
    """Return the texts of a content list; thoughts may hold a list again."""
    texts: list[tuple[str, str]] = []
    for part in cast("list[Mapping[str, Any]]", content):
        if part.get("type") == "thinking":
            texts += [("reasoning", text) for _, text in _texts(part["thinking"])]
        elif part.get("type") == "text":
            texts.append(("text", part["text"]))
    return texts


def _parts_of(delta: Mapping[str, Any]) -> list[tuple[str, Part]]:
    """Return the sources and files of a delta."""
    sources = [_source(_mapping(annotation)) for annotation in delta.get("annotations") or ()]
    urls = [_mapping(image.get("image_url")).get("url") for image in delta.get("images") or ()]
    parts: list[tuple[str, Part]] = [("source", source) for source in sources if source is not None]
    return parts + [("file", FilePart(url=url)) for url in urls if isinstance(url, str)]


def _source(annotation: Mapping[str, Any]) -> SourcePart | None:
    cited = _mapping(annotation.get("url_citation"))
    url = cited.get("url")
    return SourcePart(new_id("source"), url, cited.get("title")) if isinstance(url, str) else None


def _add_detail(details: list[dict[str, Any]], new: object) -> None:
    """Add a piece of a reasoning block; pieces of one block are joined, as they must be sent back."""
    piece = dict(_mapping(new))
    last = details[-1] if details else {}
    same = all(piece.get(name) == last.get(name) for name in ("type", "index")) and bool(last)
    if not same:
        details.append(piece)
        return
    for name, value in piece.items():
        joined = name in {"text", "summary", "data"} and isinstance(value, str)
        if joined:
            last[name] = (last.get(name) or "") + value
        elif value is not None:
            last[name] = value


def _usage(fields: Mapping[str, Any]) -> Usage:
    details = {
        "cached_tokens": count(_mapping(fields.get("prompt_tokens_details")), "cached_tokens"),
        "reasoning_tokens": count(_mapping(fields.get("completion_tokens_details")), "reasoning_tokens"),
    }
    return Usage(
        count(fields, "prompt_tokens"),
        count(fields, "completion_tokens"),
        count(fields, "total_tokens") or -1,
        tuple((name, number) for name, number in details.items() if number),
    )
