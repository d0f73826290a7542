"""`ToolPhase`: runs the tools of a step and checks each result before it joins the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from sluiceway.agent._host import RunHost, Stage
from sluiceway.agent._tool_run import Outcome, PendingCall, ToolRun
from sluiceway.engine import run_plan
from sluiceway.messages import Chunk
from sluiceway.processors import HookCall, StreamRunner
from sluiceway.tools import Tool

__all__ = ["ToolPhase"]


class AttemptHost(Protocol):
    """The attempt, as its tools see it."""

    stream: StreamRunner

    def deliver(self, chunk: Chunk) -> None:
        """Send a chunk to the client."""
        ...

    async def deliver_written(self) -> None:
        """Send what hooks have written."""
        ...


class ToolPhase:
    """The tools of one attempt.

    Args:
        host: The run.
        attempt: The attempt.
        calls: What is to be run; may be empty.
        then: The stage that follows.
    """

    __slots__ = ("_attempt", "_host", "_run", "_then")

    def __init__(
        self, host: RunHost, attempt: AttemptHost, calls: Sequence[PendingCall], then: Stage | None = None
    ) -> None:
        self._host = host
        self._attempt = attempt
        self._run = ToolRun(list(calls), host.run_id, host.setup.request_context)
        self._then = then

    async def start(self) -> None:
        """Start all of them."""
        await self._run.start()

    async def close(self) -> None:
        """Cancel what still runs, and wait for its end."""
        await self._run.close()

    async def stage(self) -> None:
        """Take the next thing that comes of the tools: a data chunk, a result, or the end."""
        event = await self._run.next()
        if event is None:
            await self._run.close()
            self._host.go(self._then)
        elif isinstance(event, Chunk):
            await self._send(event)
        elif event.error is not None:
            await self._fail(event, event.error)
        else:
            self._check(event)

    async def _send(self, chunk: Chunk) -> None:
        for one in await self._attempt.stream.push(chunk):
            self._attempt.deliver(one)

    async def _fail(self, outcome: Outcome, error: str) -> None:
        call = outcome.call
        self._host.messages.set_tool_error(call.tool_call_id, error)
        payload = {"tool_call_id": call.tool_call_id, "tool_name": call.tool_name, "error": error}
        await self._send(Chunk("tool-error", payload, self._host.run_id))

    def _check(self, outcome: Outcome) -> None:
        hook_call = self._hook_call(outcome.call.tool_call_id, outcome.call.tool_name, outcome.result, False)
        entries = self._host.setup.output.entries("process_tool_result")
        self._host.enter(entries, hook_call, partial(self._joined, outcome))

    def _hook_call(self, tool_call_id: str, tool_name: str, result: Any, by_provider: bool) -> HookCall:
        part = self._host.messages.find_call(tool_call_id)
        info: dict[str, Any] = {
            "tool_name": tool_name,
            "tool_call_id": tool_call_id,
            "args": {} if part is None else part.args,
            "result": result,
            "provider_executed": by_provider,
        }
        return HookCall("process_tool_result", self._host.messages, info=info)

    async def _joined(self, outcome: Outcome, call: HookCall) -> None:
        del call
        host = self._host
        host.messages.acting = None
        tool_call_id = outcome.call.tool_call_id
        result = self._settled(tool_call_id, outcome.result, outcome.call.tool)
        payload = {"tool_call_id": tool_call_id, "tool_name": outcome.call.tool_name, "result": result}
        host.go(self.stage)
        await self._send(Chunk("tool-result", payload, host.run_id))

    def _settled(self, tool_call_id: str, raw: Any, tool: Tool | None) -> Any:
        """Put the result into the list, as the hooks left it, with what the model is shown of it."""
        messages = self._host.messages
        part = messages.find_call(tool_call_id)
        if part is None:  # a hook took the whole call out
            return raw
        result = part.result if part.state == "result" else raw
        shown: Callable[[Any], Any] | None = tool.to_model_output if tool is not None else None
        output = shown(result) if shown is not None else None
        if output is None:
            messages.set_tool_result(tool_call_id, result)
        else:
            messages.set_tool_result(tool_call_id, result, output)
        return result

    async def check_provider_result(self, chunk: Chunk) -> Chunk:
        """Run the hooks over a result that came with the answer; return the chunk as they left it."""
        host = self._host
        tool_call_id = str(chunk.get("tool_call_id"))
        call = self._hook_call(tool_call_id, str(chunk.get("tool_name")), chunk.get("result"), True)
        for entry in host.setup.output.entries("process_tool_result"):
            call = await run_plan(entry, call, host.scope)
            if host.scope.written:
                await self._attempt.deliver_written()
        host.messages.acting = None
        if host.messages.find_call(tool_call_id) is None:
            return chunk
        result = self._settled(tool_call_id, chunk.get("result"), None)
        if result == chunk.get("result"):
            return chunk
        return chunk.replace(payload={**chunk.payload, "result": result})
