"""Events of your own in the stream: a tool and a processor tell the client how far they are.

    .venv/bin/python examples/stream_events.py
    .venv/bin/sluiceway run examples/stream_events.py "Look it up" --json

Runs offline: a scripted model calls the tool and answers. A transient event is shown and not
stored; without `transient` it becomes a part of the reply, for the client to show again later.
"""

import anyio

from sluiceway import Agent, Processor, ToolContext
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import OutputStepContext


class ShowTools(Processor):
    """Tells the client which tools are about to run."""

    async def process_output_step(self, ctx: OutputStepContext) -> None:
        """Send an event after each answer of the model, before its tools run."""
        for call in ctx.tool_calls:
            await ctx.writer.custom("data-tool", {"name": call.tool_name})


async def look_up(word: str, context: ToolContext) -> str:
    """Look a word up."""
    for percent in (50, 100):
        await context.writer.custom("data-progress", {"percent": percent}, transient=True)
    return f"{word}: a gate for water"


model = ScriptedModel([Reply(tool_calls=[{"name": "look_up", "args": {"word": "sluice"}}]), "It is a gate."])
agent = Agent("dictionary", model=model, tools=[look_up], output_processors=[ShowTools()])


async def main() -> None:
    """Print the events as they come, then the answer."""
    async with agent.stream("What is a sluice?") as stream:
        async for chunk in stream:
            if chunk.type.startswith("data-"):
                print(chunk.type, chunk.data)
        print((await stream.result()).text)


if __name__ == "__main__":
    anyio.run(main)
