"""State in a stream: words are counted as they pass, and the client is told the count.

    .venv/bin/python examples/word_counter.py
    .venv/bin/sluiceway run examples/word_counter.py "Count these words" --json

Runs offline with the echo model. A processor holds options; what it counts lives in the state of
a run, so that one object serves many runs at once.
"""

import anyio

from sluiceway import Agent, Processor
from sluiceway.messages import Chunk
from sluiceway.processors import OutputResultContext, StreamContext


class WordCounter(Processor):
    """Counts the words of an answer, and tells the client now and then."""

    def __init__(self, every: int = 4) -> None:
        super().__init__()
        self.every = every

    async def process_output_stream(self, ctx: StreamContext) -> Chunk:
        """Count in each piece of text; a word may be cut in two."""
        text, state = ctx.part.text, ctx.attempt_state
        if text and ctx.part.type == "text-delta":
            goes_on = state.get("inside", False) and not text[0].isspace()
            before = state.get("words", 0)
            state["words"] = before + len(text.split()) - goes_on
            state["inside"] = not text[-1].isspace()
            if state["words"] // self.every > before // self.every:
                await ctx.writer.custom("data-words", state["words"], transient=True)
        return ctx.part

    def process_output_result(self, ctx: OutputResultContext) -> None:
        """Note the count on the answer."""
        ctx.messages[-1].metadata["words"] = len(ctx.result.text.split())


agent = Agent("counted", model="echo/echo", output_processors=[WordCounter()])


async def main() -> None:
    """Print the counts as they come, and the last one."""
    async with agent.stream("A gate lets through as much water as you want") as stream:
        async for chunk in stream:
            if chunk.type == "data-words":
                print(chunk.data, "words so far")
        result = await stream.result()
    print(result.response.messages[-1].metadata)


if __name__ == "__main__":
    anyio.run(main)
