"""What all laws share: a search for the smallest case that breaks one, and how it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from sluiceway.errors import ConfigurationError
from sluiceway.messages import Message
from sluiceway.processors import HookName
from sluiceway.testing._chunks import block_chunks
from sluiceway.testing._conversations import make_conversation
from sluiceway.testing._hypothesis import smallest_failure
from sluiceway.testing._outcome import COMPARED, STREAM_HOOKS, Outcome, Subject, Trial, hooks_in, subject_of
from sluiceway.testing._source import Generator, Source
from sluiceway.testing._texts import checked_texts, make_cut, text_from

__all__ = ["EXAMPLES", "STREAM_HOOKS", "broken", "hold", "hooks_under_test", "named", "subjects"]

T = TypeVar("T")

EXAMPLES = 100
"""How many cases a law tries for each hook, unless told otherwise."""


def hold(
    law: str,
    who: str,
    make: Generator[T],
    wrong: Callable[[T], str | None],
    examples: int,
    trial: Trial | None = None,
) -> None:
    """Try cases, and tell the smallest that breaks the law.

    Args:
        law: What it is called.
        who: Who has to keep it.
        make: Makes a case.
        wrong: Says what is wrong with one, or None.
        examples: How many cases are tried.
        trial: What ran the cases; where all of them failed the law says nothing.

    Raises:
        AssertionError: One breaks it, or all fail.
    """
    found = smallest_failure(make, wrong, examples=examples)
    if found is None:
        if trial is not None and trial.failure and not trial.passed:
            raise AssertionError(f"{law}: {who} cannot be tried\n  on every case it {trial.failure}")
        return
    case = cast("Any", found.case)
    again = "" if found.repeatable else "\n  Run again, the same case holds: something is kept between runs."
    raise AssertionError(f"{law}: {who} does not hold\n  on {case}\n  {found.wrong}{again}")


def broken(expected: object, got: object, *, as_: str, than: str) -> str:
    """Return the two lines that set apart what should be equal."""
    width = max(len(as_), len(than))
    if str(expected) == str(got) and isinstance(expected, Outcome) and isinstance(got, Outcome):
        expected, got = expected.in_full(), got.in_full()
    return f"{than:<{width}}  {expected}\n  {as_:<{width}}  {got}"


def named(item: Any) -> str:
    """Return how a processor or workflow is called in a failure."""
    return f"{type(item).__name__} {item.id!r}"


def hooks_under_test(law: str, items: Sequence[object], among: Iterable[HookName] = COMPARED) -> tuple[HookName, ...]:
    """Return the hooks on which a law can be tried.

    Raises:
        ConfigurationError: There is none, so that the law would hold for want of a case.
    """
    had = hooks_in(items)
    wanted = set(among)
    chosen: tuple[HookName, ...] = tuple(hook for hook in had if hook in wanted)
    if not chosen:
        names = ", ".join(named(item) for item in items)
        raise ConfigurationError(f"{law} cannot be tried on {names}: it has none of the hooks that this law is about")
    return chosen


def subjects(hook: HookName, texts: Iterable[str] | None, *, with_tools: bool = True) -> Generator[Subject]:
    """Return a generator of what a hook is run on.

    Args:
        hook: The hook.
        texts: The texts in it, whole or a stretch of one; None: made up.
        with_tools: Whether conversations have earlier messages, with calls of tools.
    """
    text = text_from(checked_texts(texts))

    def make(source: Source) -> Subject:
        if hook in STREAM_HOOKS:
            return subject_of(hook, (), block_chunks(make_cut(source, text(source))), None)
        if hook == "process_tool_result":
            said = text(source)
            return subject_of(hook, (), (), said if source.integer(0, 1) == 0 else {"found": [said]})
        messages = make_conversation(source, text) if with_tools else [Message(text(source), id="m0")]
        return subject_of(hook, messages, (), None)

    return make
