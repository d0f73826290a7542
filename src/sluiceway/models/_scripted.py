"""`ScriptedModel` and `EchoModel`: models without a network, for tests and first steps."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any, TypeAlias, cast

import anyio
import anyio.lowlevel

from sluiceway.errors import ConfigurationError, ModelError
from sluiceway.messages import Chunk, Prompt, Usage
from sluiceway.models._backoff import Backoff
from sluiceway.models._errors import is_retryable_status
from sluiceway.models._port import ModelRequest

__all__ = ["EchoModel", "Fault", "Reply", "ReplyLike", "ScriptedModel"]

Fault: TypeAlias = "str | Mapping[str, Any] | BaseException"
"""An error to raise: a text, `{"status": 429, "message": "…"}`, or the exception itself."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer: its reasoning, then its text, its tool calls, and its end.

    Args:
        text: Deltas of the text, or all of it.
        reasoning: Deltas of the reasoning, or all of it.
        tool_calls: Each `{"id": …, "name": …, "args": {…}}`; without an id it gets one.
        finish_reason: None: `tool-calls` if there are any, else `stop`.
        usage: Sent with the end of the answer.
        error: Raised instead of an answer, before anything is sent.
        stream_error: Raised instead of the end.
        delay_s: Seconds slept before every delta.

    Raises:
        ConfigurationError: A tool call without a name.
    """

    text: str | Sequence[str] = ()
    reasoning: str | Sequence[str] = ()
    tool_calls: Sequence[Mapping[str, Any]] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    error: Fault | None = None
    stream_error: Fault | None = None
    delay_s: float = 0

    def __post_init__(self) -> None:
        for call in self.tool_calls:
            if not isinstance(call.get("name"), str):
                raise ConfigurationError(f"a scripted tool call needs a name: {dict(call)!r}")


ReplyLike: TypeAlias = "str | Sequence[str] | Mapping[str, Any] | Reply"
"""A text, its deltas, a `Reply`, or a dict of a reply's fields (`tools` for `tool_calls`)."""

_REPLY_FIELDS = frozenset(item.name for item in fields(Reply))


class ScriptedModel:
    """A model that answers what it is told to, one reply per call; the last one repeats.

    Args:
        replies: The answers in order.
        model_id: What it is called.
        provider: Who claims to run it.
        structured: Whether it says that it can answer structured requests.
        max_retries: How often a refused call is made again.

    Attributes:
        calls: Every request it was given, refused ones included.

    Raises:
        ConfigurationError: No reply, or one of which nothing can be made.

    Examples:
        >>> model = ScriptedModel([Reply(tool_calls=[{"id": "c1", "name": "now", "args": {}}]), "noon"])
    """

    def __init__(
        self,
        replies: ReplyLike | Sequence[ReplyLike],
        *,
        model_id: str = "scripted",
        provider: str = "scripted",
        structured: bool = True,
        max_retries: int = 0,
    ) -> None:
        several = [replies] if isinstance(replies, str | Mapping | Reply) else list(replies)
        self._replies = [_reply(item, number) for number, item in enumerate(several)]
        if not self._replies:
            raise ConfigurationError("a ScriptedModel needs a reply")
        self.provider = provider
        self.model_id = model_id
        self.structured = structured
        self.max_retries = max_retries
        self.backoff = Backoff(first_s=0)
        self.calls: list[ModelRequest] = []

    @property
    def prompts(self) -> list[Prompt]:
        """The prompt of every call, in a new list."""
        return [call.prompt for call in self.calls]

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Answer with the next reply."""
        number = len(self.calls)
        self.calls.append(request)
        reply = self._replies[min(number, len(self._replies) - 1)]
        await anyio.lowlevel.checkpoint()
        if reply.error is not None:
            raise self._fault(reply.error)
        chunks = self._chunks(reply, number, request.run_id)
        try:
            yield chunks
        finally:
            await chunks.aclose()

    async def _chunks(self, reply: Reply, number: int, run_id: str) -> AsyncGenerator[Chunk]:
        for kind, deltas in (("reasoning", reply.reasoning), ("text", reply.text)):
            if not deltas:
                continue
            block = f"{kind}-1"
            yield Chunk(f"{kind}-start", {"id": block}, run_id)
            for delta in (deltas,) if isinstance(deltas, str) else deltas:
                if reply.delay_s:
                    await anyio.sleep(reply.delay_s)
                yield Chunk(f"{kind}-delta", {"id": block, "text": delta}, run_id)
            if kind == "text" and reply.stream_error is not None and not reply.tool_calls:
                break  # broken off inside the block
            yield Chunk(f"{kind}-end", {"id": block}, run_id)
        for place, call in enumerate(reply.tool_calls):
            payload = {
                "tool_call_id": call.get("id") or f"call-{number + 1}-{place + 1}",
                "tool_name": call["name"],
                "args": _copied(call.get("args", {})),
                "provider_executed": bool(call.get("provider_executed", False)),
            }
            yield Chunk("tool-call", payload, run_id)
        if reply.stream_error is not None:
            raise self._fault(reply.stream_error)
        reason = reply.finish_reason or ("tool-calls" if reply.tool_calls else "stop")
        yield Chunk("finish", {"reason": reason, "usage": reply.usage}, run_id)

    def _fault(self, fault: Fault) -> BaseException:
        if isinstance(fault, BaseException):
            return fault
        given: Mapping[str, Any] = {"message": fault} if isinstance(fault, str) else fault
        status = given.get("status")
        return ModelError(
            str(given.get("message", "the model refused")),
            provider=self.provider,
            model_id=self.model_id,
            status=status,
            retryable=bool(given.get("retryable", is_retryable_status(status))),
            retry_after_s=given.get("retry_after_s"),
            body=given.get("body"),
            request_id=given.get("request_id"),
        )

    def __repr__(self) -> str:
        return f"ScriptedModel({self.model_id!r}, {len(self._replies)} replies)"


class EchoModel:
    """A model that answers with the newest text of the user, word by word.

    It answers no structured request. Its usage counts words.

    Args:
        model_id: What it is called.
    """

    provider = "echo"
    structured = False
    max_retries = 0
    from_string = False

    def __init__(self, model_id: str = "echo") -> None:
        self.model_id = model_id

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Answer with the newest text of the user."""
        await anyio.lowlevel.checkpoint()
        texts = [message.text for message in request.prompt.messages if message.role == "user"]
        chunks = _echo(texts[-1] if texts else "", request)
        try:
            yield chunks
        finally:
            await chunks.aclose()

    def __repr__(self) -> str:
        return "EchoModel()"


async def _echo(text: str, request: ModelRequest) -> AsyncGenerator[Chunk]:
    run_id = request.run_id
    words = re.findall(r"\s*\S+(?:\s+\Z)?", text) or ([text] if text else [])
    if words:
        yield Chunk("text-start", {"id": "text-1"}, run_id)
        for word in words:
            yield Chunk("text-delta", {"id": "text-1", "text": word}, run_id)
        yield Chunk("text-end", {"id": "text-1"}, run_id)
    read = sum(len(message.text.split()) for message in request.prompt.messages)
    usage = Usage(read, len(words), estimated=True)
    yield Chunk("finish", {"reason": "stop", "usage": usage}, run_id)


def _copied(value: object) -> Any:
    """Copy arguments, so that a tool that changes its own does not change the script."""
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list):
        return [_copied(item) for item in cast("list[object]", value)]
    return value


def _reply(item: ReplyLike, number: int) -> Reply:
    if isinstance(item, Reply):
        return item
    if isinstance(item, str):
        return Reply(text=item)
    if isinstance(item, Mapping):
        values = {("tool_calls" if key == "tools" else key): value for key, value in item.items()}
        unknown = sorted(values.keys() - _REPLY_FIELDS)
        if unknown:
            known = ", ".join(sorted(_REPLY_FIELDS))
            raise ConfigurationError(f"reply {number}: unknown {', '.join(unknown)}; there are {known}")
        if isinstance(values.get("usage"), Mapping):
            values["usage"] = Usage(**values["usage"])
        return Reply(**values)
    if not isinstance(item, Sequence) or not all(isinstance(delta, str) for delta in item):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(
            f"reply {number}: a text, a list of deltas, a Reply or a dict, not {type(item).__name__}"
        )
    return Reply(text=tuple(item))
