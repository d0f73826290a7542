"""One request answered by one agent, in whatever API it came."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self, cast

import anyio

from sluiceway.agent import Agent, AgentStream, CallOptions
from sluiceway.engine import ToolCall
from sluiceway.errors import SluicewayError
from sluiceway.messages import Chunk, Usage
from sluiceway.processors import HookEvent
from sluiceway.serve._ask import Ask
from sluiceway.serve._refusal import Refusal, refusal_of
from sluiceway.serve._runs import RunLog, RunRecord, RunState
from sluiceway.serve._wire import Ending, Wire, Writer, ending_of

__all__ = ["Answering", "Call", "Hold"]

Hold = Literal["none", "step", "run"]

_MOST_CHARS: Final = 100_000
"""How much of a text is kept for the page, where values are shown."""
_REASONING: Final = frozenset({"reasoning-start", "reasoning-delta", "reasoning-end"})


@dataclass(slots=True)
class Call:
    """What is needed to answer a request.

    Args:
        agent: Who answers.
        ask: The request.
        wire: The API.
        options: Of the agent's call, those of the request included.
        hold: When text is delivered.
        timeout_s: How long the whole may take, in seconds.
        log: Where the run is noted, or None.
        show_values: Whether what was said is noted too.
        own_key: Whether the client's own key is sent to the provider.
    """

    agent: Agent
    ask: Ask
    wire: Wire
    options: CallOptions
    hold: Hold = "none"
    timeout_s: float = math.inf
    log: RunLog | None = None
    show_values: bool = False
    own_key: bool = False


class Answering:
    """A run, written as an API has it: whole, or piece by piece.

    Use it with `async with`; leaving early cancels the run. Read as an iterator it keeps no
    cancel scope open between two reads, so that they may be made in different tasks, and knows
    no time limit; `pour` does.

    Args:
        call: What to answer.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self._record: RunRecord | None = None
        self._deadline = anyio.current_time() + call.timeout_s
        options: CallOptions = {**call.options, "observer": self._observe, "hold": call.hold}
        self._stream: AgentStream = call.agent.stream(call.ask.messages, **options)
        self._writer: Writer | None = None
        self._ready: deque[bytes] = deque()
        self._events: list[HookEvent] = []
        self._seen = _Seen()
        self._ended = False
        self._scope: anyio.CancelScope | None = None
        self._cut: Refusal | None = None

    async def __aenter__(self) -> Self:
        await self._within(self._stream.__aenter__)
        call = self._call
        self._record = RunRecord(
            self._stream.run_id, call.agent.id, call.wire.name, model=call.ask.model, stream=call.ask.stream
        )
        if call.show_values:
            self._record.said = _said(call.ask)[:_MOST_CHARS]
            self._record.answered = ""
        if call.log is not None:
            call.log.add(self._record)
        return self

    async def __aexit__(self, *error: object) -> None:
        try:
            await self._stream.__aexit__(None, None, None)
        finally:
            self._note("cancelled")

    @property
    def run_id(self) -> str:
        """The run."""
        return self._stream.run_id

    # -- whole

    async def whole(self) -> dict[str, Any]:
        """Return the answer.

        Raises:
            Refusal: There is none.
        """
        try:
            result = await self._within(self._stream.result)
        except (SluicewayError, Refusal) as error:
            raise self._broken(error) from error
        ending = ending_of(result)
        self._end(ending, place=result.tripwire.path if result.tripwire else None)
        self._keep(result.text)
        return self._call.wire.whole(self._call.ask, ending)

    # -- in pieces

    async def open(self) -> None:
        """Go on until there is something to send.

        Raises:
            Refusal: There is nothing, and there will be nothing.
        """
        try:
            await self._within(self._fill)
        except (SluicewayError, Refusal) as error:
            raise self._broken(error) from error

    async def pour(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send all there is to send, within the time limit; an error is written too."""
        with self._limited() as scope:
            async for piece in self:
                await send(piece)
        if scope.cancelled_caught:
            await send(self._writing().fault(self._broken(self._late())))

    def cut(self, refusal: Refusal) -> None:
        """End it now; the client is told this. One that has ended, or was cut, stays as it is."""
        if self._cut is None:
            self._cut = refusal
            if self._scope is not None:
                self._scope.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if not self._ready:
            try:
                await self._fill()
            except (SluicewayError, Refusal) as error:
                return self._writing().fault(self._broken(error))
        if not self._ready:
            raise StopAsyncIteration
        return self._ready.popleft()

    def _writing(self) -> Writer:
        if self._writer is None:
            self._writer = self._call.wire.writer(self._call.ask, self.run_id)
        return self._writer

    async def _fill(self) -> None:
        """Read until there is something to send, or the end."""
        writer = self._writing()
        while not self._ready and not self._ended:
            written = self._written(writer, await anext(self._stream))
            if written:
                self._ready.append(written)

    def _written(self, writer: Writer, chunk: Chunk) -> bytes:
        """Return what is sent of a chunk."""
        kind = chunk.type
        if kind == "text-delta":
            self._first()
            self._keep(chunk.text)
            return writer.text(chunk.text)
        if kind in _REASONING:
            return writer.reasoning(chunk)
        if kind == "error":
            error = chunk.get("error")
            raise error if isinstance(error, SluicewayError) else refusal_of(error)
        if kind == "finish":
            ending = self._seen.ending(self.run_id, chunk)
            self._end(ending, place=self._seen.place)
            return writer.end(ending)
        self._seen.take(chunk)
        return b""

    # -- what both do

    async def _within(self, work: Callable[[], Any]) -> Any:
        """Do one thing within the time limit.

        Raises:
            Refusal: There is no time left.
        """
        with self._limited():
            return await work()
        raise self._late()

    @contextmanager
    def _limited(self) -> Generator[anyio.CancelScope]:
        """Give as much time as there is left."""
        with anyio.CancelScope(deadline=self._deadline) as scope:
            self._scope = scope
            if self._cut is not None:
                scope.cancel()
            try:
                yield scope
            finally:
                self._scope = None

    def _late(self) -> Refusal:
        if self._cut is not None:
            return self._cut
        text = f"the answer was not complete after {self._call.timeout_s:g} s"
        return Refusal(504, text, code="timeout", retry=False)

    def _observe(self, event: HookEvent) -> None:
        if self._record is not None and self._call.log is not None:
            self._call.log.hook(self._record, event)

    def _keep(self, text: str) -> None:
        """Note more of the answer, where values are shown."""
        record = self._record
        if record is not None and record.answered is not None and len(record.answered) < _MOST_CHARS:
            record.answered = (record.answered + text)[:_MOST_CHARS]

    def _first(self) -> None:
        record = self._record
        if record is not None and record.first_s is None:
            record.first_s = record.elapsed_s

    def _end(self, ending: Ending, *, place: str | None) -> None:
        record = self._record
        if record is not None:
            record.usage = ending.usage
            record.finish_reason = ending.reason
            record.reason = ending.refused or ""
            record.place = place or ending.processor_id or ""
        self._note("passed" if ending.refused is None else "tripwire")

    def _broken(self, error: Exception) -> Refusal:
        refusal = refusal_of(error, own_key=self._call.own_key)
        if self._record is not None:
            self._record.reason = refusal.message
        self._note("error")
        return refusal

    def _note(self, state: RunState) -> None:
        self._ended = True
        if self._record is not None and self._call.log is not None:
            self._call.log.end(self._record, state)


@dataclass(slots=True)
class _Seen:
    """What of a stream is told only at its end."""

    calls: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    trip: Mapping[str, Any] | None = None

    @property
    def place(self) -> str | None:
        """Where it tripped."""
        return None if self.trip is None else self.trip.get("path")

    def take(self, chunk: Chunk) -> None:
        """Note a chunk."""
        kind = chunk.type
        if kind == "tool-call":
            if not chunk.get("provider_executed"):
                id_ = str(chunk.get("tool_call_id"))
                self.calls[id_] = ToolCall(id_, str(chunk.get("tool_name")), chunk.get("args") or {})
        elif kind in ("tool-result", "tool-error"):
            self.calls.pop(str(chunk.get("tool_call_id")), None)
        elif kind == "step-finish" and chunk.get("reason") == "retry":
            self.calls.clear()
        elif kind == "tripwire":
            self.trip = chunk.payload

    def ending(self, run_id: str, finish: Chunk) -> Ending:
        """Return how it ended."""
        usage = finish.get("usage")
        used = usage if isinstance(usage, Usage) else Usage()
        if self.trip is not None:
            reason = str(self.trip.get("reason"))
            return Ending(run_id, "other", used, refused=reason, processor_id=self.trip.get("processor_id"))
        return Ending(run_id, str(finish.get("reason")), used, tuple(self.calls.values()))


def _said(ask: Ask) -> str:
    """Return the newest text of the user."""
    for given in reversed(ask.messages):
        message = cast("Mapping[str, Any]", given)
        if message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content
            blocks = cast("list[Mapping[str, Any]]", content or [])
            return "".join(str(block.get("text", "")) for block in blocks)
    return ""
