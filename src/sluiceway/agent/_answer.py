"""`Answer`: what one attempt has got from the model, before and after the stream hooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from sluiceway.agent._delivery import Blocks
from sluiceway.agent._tool_run import PendingCall
from sluiceway.engine import StepResult, ToolCall, ToolOutcome
from sluiceway.errors import ModelError
from sluiceway.messages import Chunk, Message, MessageList, Part, Reply, StepStartPart, ToolPart, Usage, copy_value
from sluiceway.tools import Tool

__all__ = ["Answer", "blocks_of", "segments", "step_of_parts"]

_NO_TOOLS: Final = frozenset({"length", "content-filter"})


class Answer:
    """The chunks of one attempt and what they come to.

    Args:
        messages: The run's list.
        message_id: The id of the reply.
        first: Whether this is the first step.
    """

    __slots__ = (
        "_calls",
        "_client_calls",
        "_messages",
        "_raw_args",
        "_replayed",
        "_reply",
        "_streamed",
        "finish",
        "metadata",
        "raw",
        "settled",
        "shown",
    )

    def __init__(self, messages: MessageList, message_id: str, *, first: bool) -> None:
        self._messages = messages
        self._reply = Reply(messages, message_id, first=first)
        self._calls: dict[str, Chunk] = {}
        self._raw_args: dict[str, Mapping[str, Any]] = {}
        self._replayed = False
        self._client_calls = False
        self._streamed: str | None = None
        self.settled: set[str] = set()
        """Ids of the calls whose results the tool phase puts into the list."""
        self.raw: list[Chunk] = []
        """The model's own chunks."""
        self.finish: Chunk | None = None
        self.metadata: Mapping[str, Any] = {}
        self.shown: frozenset[str] = frozenset()
        """Ids of the transient signals in this attempt's prompt that are in no later one."""

    def apply(self, chunk: Chunk) -> None:
        """Book a chunk that goes to the client."""
        kind = chunk.type
        if kind == "tool-result" and chunk.get("tool_call_id") in self.settled:
            return  # the tool phase has put it into the list, with what the model is shown of it
        self._reply.apply(chunk)
        if kind == "text-delta":
            if self._streamed is not None:  # text that comes after the answer, out of a last hook
                self._streamed += chunk.text
        elif kind == "tool-call":
            self._calls[str(chunk.get("tool_call_id"))] = chunk
        elif kind == "response-metadata":
            self.metadata = chunk.payload

    def asked(self, chunk: Chunk) -> None:
        """Note a call as the model made it.

        Raises:
            ModelError: It has no name or no id, or its arguments are no object.
        """
        name, id_, args = chunk.get("tool_name"), chunk.get("tool_call_id"), chunk.get("args")
        # No guardrail has seen the name yet, and a model may have made it up: no error says it.
        if not isinstance(name, str) or not name:
            raise ModelError("the model sent a tool call without a name")
        if not isinstance(id_, str) or not id_:
            raise ModelError("the model sent a tool call without an id")
        if args is not None and not isinstance(args, Mapping):
            raise ModelError(f"the model sent a tool call whose arguments are a {type(args).__name__}: call {id_!r}")
        if id_ in self._raw_args:
            raise ModelError(f"the model sent two tool calls with the id {id_!r} in one answer")
        # A copy: a hook may edit what is nested in the chunk's arguments, and the tool gets the model's own.
        self._raw_args[id_] = cast("Mapping[str, Any]", copy_value(args or {}))

    def replayed_result(self) -> None:
        """Note that results came with the answer, so that its tools do not run."""
        self._replayed = True

    @property
    def reason(self) -> str:
        """Why the model stopped."""
        if self.finish is None:
            return "tool-calls" if self._calls else "stop"
        return str(self.finish.get("reason", "unknown"))

    @property
    def usage(self) -> Usage:
        """What the provider reported; nothing where it did not."""
        return self.reported_usage or Usage()

    @property
    def reported_usage(self) -> Usage | None:
        """What the provider reported, or None."""
        reported = None if self.finish is None else self.finish.get("usage")
        return reported if isinstance(reported, Usage) else None

    def add_unread(self, chunks: Iterable[Chunk]) -> None:
        """Note what the model said and nobody read: it is paid for."""
        for chunk in chunks:
            self.raw.append(chunk)
            if chunk.type == "finish":
                self.finish = chunk

    @property
    def warnings(self) -> tuple[Any, ...]:
        """What the provider warned of."""
        return tuple(self.finish.get("warnings") or ()) if self.finish is not None else ()

    def note_streamed(self) -> None:
        """Note the step's text as it is now: what goes to the client, or went."""
        self._streamed = self._reply.text

    def absorb_added(self) -> None:
        """Make assistant messages that hooks have added a part of the step: a reply is one message."""
        for message in self._messages.response:
            if message.role != "assistant" or message.id == self._reply.message_id:
                continue
            parts = [part.copy() for part in message.parts]
            self._messages.remove_by_ids([message.id])
            for part in parts:
                self._reply.add(part)

    @property
    def streamed(self) -> str:
        """The text that went to the client, or would have."""
        return self._streamed or ""

    def check_end(self) -> None:
        """Refuse an answer that is none.

        Raises:
            ModelError: The reason is `error`, or `other` or `unknown` with nothing answered.
        """
        reason = self.reason
        empty = not any(c.type in ("text-delta", "tool-call", "file", "object") for c in self.raw)
        if reason == "error" or (reason in ("other", "unknown") and empty):
            detail = self.finish.get("message") if self.finish is not None else None
            raise ModelError(
                f"the model ended with reason {reason!r}" + (f": {detail}" if detail else " and no answer")
            )

    def _parts(self) -> Sequence[Part]:
        return self._reply.parts()

    def step_result(self, step_number: int, usage: Usage, *, edited: bool = False) -> StepResult:
        """Return the step as it stands: as the stream hooks left it, or with the edits of later hooks."""
        step = step_of_parts(self._parts(), step_number, results=edited)
        reason = "tool-calls" if edited and self._client_calls else self.reason
        if reason == "tool-calls" and self._raw_args and not step.tool_calls:
            reason = "stop"  # hooks took the calls out: nobody is to look for them
        metadata = self.finish.get("provider_metadata") if self.finish is not None else None
        return StepResult(
            step_number=step_number,
            text=step.text,
            reasoning=step.reasoning,
            tool_calls=step.tool_calls,
            tool_results=step.tool_results,
            sources=step.sources,
            files=step.files,
            finish_reason=reason,
            usage=usage,
            warnings=self.warnings,
            provider_metadata=metadata or {},
        )

    def blocks(self) -> Blocks:
        """Return the texts of the step's blocks as they are now."""
        return blocks_of(self._parts())

    # -- tools

    def _open_calls(self) -> list[ToolPart]:
        return [
            part
            for part in self._parts()
            if isinstance(part, ToolPart) and part.state == "call" and not part.provider_executed
        ]

    def pending(self, offered: Mapping[str, Tool]) -> list[PendingCall]:
        """Return the calls to run now; the client's own are left to it."""
        if self.reason in _NO_TOOLS or self._replayed:
            return []
        pending: list[PendingCall] = []
        for part in self._open_calls():
            tool = offered.get(part.tool_name)
            if tool is not None and tool.run is None:
                self._client_calls = True
                continue
            chunk = self._calls.get(part.tool_call_id)
            args = self._raw_args.get(part.tool_call_id, cast("Mapping[str, Any]", part.args))
            if chunk is not None and chunk.execute:
                args = cast("Mapping[str, Any]", chunk.get("args") or {})
            pending.append(PendingCall(part.tool_call_id, part.tool_name, args, tool, tuple(offered)))
        return pending

    def is_final(self) -> bool:
        """Whether the loop ends with this step, budgets aside."""
        if self.reason in _NO_TOOLS or self._client_calls:
            return True
        calls = [p for p in self._parts() if isinstance(p, ToolPart) and not p.provider_executed]
        return not calls


def blocks_of(parts: Sequence[Part]) -> Blocks:
    """Return the texts of a step's blocks."""
    return {f"{kind}-delta": [cast("Any", p).text for p in parts if p.type == kind] for kind in ("text", "reasoning")}


def segments(message: Message) -> list[list[Part]]:
    """Return the parts of a reply, step by step."""
    steps: list[list[Part]] = [[]]
    for part in message.parts:
        if isinstance(part, StepStartPart):
            steps.append([])
        else:
            steps[-1].append(part)
    if not steps[0] and len(steps) > 1:
        del steps[0]
    return steps


def step_of_parts(parts: Sequence[Part], step_number: int, *, results: bool) -> StepResult:
    """Return what a step's parts say."""
    calls: list[ToolCall] = []
    outcomes: list[ToolOutcome] = []
    for part in parts:
        if not isinstance(part, ToolPart):
            continue
        calls.append(ToolCall(part.tool_call_id, part.tool_name, part.args, part.provider_executed))
        if results and part.state != "call":
            outcomes.append(ToolOutcome(part.tool_call_id, part.tool_name, part.result, part.error))
    return StepResult(
        step_number=step_number,
        text="".join(cast("Any", p).text for p in parts if p.type == "text"),
        reasoning="".join(cast("Any", p).text for p in parts if p.type == "reasoning"),
        tool_calls=tuple(calls),
        tool_results=tuple(outcomes),
        sources=tuple(p for p in parts if p.type == "source"),
        files=tuple(p for p in parts if p.type == "file"),
    )
