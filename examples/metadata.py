"""Metadata of an answer: what it took goes with the message to the client, and into memory.

    .venv/bin/python examples/metadata.py
    .venv/bin/sluiceway run examples/metadata.py "Hello" --json

Runs offline with the echo model.
"""

from sluiceway import Agent, Processor
from sluiceway.processors import OutputResultContext


class Receipt(Processor):
    """Notes on the answer who asked and what it took."""

    def process_output_result(self, ctx: OutputResultContext) -> None:
        """Write to the metadata of the reply, once, after the last step."""
        ctx.messages[-1].metadata["receipt"] = {
            "user": ctx.request_context.get("user", "unknown"),
            "tokens": ctx.result.usage.total_tokens,
        }


agent = Agent("noted", model="echo/echo", output_processors=[Receipt()])

if __name__ == "__main__":
    result = agent.generate_sync("Hello there", request_context={"user": "ann"})
    print(result.response.ui_messages[-1]["metadata"])
