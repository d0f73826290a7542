"""What processors make of a subject, as values that can be compared and read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sluiceway.errors import ConfigurationError, SluicewayError
from sluiceway.messages import Chunk, Message, Prompt
from sluiceway.models import EchoModel
from sluiceway.processors import ALL_HOOKS, HOOKS_OF, HookCall, HookName, ListKind, compile_chain, hooks_of, run_on
from sluiceway.testing._chunks import block_texts, shown_chunk, shown_message
from sluiceway.testing._conversations import to_list

__all__ = [
    "COMPARED",
    "STREAM_HOOKS",
    "Outcome",
    "Subject",
    "Trial",
    "hooks_in",
    "inside",
    "is_workflow",
    "lists_for",
    "run_outcome",
    "subject_of",
]

COMPARED: Final[tuple[HookName, ...]] = (
    "process_input",
    "process_input_step",
    "process_llm_request",
    "process_output_stream",
    "process_output_step",
    "process_tool_result",
    "process_output_result",
)
"""The hooks whose outcome can be compared."""

STREAM_HOOKS: Final[frozenset[HookName]] = frozenset({"process_output_stream", "finish_output_stream"})


_BORDERS: Final = ("text-start", "text-end", "reasoning-start", "reasoning-end")


@dataclass(frozen=True, slots=True)
class Subject:
    """What a hook is run on.

    Args:
        hook: The hook.
        messages: The conversation, for the hooks that have one; it is copied for each run.
        chunks: The stream, for the stream hooks.
        result: A tool's result, for `process_tool_result`.
    """

    hook: HookName
    messages: tuple[Message, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    result: Any = None

    def __str__(self) -> str:
        """Say it in a few words, a text in pieces as such."""
        if self.hook in STREAM_HOOKS:
            pieces = [chunk.text for chunk in self.chunks if chunk.text]
            others = [chunk.type for chunk in self.chunks if not chunk.type.startswith(("text-", "reasoning-"))]
            return f"the stream {pieces!r}" + (f" with {', '.join(others)}" if others else "")
        if self.hook == "process_tool_result":
            return f"the result {self.result!r}"
        if len(self.messages) == 1 and self.messages[0].role == "user":
            return repr(self.messages[0].text)
        return " | ".join(shown_message(message) for message in self.messages) or "no messages"

    def given(self) -> Any:
        """Return what `run_on` takes."""
        if self.hook in STREAM_HOOKS:
            return list(self.chunks)
        if self.hook == "process_tool_result":
            return self.result
        if self.hook in ("process_output_step", "process_output_result"):
            return [message.copy() for message in self.messages]
        return to_list(list(self.messages))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. Two runs agree if their outcomes are equal.

    Args:
        ended: `passed`, `aborted`, or `failed: …`.
        texts: The text of each message or block that came out.
        rest: Everything else that came out: parts, other chunks, prompt, settings.
        by: Who aborted; not compared, since two checks that both abort agree.
        told: What it reported, for reading; not compared.
    """

    ended: str
    texts: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    by: str | None = field(default=None, compare=False)
    told: tuple[str, ...] = field(default=(), compare=False)

    @property
    def is_aborted(self) -> bool:
        """Whether it was aborted."""
        return self.ended == "aborted"

    def decided(self) -> Outcome:
        """Return what counts where a run ended early: that it did, not what it had done by then."""
        return self if self.ended == "passed" else replace(self, texts=(), rest=())

    def in_full(self) -> str:
        """Say it in one line, borders of blocks too."""
        return f"{self.ended} {list(self.texts)!r}" + "".join(f", {one}" for one in self.rest)

    def __str__(self) -> str:
        """Say it in one line."""
        if self.is_aborted:
            return f"aborted by {self.by!r}" + (f" after {list(self.texts)!r}" if any(self.texts) else "")
        rest = [one for one in self.rest if not one.startswith(_BORDERS)]
        said = f"{list(self.texts)!r}" + (f", {'; '.join(rest)}" if rest else "")
        return said if self.ended == "passed" else f"{self.ended} ({said})"


def hooks_in(items: Sequence[object]) -> tuple[HookName, ...]:
    """Return the hooks that can be compared and that any of the processors or workflows has."""
    had = {hook for item in items for hook in _hooks(item)}
    if "finish_output_stream" in had:
        had.add("process_output_stream")
    return tuple(hook for hook in COMPARED if hook in had)


def inside(item: Any) -> list[object]:
    """Return the processors of a workflow, as they were written; a processor by itself."""
    return [getattr(one, "processor", one) for one in _steps(item)]


def _steps(item: Any) -> list[Any]:
    if hasattr(item, "commit"):
        item = item.commit()
    inner = getattr(item, "processors", None)
    return [item] if inner is None else [*inner.values()]


def is_workflow(item: object) -> bool:
    """Whether it is a workflow, open or committed."""
    return hasattr(item, "commit") or hasattr(item, "processors")


def lists_for(item: object) -> tuple[ListKind, ...]:
    """Return the lists of an agent that a processor or workflow can stand in."""
    kinds: list[ListKind] = []
    for kind in HOOKS_OF:
        try:
            compile_chain([item], kind)
        except ConfigurationError:
            continue
        kinds.append(kind)
    return tuple(kinds)


def _hooks(item: Any) -> tuple[HookName, ...]:
    if not is_workflow(item):
        return hooks_of(item)
    seen = {hook for kind in lists_for(item) for hook in HOOKS_OF[kind]}
    had = {hook for one in _steps(item) for hook in getattr(one, "hooks", None) or hooks_of(one)}
    return tuple(hook for hook in ALL_HOOKS if hook in had & seen)


async def run_outcome(items: Sequence[object], subject: Subject) -> tuple[Outcome, HookCall | None]:
    """Run a hook of those that have it and say what came of it; an error of the library is an outcome."""
    having = [item for item in items if subject.hook in hooks_in([item])]
    if not having:
        return Outcome("passed"), None
    try:
        call = await run_on(having, subject.given(), hook=subject.hook, info={"model": EchoModel()})
    except SluicewayError as error:
        cause = error.__cause__ or error
        return Outcome(f"failed: {type(cause).__name__}: {cause}"), None
    return _outcome(call), call


class Trial:
    """Runs of one law, which says nothing where every one of them fails."""

    def __init__(self) -> None:
        self.passed = False
        self.failure = ""

    async def run(self, items: Sequence[object], subject: Subject) -> tuple[Outcome, HookCall | None]:
        """Do what `run_outcome` does, and note whether it failed."""
        outcome, call = await run_outcome(items, subject)
        if outcome.ended.startswith("failed"):
            self.failure = outcome.ended
        else:
            self.passed = True
        return outcome, call


def _outcome(call: HookCall) -> Outcome:
    trip = call.tripwire
    ended, by = ("passed", None) if trip is None else ("aborted", trip.processor_id)
    told = tuple(repr((one.message, one.detail)) for one in call.violations)
    if trip is not None:
        told = (*told, repr((trip.reason, trip.metadata)))
    texts, rest = _shown(call)
    return Outcome(ended, texts, rest, by, told)


def _shown(call: HookCall) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the texts that came out, and the rest, without ids of runs and messages."""
    if call.hook in STREAM_HOOKS:
        others = tuple(shown_chunk(chunk) for chunk in call.parts if not chunk.text and not _is_empty(chunk))
        return tuple(block_texts(call.parts).values()), others
    if call.hook == "process_tool_result":
        return (_json(_tool_result(call)),), ()
    texts = tuple(message.text for message in call.messages)
    rest = [shown_message(message) for message in call.messages if _is_more_than_text(message)]
    rest += [f"system: {system.text!r}" for system in call.system_messages]
    rest += [f"{key}={value!r}" for key, value in call.overrides.items() if key in ("tool_choice", "max_steps")]
    if call.prompt is not None:
        rest += prompt_lines(call.prompt)
    return texts, tuple(rest)


def _tool_result(call: HookCall) -> Any:
    part = call.message_list.find_call(str(call.info.get("tool_call_id")))
    return part.result if part is not None and part.state == "result" else call.info.get("result")


def _is_empty(chunk: Chunk) -> bool:
    return chunk.type.endswith("-delta")


def _is_more_than_text(message: Message) -> bool:
    return message.role == "signal" or any(part.type != "text" for part in message.parts)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)


def prompt_lines(prompt: Prompt) -> list[str]:
    """Return a prompt as lines."""
    return [f"prompt {one.role}: {' + '.join(_content(content) for content in one.content)}" for one in prompt.messages]


def _content(content: Any) -> str:
    call = getattr(content, "tool_call_id", None)
    text = getattr(content, "text", None)
    if text is not None:
        return repr(text)
    output = getattr(content, "output", getattr(content, "args", None))
    return f"{type(content).__name__}#{call}:{output!r}" if call else type(content).__name__


def subject_of(hook: HookName, messages: Sequence[Message], chunks: Sequence[Chunk], result: Any) -> Subject:
    """Return the subject of a hook; the answer's hooks get the user's last message and a reply to it."""
    if hook in STREAM_HOOKS:
        return Subject(hook, chunks=tuple(chunks))
    if hook == "process_tool_result":
        return Subject(hook, result=result)
    if hook in ("process_output_step", "process_output_result"):
        *earlier, last = messages
        return Subject(hook, (*earlier, Message("Hello", id="asked"), last.replace(role="assistant")))
    return Subject(hook, tuple(messages))
