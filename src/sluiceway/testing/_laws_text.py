"""Laws about what a processor makes of a text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sluiceway.messages import Chunk, Message, MessageList
from sluiceway.processors import HookCall, HookName
from sluiceway.testing._chunks import block_chunks, block_texts
from sluiceway.testing._law import EXAMPLES, STREAM_HOOKS, broken, hold, hooks_under_test, named, subjects
from sluiceway.testing._outcome import Outcome, Subject, run_outcome, subject_of
from sluiceway.testing._running import Backend, run_blocking
from sluiceway.testing._source import Source
from sluiceway.testing._texts import checked_texts, make_cut, make_text

__all__ = ["assert_idempotent", "assert_never_leaks", "assert_split_invariant"]

_STREAM: tuple[HookName, ...] = ("process_output_stream",)


def assert_split_invariant(
    processor: object, texts: Iterable[str] | None = None, *, examples: int = EXAMPLES, backend: Backend = "asyncio"
) -> None:
    """A stream processor gives the same text, or the same decision, however the text is cut.

    Args:
        processor: A processor or workflow with a stream hook.
        texts: Texts to cut, whole or a stretch of one; None: made up.
        examples: How many cuts are tried.
        backend: The event loop.

    Raises:
        AssertionError: A cut changes the outcome; the text names the smallest.
        ConfigurationError: There is no stream hook.

    Example:
        >>> from sluiceway.processors import PIIDetector
        >>> assert_split_invariant(PIIDetector(), ["mail ann@example.org"], examples=20)
    """
    (hook,) = hooks_under_test("split invariance", [processor], _STREAM)

    def wrong(subject: Subject) -> str | None:
        text = "".join(block_texts(subject.chunks).values())
        whole = replace(subject, chunks=tuple(block_chunks([text] if text else [])))

        async def both() -> tuple[Outcome, Outcome]:
            return (await run_outcome([processor], whole))[0], (await run_outcome([processor], subject))[0]

        first, second = run_blocking(both, backend)
        if first.decided() == second.decided():
            return None
        return broken(first, second, than="whole:", as_="in pieces:")

    hold("split invariance", named(processor), subjects(hook, texts), wrong, examples)


def assert_idempotent(
    processor: object, texts: Iterable[str] | None = None, *, examples: int = EXAMPLES, backend: Backend = "asyncio"
) -> None:
    """A second pass over what a processor let through changes nothing and stops nothing.

    Data chunks are not compared: what was announced once need not be announced again.

    Args:
        processor: A processor or workflow.
        texts: The texts in what it is run on; None: made up.
        examples: How many cases are tried for each hook.
        backend: The event loop.

    Raises:
        AssertionError: A second pass changes something.
        ConfigurationError: It has no hook of which the outcome can be passed in again.
    """

    def wrong(subject: Subject) -> str | None:
        async def both() -> tuple[Outcome, Outcome | None]:
            once, call = await run_outcome([processor], subject)
            if call is None or once.ended != "passed":
                return once, None
            return once, (await run_outcome([processor], _again(subject, call)))[0]

        once, twice = run_blocking(both, backend)
        if twice is None or _lasting(once) == _lasting(twice):
            return None
        return broken(once, twice, than="once:", as_="twice:")

    among: tuple[HookName, ...] = ("process_input", *_STREAM, "process_tool_result", "process_output_result")
    for hook in hooks_under_test("idempotence", [processor], among):
        hold(f"idempotence ({hook})", named(processor), subjects(hook, texts), wrong, examples)


def _lasting(outcome: Outcome) -> Outcome:
    """Return an outcome without data chunks: what was announced once need not be said again."""
    return replace(outcome, rest=tuple(one for one in outcome.rest if not one.startswith("data-")))


def _again(subject: Subject, call: HookCall) -> Subject:
    if subject.hook in STREAM_HOOKS:
        return replace(subject, chunks=tuple(chunk for chunk in call.parts if not chunk.type.startswith("data-")))
    if subject.hook == "process_tool_result":
        return replace(subject, result=_result(call))
    if subject.hook == "process_output_result":
        return replace(subject, messages=tuple(call.message_list.all))
    return replace(subject, messages=tuple(call.messages))


def _result(call: HookCall) -> Any:
    part = call.message_list.find_call(str(call.info.get("tool_call_id")))
    return call.info.get("result") if part is None or part.state != "result" else part.result


def assert_never_leaks(
    processor: object,
    secrets: Iterable[str],
    *,
    keeps: int = 4,
    examples: int = EXAMPLES,
    backend: Backend = "asyncio",
) -> None:
    """Nothing of a secret gets past a processor, however it is cut, whatever stands around it.

    Looked at is all that it lets through, also before it aborts: text, tool results, data
    chunks; and what it reports: violations, the reason and metadata of an abort.

    Args:
        processor: A processor or workflow that redacts, filters or blocks the secrets.
        secrets: Texts it has to catch.
        keeps: How many letters and digits in a row its mask may show.
        examples: How many cases are tried for each hook.
        backend: The event loop.

    Raises:
        AssertionError: A longer stretch of a secret got past.
        ConfigurationError: It has no hook that sees text, or no secret is given.

    Example:
        >>> from sluiceway.processors import PIIDetector
        >>> assert_never_leaks(PIIDetector(), ["4111 1111 1111 1111"], examples=20)
    """
    given = checked_texts(secrets) or ()

    def wrong(case: _Hidden) -> str | None:
        async def ran() -> tuple[Outcome, HookCall | None]:
            return await run_outcome([processor], case.subject)

        outcome, call = run_blocking(ran, backend)
        for place, text in _visible(outcome, call, case.subject.hook):
            stretch = _shared(case.secret, text)
            if sum(map(str.isalnum, stretch)) > keeps:
                return f"{stretch!r} of the secret {case.secret!r} is in {place}: {text!r}"
        return None

    among: tuple[HookName, ...] = ("process_input", *_STREAM, "process_tool_result", "process_output_result")
    for hook in hooks_under_test("no leaks", [processor], among):
        hold(f"no leaks ({hook})", named(processor), _hidden(hook, given), wrong, examples)


class _Hidden:
    """A subject with a secret in it."""

    def __init__(self, secret: str, subject: Subject) -> None:
        self.secret = secret
        self.subject = subject

    def __str__(self) -> str:
        return str(self.subject)


_AROUND = ("", "x", "see", "call me:", "Grüße", "\n", "日本")


def _hidden(hook: HookName, secrets: tuple[str, ...]) -> Any:
    def make(source: Source) -> _Hidden:
        secret = source.pick(secrets)
        before, after = make_text(source, _AROUND, 2), make_text(source, _AROUND, 2)
        text = f"{before}{' ' if before else ''}{secret}{' ' if after else ''}{after}"
        chunks = block_chunks(make_cut(source, text)) if hook in STREAM_HOOKS else ()
        result: Any = text if source.integer(0, 1) == 0 else {"found": [{"value": text}]}
        return _Hidden(secret, subject_of(hook, [Message(text, id="m0")], chunks, result))

    return make


def _visible(outcome: Outcome, call: HookCall | None, hook: HookName) -> list[tuple[str, str]]:
    """Return where something of the text could be seen, and what is there."""
    seen = [("what it reported", told) for told in outcome.told]
    if call is None or (outcome.is_aborted and hook not in STREAM_HOOKS):
        return seen
    if hook in STREAM_HOOKS:
        seen += [("the text", text) for text in block_texts(call.parts).values()]
        return [*seen, *(("a chunk", _plain(chunk)) for chunk in call.parts if not chunk.text)]
    if hook == "process_tool_result":
        return [*seen, ("the tool's result", json.dumps(_result(call), ensure_ascii=False, default=str))]
    return [*seen, *(("a message", message.text) for message in _reached(call.message_list))]


def _plain(chunk: Chunk) -> str:
    return repr(dict(chunk.payload))


def _reached(messages: MessageList) -> list[Message]:
    return [message for message in messages.all if message.id != "asked"]


def _shared(secret: str, text: str) -> str:
    """Return the longest stretch of the secret that is in the text."""
    for length in range(min(len(secret), len(text)), 0, -1):
        for start in range(len(secret) - length + 1):
            if secret[start : start + length] in text:
                return secret[start : start + length]
    return ""
