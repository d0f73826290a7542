"""The law that nothing secret gets past: where secrets are hidden, and where they are looked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from sluiceway.errors import ConfigurationError
from sluiceway.messages import Chunk, Message, Part, ReasoningPart, ToolPart
from sluiceway.processors import HookCall, HookName
from sluiceway.testing._chunks import block_chunks, block_texts
from sluiceway.testing._law import EXAMPLES, STREAM_HOOKS, hold, hooks_under_test, named
from sluiceway.testing._laws_text import result_of
from sluiceway.testing._outcome import Outcome, Subject, Trial, inside, subject_of
from sluiceway.testing._running import Backend, run_blocking
from sluiceway.testing._source import Generator, Source
from sluiceway.testing._texts import checked_texts, make_cut, make_text

__all__ = ["LeakSurface", "assert_never_leaks"]

LeakSurface: TypeAlias = Literal["text", "reasoning", "tool-args", "tool-results", "object", "data"]
"""Where a secret can be hidden."""

_ALL: Final[tuple[LeakSurface, ...]] = get_args(LeakSurface)
_SEEN: Final[Mapping[HookName, tuple[LeakSurface, ...]]] = {
    "process_input": ("text", "reasoning", "tool-args", "tool-results"),
    "process_output_stream": _ALL,
    "process_tool_result": ("tool-results",),
    "process_output_result": ("text", "reasoning", "tool-args", "tool-results"),
}
"""What each hook can see; the first is the simplest."""

_AROUND: Final = ("", "x", "see", "call me:", "Grüße", "\n", "日本")


def assert_never_leaks(
    processor: object,
    secrets: Iterable[str],
    *,
    surfaces: Iterable[LeakSurface] | None = None,
    keeps: int = 4,
    examples: int = EXAMPLES,
    backend: Backend = "asyncio",
) -> None:
    """Nothing of a secret gets past a processor, however it is cut, whatever stands around it.

    Looked at is all that it lets through, also before it aborts: text, reasoning, calls of
    tools, their results, objects, data chunks; and what it reports: violations, the reason and
    metadata of an abort.

    Args:
        processor: A processor or workflow that redacts, filters or blocks the secrets.
        secrets: Texts it has to catch.
        surfaces: Where they are hidden, of `text`, `reasoning`, `tool-args`, `tool-results`,
            `object` and `data`. None: where the processor says that it looks, by a method
            `covers(hook)`, as the built-in guardrails do; without one in texts, in results
            where it has `process_tool_result`, and in data chunks where it sets
            `process_data_parts`.
        keeps: How many letters and digits in a row its mask may show.
        examples: How many cases are tried for each hook.
        backend: The event loop.

    Raises:
        AssertionError: A longer stretch of a secret got past.
        ConfigurationError: None of its hooks sees any of the surfaces, one of them does not
            exist, or no secret is given.

    Examples:
        >>> from sluiceway.processors import PIIDetector
        >>> assert_never_leaks(PIIDetector(), ["4111 1111 1111 1111"], examples=20)
    """
    given = checked_texts(secrets) or ()
    wanted = None if surfaces is None else _checked(surfaces)

    def wrong(case: _Hidden) -> str | None:
        async def ran() -> tuple[Outcome, HookCall | None]:
            return await trial.run([processor], case.subject)

        outcome, call = run_blocking(ran, backend)
        for place, text in _visible(outcome, call, case.subject.hook):
            stretch = _shared(case.secret, text)
            if sum(map(str.isalnum, stretch)) > keeps:
                return f"{stretch!r} of the secret {case.secret!r} is in {place}: {text!r}"
        return None

    tried, trial = False, Trial()
    for hook in hooks_under_test("no leaks", [processor], _SEEN):
        claimed = _claimed(processor, hook) if wanted is None else wanted
        where: list[LeakSurface] = [surface for surface in _SEEN[hook] if surface in claimed]
        if where:
            tried, trial = True, Trial()
            hold(f"no leaks ({hook})", named(processor), _hidden(hook, given, where), wrong, examples, trial)
    if not tried:
        told = "text" if wanted is None else ", ".join(wanted)
        raise ConfigurationError(f"no leaks cannot be tried on {named(processor)}: none of its hooks sees {told}")


def _checked(surfaces: Iterable[str]) -> tuple[str, ...]:
    given = (surfaces,) if isinstance(surfaces, str) else tuple(surfaces)
    for surface in given:
        if surface not in _ALL:
            raise ConfigurationError(f"surfaces has {surface!r}; there are {', '.join(_ALL)}")
    return given


def _claimed(item: object, hook: HookName) -> Collection[str]:
    """Return what a processor says that it looks at; a workflow what any in it does."""
    claimed: set[str] = set()
    for processor in inside(item):
        covers: Callable[[HookName], Collection[str]] | None = getattr(processor, "covers", None)
        claimed |= {"text", "tool-results"} & set(_SEEN[hook]) if covers is None else set(covers(hook))
        if covers is None and hook != "process_tool_result":
            claimed.discard("tool-results")
        if getattr(processor, "process_data_parts", False):
            claimed.add("data")
    return claimed


@dataclass(frozen=True, slots=True)
class _Hidden:
    """A subject with a secret in it."""

    secret: str
    subject: Subject
    surface: LeakSurface
    value: Any

    def __str__(self) -> str:
        return str(self.subject) if self.surface == "text" else f"{self.surface} {self.value!r}"


def _hidden(hook: HookName, secrets: tuple[str, ...], surfaces: Sequence[LeakSurface]) -> Generator[_Hidden]:
    def make(source: Source) -> _Hidden:
        secret, surface = source.pick(secrets), source.pick(surfaces)
        before, after = make_text(source, _AROUND, 2), make_text(source, _AROUND, 2)
        text = f"{before}{' ' if before else ''}{secret}{' ' if after else ''}{after}"
        nested = surface not in ("text", "reasoning") and source.integer(0, 1) == 1
        value: Any = {"found": [{"value": text}]} if nested else text
        if hook in STREAM_HOOKS:
            pieces = make_cut(source, text)
            shown = pieces if surface == "reasoning" else value
            return _Hidden(secret, subject_of(hook, (), _chunks(surface, pieces, value), None), surface, shown)
        if hook == "process_tool_result":
            return _Hidden(secret, subject_of(hook, (), (), value), surface, value)
        return _Hidden(secret, Subject(hook, _messages(hook, surface, value)), surface, value)

    return make


def _chunks(surface: LeakSurface, pieces: list[str], value: Any) -> list[Chunk]:
    call = {"tool_call_id": "c1", "tool_name": "lookup", "provider_executed": False}
    if surface in ("text", "reasoning"):
        return block_chunks(pieces, block=f"{surface}-1", kind=surface)
    if surface == "tool-args":
        return [Chunk("tool-call", {**call, "args": {"query": value}})]
    if surface == "tool-results":
        return [Chunk("tool-result", {**call, "result": value})]
    if surface == "data":
        return [Chunk("data-note", {"data": value, "transient": False})]
    growing = [{"said": "".join(pieces[:count])} for count in range(1, len(pieces))]
    shown = [Chunk("object", {"object": part, "final": False}) for part in growing]
    return [*shown, Chunk("object", {"object": {"said": value}, "final": True})]


def _messages(hook: HookName, surface: LeakSurface, value: Any) -> tuple[Message, ...]:
    """Return a conversation with the secret in the user's message, or in a part of an answer."""
    is_reply = hook == "process_output_result"
    if surface == "text":
        said = Message(value, id="m0", role="assistant" if is_reply else "user")
    else:
        said = Message(role="assistant", parts=[_part(surface, value)], id="m0")
    if is_reply:
        return (Message("Hello", id="asked"), said)
    return (said,) if surface == "text" else (said, Message("Hello", id="m1"))


def _part(surface: LeakSurface, value: Any) -> Part:
    if surface == "reasoning":
        return ReasoningPart(value)
    args, result = ({"query": value}, "ok") if surface == "tool-args" else ({}, value)
    return ToolPart("lookup", "c1", args, "result", result)


def _visible(outcome: Outcome, call: HookCall | None, hook: HookName) -> list[tuple[str, str]]:
    """Return where something of a secret could be seen, and what is there."""
    seen = [("what it reported", told) for told in outcome.told]
    if call is None or (outcome.is_aborted and hook not in STREAM_HOOKS):
        return seen
    if hook in STREAM_HOOKS:
        seen += [("the text", text) for text in block_texts(call.parts).values()]
        return [*seen, *((f"a {chunk.type}", repr(dict(chunk.payload))) for chunk in call.parts if not chunk.text)]
    if hook == "process_tool_result":
        return [*seen, ("the tool's result", _json(result_of(call)))]
    reached = [message for message in call.message_list.all if message.id != "asked"]
    return [*seen, *(place for message in reached for part in message.parts for place in _in_part(part))]


def _in_part(part: Any) -> list[tuple[str, str]]:
    if part.type in ("text", "reasoning"):
        return [("a message" if part.type == "text" else "the reasoning", part.text)]
    if part.type == "tool":
        return [("a tool's arguments", _json(part.args)), ("a tool's result", _json([part.result, part.error]))]
    return []


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _shared(secret: str, text: str) -> str:
    """Return the longest stretch of the secret that is in the text."""
    for length in range(min(len(secret), len(text)), 0, -1):
        for start in range(len(secret) - length + 1):
            if secret[start : start + length] in text:
                return secret[start : start + length]
    return ""
