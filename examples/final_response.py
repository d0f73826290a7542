"""The last step is an answer: an agent that may not go on is told so, and gets no tools.

    .venv/bin/python examples/final_response.py
    .venv/bin/sluiceway run examples/final_response.py "What do they write about sluices?"

Runs offline: a scripted model would go on searching; in the third and last step it has to answer.
"""

from sluiceway import Agent
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import EnsureFinalResponse


def search(query: str) -> str:
    """Search the archive."""
    return f"3 articles about {query}"


model = ScriptedModel(
    [
        Reply(tool_calls=[{"name": "search", "args": {"query": "sluices"}}]),
        Reply(tool_calls=[{"name": "search", "args": {"query": "gates"}}]),
        "Six articles, three of them about gates.",
    ]
)
agent = Agent("archive", model=model, tools=[search], max_steps=3, input_processors=[EnsureFinalResponse()])

if __name__ == "__main__":
    print(agent.generate_sync("What do they write about sluices?").text)
    print("the model was told:", model.prompts[-1].messages[-1].text)
