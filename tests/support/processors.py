"""Processors to test with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluiceway import Processor, Tool
from sluiceway.messages import Chunk

__all__ = ["INPUT_HOOKS", "OUTPUT_HOOKS", "TailHolder", "hooked", "noting", "replace_text", "tool_named"]

INPUT_HOOKS = ("process_input", "process_input_step", "process_llm_request", "process_llm_response")
OUTPUT_HOOKS = (
    "process_output_stream",
    "finish_output_stream",
    "process_output_step",
    "process_tool_result",
    "process_output_result",
)


def hooked(id: str, hooks: Mapping[str, Any], **options: Any) -> Processor:  # noqa: A002
    """Return a processor whose hooks are given by name."""
    return Processor.of(id, **{**hooks, **options})


def noting(id: str, trace: list[str], *hooks: str) -> Processor:  # noqa: A002
    """Return a processor that writes `id.hook` into a trace; of the stream hook its text deltas only."""

    def hook(name: str) -> Any:
        def run(ctx: Any) -> Any:
            if name != "process_output_stream":
                trace.append(f"{id}.{name}")
                return None
            if ctx.part.type == "text-delta":
                trace.append(f"{id}.{name}:{ctx.part.text}")
            return ctx.part

        return run

    return hooked(id, {name: hook(name) for name in hooks})


def replace_text(messages: Any, old: str, new: str) -> None:
    """Edit the text parts of messages in place."""
    for message in messages:
        for part in message.parts:
            if part.type == "text" and old in part.text:
                part.text = part.text.replace(old, new)


def tool_named(name: str, result: Any = 1, *, trace: list[str] | None = None) -> Tool:
    """Return a tool that takes anything, notes its run, and returns a value or raises an error."""

    async def run(**args: Any) -> Any:
        if trace is not None:
            trace.append(f"tool:{name}")
        if isinstance(result, Exception):
            raise result
        return result

    return Tool(name, f"The tool {name}.", {"type": "object"}, run)


class TailHolder(Processor):
    """Lets nothing of a block out before it is longer than `chars`, and then all but its tail.

    What it holds goes out at the end of the block, in front of any other chunk that ends the
    text, and at the end of the stream.
    """

    def __init__(self, id: str, chars: int) -> None:  # noqa: A002
        super().__init__(id)
        self.chars = chars

    def process_output_stream(self, ctx: Any) -> Any:
        part = ctx.part
        if part.type != "text-delta":
            return [*self._held(ctx), part] if part.type in ("text-end", "tool-call") else part
        held = ctx.attempt_state.get("held")
        text = part.text if held is None else held.text + part.text
        cut = max(0, len(text) - self.chars)
        ctx.attempt_state["held"] = part.replace(text=text[cut:])
        return [part.replace(text=text[:cut])] if cut else None

    def finish_output_stream(self, ctx: Any) -> Any:
        return self._held(ctx)

    def _held(self, ctx: Any) -> Sequence[Chunk]:
        held = ctx.attempt_state.pop("held", None)
        return [] if held is None or not held.text else [held]
