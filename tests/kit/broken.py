"""Processors that are wrong on purpose, each in the way that one law is there to find."""

from __future__ import annotations

from typing import Any

import anyio.lowlevel

from sluiceway import Processor, Workflow
from sluiceway.messages import Prompt
from sluiceway.processors import LLMRequest

__all__ = [
    "BlocksOnAChunk", "Busy", "DropsResults", "ForgetsTheTail", "Grows", "HoldsTooLittle", "KeepsStateInAClosure",
    "KeepsStateInItself", "OpensOnFailure", "RedactsEachChunk", "TellsTheSecret", "lower", "picks_the_wrong_branch",
    "title",
]  # fmt: skip

SECRET = "hunter2"


class RedactsEachChunk(Processor):
    """Looks at one chunk at a time."""

    def process_output_stream(self, ctx: Any) -> Any:
        part = ctx.part
        return part.replace(text=part.text.replace(SECRET, "*")) if part.type == "text-delta" else part


class BlocksOnAChunk(Processor):
    """Decides by one chunk at a time."""

    def process_output_stream(self, ctx: Any) -> Any:
        if SECRET in ctx.part.text:
            ctx.abort("found")
        return ctx.part


class ForgetsTheTail(Processor):
    """Holds each delta back until the next one comes, and so the last one for ever."""

    def process_output_stream(self, ctx: Any) -> Any:
        if ctx.part.type != "text-delta":
            return ctx.part
        held, ctx.attempt_state["held"] = ctx.attempt_state.get("held"), ctx.part
        return held


class HoldsTooLittle(Processor):
    """Aborts when the secret is there, most of which it has let out by then."""

    def process_output_stream(self, ctx: Any) -> Any:
        part = ctx.part
        if part.type == "text-delta":
            seen = ctx.attempt_state["seen"] = ctx.attempt_state.get("seen", "") + part.text
            if SECRET in seen:
                ctx.abort("found")
        return part


class TellsTheSecret(Processor):
    """Redacts, and reports what it found."""

    def process_input(self, ctx: Any) -> None:
        for message in ctx.messages:
            for part in message.parts:
                if part.type == "text" and SECRET in part.text:
                    ctx.warn("redacted", {"value": SECRET})
                    part.text = part.text.replace(SECRET, "*")


class Grows(Processor):
    """Says something at each pass."""

    def process_input(self, ctx: Any) -> None:
        for message in ctx.messages:
            for part in message.parts:
                if part.type == "text":
                    part.text += "!"


def lower() -> Processor:
    return Processor.of("lower", process_input=lambda ctx: _edit(ctx, str.lower))


def title() -> Processor:
    return Processor.of("title", process_input=lambda ctx: _edit(ctx, str.title))


def _edit(ctx: Any, change: Any) -> None:
    for message in ctx.messages:
        for part in message.parts:
            if part.type == "text":
                part.text = change(part.text)


class DropsResults(Processor):
    """Saves tokens by leaving the results of tools out, but not the calls."""

    def process_llm_request(self, ctx: Any) -> Any:
        kept = tuple(message for message in ctx.prompt.messages if message.role != "tool")
        return LLMRequest(prompt=Prompt(kept))


def picks_the_wrong_branch() -> Workflow:
    watch = Processor.of("watch", process_input=lambda ctx: None)
    return Workflow("wrong").parallel([title(), watch]).map("processor:watch")


class KeepsStateInItself(Processor):
    """Remembers what it has seen, for all runs."""

    seen = 0

    def process_input(self, ctx: Any) -> None:
        self.seen += 1
        if self.seen > 1:
            ctx.abort("seen before")


def KeepsStateInAClosure(id: str) -> Processor:  # noqa: A002
    seen: list[str] = []

    def process_input(ctx: Any) -> None:
        seen.append(ctx.messages[-1].text)
        ctx.messages[-1].parts[0].text = "".join(seen[-2:])

    return Processor.of(id, process_input=process_input)


def OpensOnFailure(id: str) -> Processor:  # noqa: A002
    return Processor.of(id, process_input=lambda ctx: None, on_error="continue")


class Busy(Processor):
    """Takes a lock that a cancelled run never gives back."""

    busy = False

    async def process_output_result(self, ctx: Any) -> None:
        if self.busy:
            ctx.abort("busy")
        self.busy = True
        await anyio.lowlevel.checkpoint()
        self.busy = False
