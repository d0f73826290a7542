"""A reminder on the way: a model that calls a tool again with the same arguments is told so.

    .venv/bin/python examples/steering_reminder.py
    .venv/bin/sluiceway run examples/steering_reminder.py "Is it in stock?"

Runs offline: a scripted model asks the same twice. A transient signal is in the prompt of one
step; it is not stored, and users cannot forge it.
"""

from sluiceway import Agent, Processor
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import InputStepContext


class NoRepeats(Processor):
    """Reminds the model of what it has asked before."""

    async def process_input_step(self, ctx: InputStepContext) -> None:
        """Look at the calls of the steps so far, before the model is asked."""
        *earlier, last = [(call.tool_name, call.args) for step in ctx.steps for call in step.tool_calls] or [None]
        if last in earlier:
            await ctx.send_signal("You have this answer already. Use it.", transient=True)


def stock(item: str) -> int:
    """Say how many there are."""
    return {"lamp": 0, "chair": 4}.get(item, 0)


again = Reply(tool_calls=[{"name": "stock", "args": {"item": "lamp"}}])
model = ScriptedModel([again, again, "No, it is sold out."])
agent = Agent("store", model=model, tools=[stock], input_processors=[NoRepeats()])

if __name__ == "__main__":
    print(agent.generate_sync("Is it in stock?").text)
    print("the model was told:", model.prompts[-1].messages[-1].text)
