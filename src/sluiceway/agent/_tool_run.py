"""The tools of one step: all at once, their results in call order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio

from sluiceway.engine import Mailbox, Owned
from sluiceway.errors import TripWire, text_of
from sluiceway.messages import Chunk
from sluiceway.processors import Writer
from sluiceway.tools import RequestContext, Tool, ToolContext

__all__ = ["Outcome", "PendingCall", "ToolRun"]


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call to be run.

    Args:
        args: What the tool gets.
        tool: The tool; None where no tool of that name was offered.
        offered: The names that were offered, for the error.
    """

    tool_call_id: str
    tool_name: str
    args: Mapping[str, Any]
    tool: Tool | None
    offered: tuple[str, ...] = ()


@dataclass(slots=True)
class Outcome:
    """How a call ended: a result, the text of an error, a tripwire, or what ends the program."""

    call: PendingCall
    result: Any = None
    error: str | None = None
    trip: TripWire | None = None
    fatal: BaseException | None = None
    done: bool = field(default=False)


_Event: TypeAlias = "Chunk | Outcome"


class ToolRun:
    """Runs calls in owned tasks, started in call order, and hands out what comes of them.

    Belongs to the task that reads the run; `close` ends and awaits all that is left.
    """

    __slots__ = ("_box", "_calls", "_context", "_next", "_outcomes", "_owned", "_run_id", "_started")

    def __init__(self, calls: list[PendingCall], run_id: str, context: RequestContext) -> None:
        self._calls = calls
        self._outcomes = [Outcome(call) for call in calls]
        self._owned = Owned()
        self._box: Mailbox[_Event] = Mailbox()
        self._next = 0
        self._run_id = run_id
        self._context = context
        self._started: list[anyio.Event] = []

    async def start(self) -> None:
        """Start every call; when this returns all of them are under way."""
        self._started = [anyio.Event() for _ in self._calls]
        for index in range(len(self._calls)):
            self._owned.start(lambda index=index: self._run(index))
        if self._started:
            await self._started[-1].wait()

    async def next(self) -> Chunk | Outcome | None:
        """Return the next data chunk, or the next outcome in call order, or None at the end."""
        while True:
            if len(self._box):
                event = self._box.take()
                if isinstance(event, Chunk):
                    return event
                event.done = True
                if event.trip is not None:
                    raise event.trip
                if event.fatal is not None:
                    raise event.fatal
                continue
            if self._next >= len(self._outcomes):
                return None
            outcome = self._outcomes[self._next]
            if outcome.done:
                self._next += 1
                return outcome
            await self._box.wait()

    async def close(self) -> None:
        """Cancel what still runs and wait for its end. Threads of plain functions run to theirs."""
        self._owned.cancel()
        await self._owned.join()
        self._box.clear()

    async def _run(self, index: int) -> None:
        if index:
            await self._started[index - 1].wait()
        self._started[index].set()
        outcome = self._outcomes[index]
        try:
            outcome.result = await self._call(outcome.call)
        except TripWire as trip:
            outcome.trip = trip
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is told to the model
            outcome.error = text_of(error)
        except anyio.get_cancelled_exc_class():
            outcome.error = "cancelled"
            raise
        except BaseException as error:  # noqa: BLE001 - an owned task must not raise: the reader does
            outcome.fatal = error
        finally:
            self._box.post(outcome)

    async def _call(self, call: PendingCall) -> Any:
        if call.tool is None:
            offered = ", ".join(call.offered) or "none"
            raise LookupError(f"there is no tool {call.tool_name!r} in this step; offered: {offered}")
        writer = Writer(self._run_id, self._box.post, from_="TOOL")
        context = ToolContext(
            request_context=self._context,
            writer=writer,
            run_id=self._run_id,
            tool_call_id=call.tool_call_id,
        )
        return await call.tool.call(call.args, context)
