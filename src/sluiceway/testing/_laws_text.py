"""Laws about what a processor makes of a text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sluiceway.processors import HookCall, HookName
from sluiceway.testing._chunks import block_chunks, block_texts
from sluiceway.testing._law import EXAMPLES, STREAM_HOOKS, broken, hold, hooks_under_test, named, subjects
from sluiceway.testing._outcome import Outcome, Subject, Trial
from sluiceway.testing._running import Backend, run_blocking

__all__ = ["assert_idempotent", "assert_split_invariant", "result_of"]

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

    Examples:
        >>> from sluiceway.processors import PIIDetector
        >>> assert_split_invariant(PIIDetector(), ["mail ann@example.org"], examples=20)
    """
    (hook,) = hooks_under_test("split invariance", [processor], _STREAM)
    trial = Trial()

    def wrong(subject: Subject) -> str | None:
        text = "".join(block_texts(subject.chunks).values())
        whole = replace(subject, chunks=tuple(block_chunks([text] if text else [])))

        async def both() -> tuple[Outcome, Outcome]:
            return (await trial.run([processor], whole))[0], (await trial.run([processor], subject))[0]

        first, second = run_blocking(both, backend)
        if first.decided() == second.decided():
            return None
        return broken(first, second, than="whole:", as_="in pieces:")

    hold("split invariance", named(processor), subjects(hook, texts), wrong, examples, trial)


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
            once, call = await trial.run([processor], subject)
            if call is None or once.ended != "passed":
                return once, None
            return once, (await trial.run([processor], _again(subject, call)))[0]

        once, twice = run_blocking(both, backend)
        if twice is None or _lasting(once) == _lasting(twice):
            return None
        return broken(once, twice, than="once:", as_="twice:")

    among: tuple[HookName, ...] = ("process_input", *_STREAM, "process_tool_result", "process_output_result")
    for hook in hooks_under_test("idempotence", [processor], among):
        trial = Trial()
        hold(f"idempotence ({hook})", named(processor), subjects(hook, texts), wrong, examples, trial)


def _lasting(outcome: Outcome) -> Outcome:
    """Return an outcome without data chunks: what was announced once need not be said again."""
    return replace(outcome, rest=tuple(one for one in outcome.rest if not one.startswith("data-")))


def _again(subject: Subject, call: HookCall) -> Subject:
    if subject.hook in STREAM_HOOKS:
        return replace(subject, chunks=tuple(chunk for chunk in call.parts if not chunk.type.startswith("data-")))
    if subject.hook == "process_tool_result":
        return replace(subject, result=result_of(call))
    if subject.hook == "process_output_result":
        return replace(subject, messages=tuple(call.message_list.all))
    return replace(subject, messages=tuple(call.messages))


def result_of(call: HookCall) -> Any:
    """Return a tool's result as the hooks left it."""
    part = call.message_list.find_call(str(call.info.get("tool_call_id")))
    return call.info.get("result") if part is None or part.state != "result" else part.result
