"""A stream processor of your own: a code name never gets out, however the stream is cut.

    .venv/bin/python examples/custom_stream.py
    .venv/bin/sluiceway run examples/custom_stream.py "What is new?"

Runs offline: a scripted model streams the name in two pieces.
"""

import re

import anyio

from sluiceway import Agent, Processor
from sluiceway.messages import Chunk
from sluiceway.models import ScriptedModel
from sluiceway.processors import StreamContext


class Codename(Processor):
    """Says something else for a word, and keeps back only what could still become that word."""

    def __init__(self, word: str, instead: str) -> None:
        super().__init__()
        self.word = word
        self.instead = instead

    def process_output_stream(self, ctx: StreamContext) -> Chunk | list[Chunk]:
        """Take in each piece of text, and let go of what is certain."""
        if ctx.part.type == "text-end":
            return [*ctx.release(len(ctx.hold())), ctx.part]
        if ctx.part.type != "text-delta":
            return ctx.part
        text = ctx.hold()
        edits = [(*found.span(), self.instead) for found in re.finditer(re.escape(self.word), text)]
        rest = text[edits[-1][1] :] if edits else text
        starts = (self.word[:n] for n in range(len(self.word) - 1, 0, -1))
        tail = next((start for start in starts if rest.endswith(start)), "")
        return ctx.release(len(text) - len(tail), edits)


agent = Agent(
    "press",
    model=ScriptedModel([["We call it Blue", "bird. It is ", "blue."]]),
    output_processors=[Codename("Bluebird", "the new camera")],
)


async def main() -> None:
    """Print the pieces as they are delivered."""
    async with agent.stream("What is new?") as stream:
        print([chunk.text async for chunk in stream if chunk.type == "text-delta"])


if __name__ == "__main__":
    anyio.run(main)
