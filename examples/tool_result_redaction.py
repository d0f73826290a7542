"""Tool results are redacted: what a database returns is cut down before a model sees it.

    .venv/bin/python examples/tool_result_redaction.py
    .venv/bin/sluiceway run examples/tool_result_redaction.py "Who is customer 7?"

Runs offline: a scripted model calls the tool and answers. A processor of your own drops columns;
`PIIDetector` finds what is left in free text. Client, model and memory get the same.
"""

from typing import Any

from sluiceway import Agent, Processor
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import PIIDetector, ToolResultContext


class DropColumns(Processor):
    """Leaves out columns of what a tool returns."""

    def __init__(self, *columns: str) -> None:
        super().__init__()
        self.columns = columns

    def process_tool_result(self, ctx: ToolResultContext) -> None:
        """Replace the result, after the tool has returned and before anybody sees it."""
        row = {key: value for key, value in ctx.result.items() if key not in self.columns}
        ctx.message_list.update_tool_result(ctx.tool_call_id, row)


def customer(number: int) -> dict[str, Any]:
    """Look a customer up."""
    return {"number": number, "name": "Ann", "password_hash": "x9f3", "note": "prefers ann@example.org"}


model = ScriptedModel([Reply(tool_calls=[{"name": "customer", "args": {"number": 7}}]), "Customer 7 is Ann."])
agent = Agent("clerk", model=model, tools=[customer], output_processors=[DropColumns("password_hash"), PIIDetector()])

if __name__ == "__main__":
    result = agent.generate_sync("Who is customer 7?")
    print(result.steps[0].tool_results[0].result)
    print(result.text)
