"""Call an agent through either entry point, and look at what came of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import pytest

from sluiceway import Agent
from sluiceway.engine import Result
from sluiceway.errors import SluicewayError
from sluiceway.messages import (
    Chunk,
    Prompt,
    PromptFile,
    PromptImage,
    PromptReasoning,
    PromptText,
    PromptToolCall,
    PromptToolResult,
)
from sluiceway.models import ScriptedModel

__all__ = [
    "Entry",
    "Ran",
    "by",
    "calls_tool",
    "collect",
    "each_entry",
    "lines",
    "make_agent",
    "parts_of",
    "reply_parts",
]

Entry: TypeAlias = Literal["stream", "generate"]

each_entry = pytest.mark.parametrize("entry", ["stream", "generate"])


@dataclass(slots=True)
class Ran:
    """How a call went: its result or its error, and what a reader of the stream got."""

    chunks: list[Chunk] = field(default_factory=list[Chunk])
    ended_with: Result | None = None
    error: SluicewayError | None = None

    @property
    def result(self) -> Result:
        """The result; a call that raised has none."""
        if self.ended_with is None:
            raise AssertionError(f"the call raised {self.error!r}") from self.error
        return self.ended_with

    @property
    def emitted(self) -> str:
        """The text deltas that the reader got, joined."""
        return "".join(chunk.text for chunk in self.chunks if chunk.type == "text-delta")

    @property
    def types(self) -> list[str]:
        """The types of the chunks, in order."""
        return [chunk.type for chunk in self.chunks]

    def of(self, *types: str) -> list[Chunk]:
        """Return the chunks of these types, in order."""
        return [chunk for chunk in self.chunks if chunk.type in types]


async def collect(agent: Agent, said: Any, **options: Any) -> Ran:
    """Read a stream to its end and ask for its result."""
    ran = Ran()
    async with agent.stream(said, **options) as stream:
        async for chunk in stream:
            ran.chunks.append(chunk)
        try:
            ran.ended_with = await stream.result()
        except SluicewayError as error:
            ran.error = error
    return ran


async def by(entry: Entry, agent: Agent, said: Any, **options: Any) -> Ran:
    """Call an agent through one of its entry points; `generate` has no chunks."""
    if entry == "stream":
        return await collect(agent, said, **options)
    ran = Ran()
    try:
        ran.ended_with = await agent.generate(said, **options)
    except SluicewayError as error:
        ran.error = error
    return ran


def make_agent(*replies: Any, **options: Any) -> tuple[Agent, ScriptedModel]:
    """Return an agent with a scripted model of these replies, and the model."""
    model = ScriptedModel(replies or ["ok"])
    return Agent(id="tested", instructions="sys", model=model, **options), model


def calls_tool(name: str, args: dict[str, Any] | None = None, id: str = "c1") -> dict[str, Any]:  # noqa: A002
    """Return one tool call of a scripted reply."""
    return {"id": id, "name": name, "args": args or {}}


def lines(prompt: Prompt) -> list[str]:
    """Return a prompt as lines such as `assistant: looking + t({"q":1})#c1`, `tool: c1 -> 7`."""
    return [
        f"{message.role}: {' + '.join(_piece(content) for content in message.content)}" for message in prompt.messages
    ]


def _piece(content: object) -> str:
    match content:
        case PromptText():
            return content.text
        case PromptReasoning():
            return f"({content.text})"
        case PromptToolCall():
            return f"{content.tool_name}({_json(dict(content.args))})#{content.tool_call_id}"
        case PromptToolResult():
            arrow = "!!" if content.is_error else "->"
            return f"{content.tool_call_id} {arrow} {_json(content.output)}"
        case PromptFile() | PromptImage():
            return f"<{content.media_type}>"
        case _:
            return repr(content)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def reply_parts(result: Result) -> list[Any]:
    """Return the parts of the first message of a reply."""
    return list(result.response.messages[0].parts)


def parts_of(result: Result) -> list[list[str]]:
    """Return the parts of each message of a reply as texts such as `text:hi`, `tool:t:result`."""
    return [[_part(part) for part in message.parts] for message in result.response.messages]


def _part(part: Any) -> str:
    if part.type in ("text", "reasoning"):
        return f"{part.type}:{part.text}"
    return f"tool:{part.tool_name}:{part.state}" if part.type == "tool" else part.type
