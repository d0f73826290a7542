"""An output processor of your own: answers about money end with a note.

    .venv/bin/python examples/custom_output.py
    .venv/bin/sluiceway run examples/custom_output.py "Should I buy a bond?"

Runs offline: a scripted model answers. The note is added when the answer is whole, so a stream
has delivered the rest by then; `agent.stream(..., hold="run")` waits for it.
"""

from sluiceway import Agent, Processor
from sluiceway.models import ScriptedModel
from sluiceway.processors import OutputResultContext


class AddNote(Processor):
    """Adds a note to answers that speak of certain things."""

    def __init__(self, note: str, *, about: set[str]) -> None:
        super().__init__()
        self.note = note
        self.about = about

    def process_output_result(self, ctx: OutputResultContext) -> None:
        """Edit the reply in place, once, after the last step."""
        if self.about & set(ctx.result.text.lower().split()):
            ctx.messages[-1].text_parts[-1].text += f"\n{self.note}"


agent = Agent(
    "bank",
    model=ScriptedModel(["A bond pays interest twice a year."]),
    output_processors=[AddNote("(This is no advice.)", about={"bond", "interest", "shares"})],
)

if __name__ == "__main__":
    print(agent.generate_sync("Should I buy a bond?").text)
