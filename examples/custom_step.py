"""A step processor of your own: the model has to look something up before it may answer.

    .venv/bin/python examples/custom_step.py
    .venv/bin/sluiceway run examples/custom_step.py "When do you open?"

Runs offline: a scripted model calls the tool and answers.
"""

from sluiceway import Agent, Processor
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import InputStepContext, StepOverrides


class LookUpFirst(Processor):
    """Asks for one tool in the first step, and offers none after it."""

    def __init__(self, tool: str) -> None:
        super().__init__()
        self.tool = tool

    def process_input_step(self, ctx: InputStepContext) -> StepOverrides:
        """Say what this step may call, before the model is asked."""
        return StepOverrides(tool_choice=self.tool if ctx.step_number == 0 else "none")


def opening_hours(day: str) -> str:
    """Say when the shop is open."""
    return f"{day}: 9 to 18"


model = ScriptedModel(
    [Reply(tool_calls=[{"name": "opening_hours", "args": {"day": "Monday"}}]), "On Monday we open at nine."]
)
agent = Agent("shop", model=model, tools=[opening_hours], input_processors=[LookUpFirst("opening_hours")])

if __name__ == "__main__":
    print(agent.generate_sync("When do you open?").text)
    print("asked for:", [call.tool_choice for call in model.calls])
