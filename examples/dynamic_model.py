"""A model for each request, and for each step: a small one, and a large one where it is needed.

    .venv/bin/python examples/dynamic_model.py
    .venv/bin/sluiceway run examples/dynamic_model.py "Hello"

Runs offline: two scripted models say who they are. Real ones are named in their place, such as
"openai/gpt-5-mini".
"""

from sluiceway import Agent, Processor, RequestContext
from sluiceway.models import Model, ScriptedModel
from sluiceway.processors import InputStepContext, StepOverrides

small = ScriptedModel(["small"], model_id="small")
large = ScriptedModel(["large"], model_id="large")


def by_plan(context: RequestContext) -> Model:
    """Choose for the whole request."""
    return large if context.get("plan") == "pro" else small


class LargeForLong(Processor):
    """Gives a step to a large model where there is a lot to read."""

    def __init__(self, model: Model, *, characters: int) -> None:
        super().__init__()
        self.model = model
        self.characters = characters

    def process_input_step(self, ctx: InputStepContext) -> StepOverrides | None:
        """Choose for this step, before the model is asked."""
        length = sum(len(message.text) for message in ctx.messages)
        return StepOverrides(model=self.model) if length > self.characters else None


agent = Agent("thrifty", model=by_plan, input_processors=[LargeForLong(large, characters=2000)])

if __name__ == "__main__":
    print("free plan:", agent.generate_sync("Hello").text)
    print("pro plan:", agent.generate_sync("Hello", request_context={"plan": "pro"}).text)
    print("long text:", agent.generate_sync("Hello " * 500).text)
