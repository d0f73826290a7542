"""`python -m tests.integration.modelserver`: a provider to try things with, until it is interrupted.

It speaks both protocols, slowly enough to see the answer stream: it calls the first tool it
is offered, then tells what the tool said; without tools it repeats the newest text.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from tests.integration.modelserver import Answer, ModelServer, Pause, Received, anthropic, chat
from tests.integration.modelserver._answers import Step

DELAY_S = 0.05


def respond(request: Received) -> Answer:
    """Answer as the request's path and messages say."""
    body = request.json
    if request.path.endswith("/messages"):
        return slowly(anthropic(*words(newest(body["messages"]))))
    last = body["messages"][-1]
    if last["role"] == "tool":
        return slowly(chat(*words(f"The tool said: {last['content']}"), usage=True))
    if body.get("tools"):
        function = body["tools"][0]["function"]
        return slowly(chat(call(function), reason="tool_calls", usage=True))
    return slowly(chat(*words(newest(body["messages"])), usage=True))


def newest(messages: list[dict[str, Any]]) -> str:
    """Return the newest text of the user."""
    content = next(m["content"] for m in reversed(messages) if m["role"] == "user")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def words(text: str) -> list[str]:
    """Cut a text into deltas."""
    return [word + " " for word in text.split(" ")]


def call(function: dict[str, Any]) -> dict[str, Any]:
    """Return a delta that calls a tool, its required arguments all filled in."""
    examples = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
    schema = function["parameters"]
    kinds = {name: field.get("type", "string") for name, field in schema.get("properties", {}).items()}
    args = {name: examples[kinds[name]] for name in schema.get("required", [])}
    made = {"name": function["name"], "arguments": json.dumps(args)}
    return {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": made}]}


def slowly(answer: Answer) -> Answer:
    """Return the answer with a pause before each event."""
    steps: list[Step] = [b": hello\n\n"]
    for step in answer.steps:
        steps += [Pause(DELAY_S), step]
    return Answer(steps)


def main() -> None:
    """Serve until interrupted."""
    with ModelServer() as server:
        server.respond(respond)
        sys.stdout.write(f"{server.url}#m\n")
        sys.stdout.flush()
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
