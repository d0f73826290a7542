"""Another try, with feedback: an answer that is too long is sent back, and the model told why.

    .venv/bin/python examples/retry.py
    .venv/bin/sluiceway run examples/retry.py "What is a sluice?"

Runs offline: a scripted model is long-winded the first time. Where no try is left, the run ends
with a tripwire.
"""

from sluiceway import Agent, Processor
from sluiceway.models import ScriptedModel
from sluiceway.processors import OutputStepContext


class BeBrief(Processor):
    """Sends answers back that have too many words."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.words = words

    def process_output_step(self, ctx: OutputStepContext) -> None:
        """Count, after each answer of the model."""
        count = len(ctx.text.split())
        if count > self.words:
            ctx.abort(f"Your answer has {count} words. Say it in {self.words} or fewer.", retry=True)


model = ScriptedModel(["Well, a sluice, as one might put it, is a kind of gate for water.", "A gate for water."])
agent = Agent("brief", model=model, output_processors=[BeBrief(words=8)], max_processor_retries=2)

if __name__ == "__main__":
    print(agent.generate_sync("What is a sluice?").text)
    print("the model was told:", model.prompts[-1].messages[0].text)
