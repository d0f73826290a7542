"""`ToolPhase`: runs the tools of a step and checks each result before it joins the list."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from sluiceway.agent._answer import Answer
from sluiceway.agent._host import RunHost, Stage
from sluiceway.agent._tool_run import Outcome, PendingCall, ToolRun
from sluiceway.errors import text_of
from sluiceway.messages import Chunk, copy_value
from sluiceway.processors import HookCall, StreamRunner
from sluiceway.tools import Tool

__all__ = ["ToolPhase"]


class AttemptHost(Protocol):
    """The attempt, as its tools see it."""

    stream: StreamRunner
    answer: Answer
    offered: dict[str, Any]

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
        payload = {**self._shown(call), "error": error}
        await self._send(Chunk("tool-error", payload, self._host.run_id))

    def _shown(self, call: PendingCall) -> dict[str, Any]:
        """Return a call as the list has it: what the client saw of it, not what the tool was given."""
        part = self._host.messages.find_call(call.tool_call_id)
        return {
            "tool_call_id": call.tool_call_id,
            "tool_name": call.tool_name,
            "args": {} if part is None else copy_value(part.args),
            "provider_executed": False,
        }

    def _check(self, outcome: Outcome) -> None:
        hook_call = self._hook_call(outcome.call.tool_call_id, outcome.call.tool_name, outcome.result, False)
        entries = self._host.setup.output.entries("process_tool_result")
        self._host.enter(entries, hook_call, partial(self._joined, outcome))

    def _hook_call(self, tool_call_id: str, tool_name: str, result: Any, by_provider: bool) -> HookCall:
        part = self._host.messages.find_call(tool_call_id)
        info: dict[str, Any] = {
            "tool_name": tool_name if part is None else part.tool_name,
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
        host.go(self.stage)
        tool_call_id, tool = outcome.call.tool_call_id, outcome.call.tool
        part = host.messages.find_call(tool_call_id)
        if part is None:  # a hook took the whole call out: there is nothing to tell of
            return
        result = part.result if part.state == "result" else outcome.result
        try:
            self._put(tool_call_id, result, tool)
        except Exception as error:  # noqa: BLE001 - the tool's own to_model_output: told to the model
            await self._fail(outcome, f"to_model_output failed: {type(error).__name__}: {text_of(error)}")
            return
        self._attempt.answer.settled.add(tool_call_id)
        chunk = Chunk("tool-result", {**self._shown(outcome.call), "result": result}, host.run_id)
        for one in await self._attempt.stream.push(chunk):
            if one is not chunk and one.type == chunk.type and one.get("tool_call_id") == tool_call_id:
                self._put(tool_call_id, one.get("result"), tool)
            self._attempt.deliver(one)

    def _put(self, tool_call_id: str, result: Any, tool: Tool | None) -> None:
        """Put a result into the list, with what the model is shown of it."""
        shown = tool.to_model_output if tool is not None else None
        output = shown(result) if shown is not None else None
        if output is None:
            self._host.messages.set_tool_result(tool_call_id, result)
        else:
            self._host.messages.set_tool_result(tool_call_id, result, output)

    async def check_provider_result(self, chunk: Chunk) -> Chunk | None:
        """Run the hooks over a result that came with the answer; return the chunk as they left it.

        None where there is no such call, since a hook dropped it or the provider never made it:
        a result that cannot be checked goes nowhere.
        """
        host = self._host
        tool_call_id = str(chunk.get("tool_call_id"))
        if not host.messages.has_call(tool_call_id):
            return None
        result = chunk.get("result")
        by_provider = bool(chunk.get("provider_executed", True))
        call = self._hook_call(tool_call_id, str(chunk.get("tool_name")), result, by_provider)
        for entry in host.setup.output.entries("process_tool_result"):
            call = await host.run_entry(entry, call)
            if host.scope.written:
                await self._attempt.deliver_written()
        host.messages.acting = None
        part = host.messages.find_call(tool_call_id)
        if part is None:
            return None
        tool = None if by_provider else self._attempt.offered.get(str(chunk.get("tool_name")))
        edited = part.state == "result"
        self._put(tool_call_id, part.result if edited else result, tool)
        return chunk.replace(payload={**chunk.payload, "result": part.result}) if edited else chunk
