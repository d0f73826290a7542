"""One filter for everything: the same rule for what users say, tools return and the model answers.

    .venv/bin/python examples/content_filter.py
    .venv/bin/sluiceway run examples/content_filter.py "Is Gatewell better?"

Runs offline: a scripted model names a competitor, as the tool does. In a stream each block of text is held until
the filter has seen it.
"""

from sluiceway import Agent, guard
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import Block, Rewrite, Verdict


@guard("input", "output", "tool-result")
def house_rules(text: str) -> Verdict:
    """Stop at threats, and leave competitors unnamed."""
    if "or else" in text.lower():
        return Block("a threat")
    return Rewrite(text.replace("Gatewell", "a competitor"))


def prices(shop: str) -> str:
    """Look prices up."""
    return f"Gatewell: 12 EUR, {shop}: 11 EUR"


model = ScriptedModel(
    [Reply(tool_calls=[{"name": "prices", "args": {"shop": "ours"}}]), "Ours costs less than that of Gatewell."]
)
agent = Agent("sales", model=model, tools=[prices], input_processors=[house_rules], output_processors=[house_rules])

if __name__ == "__main__":
    result = agent.generate_sync("Is Gatewell better?")
    print("asked:", model.prompts[0].messages[0].text)
    print("looked up:", result.steps[0].tool_results[0].result)
    print("answered:", result.text)
