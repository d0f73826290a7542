"""`HookCall`: what one call of a hook works on, as a unit that workflows pass along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sluiceway.messages import Chunk, Message, MessageList, Prompt, SystemMessage, TextPart
from sluiceway.processors._merge import merge_calls
from sluiceway.processors._protocols import HookName
from sluiceway.processors._results import Messages, Retry

__all__ = ["HookCall"]

_OF_REPLY: Final = frozenset({"process_output_result"})
_OF_INPUT: Final = frozenset({"process_input"})


class HookCall:
    """One call of a hook: its name and everything that its context shows.

    In a workflow this is the data that goes from entry to entry. A function step gets one
    and returns one; the map after a `parallel` gets `{key: HookCall}` and returns one.

    Args:
        hook: The hook's name.
        message_list: The run's messages; in a branch of a `parallel` a fork of them.
        info: What else the hook's context shows, such as `step_number` or `tool_name`.
        overrides: In `process_input_step`: the model, tools and settings of the step.
        prompt: In `process_llm_request`: what the provider is about to get.
        parts: In the stream hooks: the chunks in hand.
    """

    __slots__ = (
        "hook",
        "info",
        "message_list",
        "only",
        "overrides",
        "parts",
        "prompt",
        "response",
        "retry",
        "tripwire",
        "violations",
    )

    def __init__(
        self,
        hook: HookName,
        message_list: MessageList,
        *,
        info: Mapping[str, Any] | None = None,
        overrides: dict[str, Any] | None = None,
        prompt: Prompt | None = None,
        parts: Sequence[Chunk] = (),
    ) -> None:
        self.hook: HookName = hook
        self.message_list = message_list
        self.info: Mapping[str, Any] = info if info is not None else {}
        self.overrides = overrides if overrides is not None else {}
        self.prompt = prompt
        self.parts = tuple(parts)
        self.response: Sequence[Chunk] | None = None
        """The chunks that a request hook wants replayed, or None."""
        self.only: str | None = None
        """The id of the one message that is shown, in a `foreach` over messages."""
        self.retry: Retry | None = None
        """What an api-error hook returned to ask for a retry."""
        self.tripwire: Any = None
        self.violations: tuple[Any, ...] = ()

    @property
    def messages(self) -> Sequence[Message]:
        """The messages of this hook's phase, in order; never system messages."""
        if self.only is not None:
            message = self.message_list.get(self.only)
            return () if message is None else (message,)
        if self.hook in _OF_REPLY:
            return self.message_list.response
        if self.hook in _OF_INPUT:
            reply = self.message_list.response
            if not reply:
                return self.message_list.all
            ids = {m.id for m in reply}
            return tuple(m for m in self.message_list.all if m.id not in ids)
        return self.message_list.all

    @property
    def system_messages(self) -> tuple[SystemMessage, ...]:
        """The system messages as they stand."""
        return self.message_list.system

    @property
    def text(self) -> str:
        """The text in question: of the chunks, the answer, the tool's result, or the newest user message."""
        if self.hook in ("process_output_stream", "finish_output_stream"):
            return "".join(part.text for part in self.parts)
        if self.hook == "process_output_result":
            return "".join(m.text for m in self.messages if m.role == "assistant")
        if self.hook == "process_tool_result":
            part = self.message_list.find_call(str(self.info.get("tool_call_id")))
            result = part.result if part is not None and part.state == "result" else self.info.get("result", "")
            return str(result)
        if self.hook in ("process_output_step", "process_llm_response"):
            return str(self.info.get("text", ""))
        if self.only is not None:
            return "".join(message.text for message in self.messages)
        for message in reversed(self.message_list.all):
            if message.role == "user":
                return message.text
        return ""

    def replace(
        self,
        *,
        messages: Messages | None = None,
        system_messages: Sequence[SystemMessage | str] | None = None,
        text: str | None = None,
        prompt: Prompt | None = None,
        parts: Sequence[Chunk] | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> HookCall:
        """Return this call with some of it changed; messages are edited in its own list.

        Args:
            messages: What the messages of the phase shall be.
            system_messages: What the system messages shall be.
            text: Other text where `text` was found: of the newest user message, or the reply.
            prompt: Another prompt.
            parts: Other chunks.
            overrides: Fields of the step to set.
        """
        copy = self.shallow()
        if messages is not None:
            self.message_list.reconcile(self.messages, messages, output=self.of_output)
        if system_messages is not None:
            self.message_list.replace_system(system_messages)
        if text is not None:
            copy.parts = self._with_text(text)
        if prompt is not None:
            copy.prompt = prompt
        if parts is not None:
            copy.parts = tuple(parts)
        if overrides is not None:
            copy.overrides = {**self.overrides, **overrides}
        return copy

    @property
    def of_output(self) -> bool:
        """Whether new assistant messages of this hook belong to the reply."""
        return self.hook in ("process_output_step", "process_tool_result", "process_output_result")

    def _with_text(self, text: str) -> tuple[Chunk, ...]:
        """Put a text into the chunks, or where there are none into the newest message."""
        if self.parts:
            first = next((p for p in self.parts if p.type == "text-delta"), None)
            rest = tuple(p for p in self.parts if p.type != "text-delta")
            return (first.replace(text=text), *rest) if first is not None else self.parts
        role = "assistant" if self.of_output else "user"
        newest = next((m for m in reversed(self.messages) if m.role == role), None)
        if newest is not None:
            set_text(newest, text)
        return self.parts

    def shallow(self) -> HookCall:
        """Return a copy that shares everything."""
        copy = HookCall.__new__(HookCall)
        copy.hook = self.hook
        copy.message_list = self.message_list
        copy.info = self.info
        copy.overrides = self.overrides
        copy.prompt = self.prompt
        copy.parts = self.parts
        copy.response = self.response
        copy.only = self.only
        copy.retry = self.retry
        copy.tripwire = self.tripwire
        copy.violations = self.violations
        return copy

    def fork(self) -> HookCall:
        """Return an isolated copy for a branch."""
        copy = self.shallow()
        copy.message_list = self.message_list.fork()
        copy.overrides = dict(self.overrides)
        return copy

    def each(self) -> list[HookCall]:
        """Return a fork for each message of the phase, which shows that message only."""
        forks: list[HookCall] = []
        for message in self.messages:
            fork = self.fork()
            fork.only = message.id
            forks.append(fork)
        return forks

    def join(self, forks: Mapping[str, HookCall], prefer: str | None = None) -> HookCall:
        """Merge what the branches did, three-way; see `engine.merge.all`.

        Args:
            forks: Branch key to what the branch made, in list order.
            prefer: The key of the branch that wins a conflict; None: no branch does.

        Raises:
            MergeConflict: Two branches changed the same thing in different ways.
        """
        merged = self.shallow()
        merge_calls(merged, self, forks, prefer)
        return merged


def set_text(message: Message, text: str) -> None:
    """Make `text` the text of a message: in its first text part, the other text parts go empty."""
    first = True
    for part in message.parts:
        if isinstance(part, TextPart) and part.type == "text":
            part.text = text if first else ""
            first = False
