"""An input processor of your own: what a mail quotes is cut out before a model reads it.

    .venv/bin/python examples/custom_input.py
    .venv/bin/sluiceway run examples/custom_input.py "And on Sunday?"

Runs offline: the echo model answers with what reached it.
"""

from sluiceway import Agent, Processor
from sluiceway.processors import InputContext


class CutQuotes(Processor):
    """Leaves out the lines of a mail that quote an earlier one."""

    def process_input(self, ctx: InputContext) -> None:
        """Edit the new messages in place, once, before the first step."""
        for message in ctx.message_list.input:
            for part in message.text_parts:
                lines = [line for line in part.text.splitlines() if not line.startswith(">")]
                part.text = "\n".join(lines).strip()


agent = Agent("mail", model="echo/echo", input_processors=[CutQuotes()])

if __name__ == "__main__":
    print(agent.generate_sync("And on Sunday?\n\n> We open at nine.\n> Ann").text)
