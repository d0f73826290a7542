"""An agent whose answers are kept in Redis: the same question, asked again, costs no model call.

Start a server (`redis-server`, or set REDIS_URL), then ask twice, each time in a new process:

    .venv/bin/python examples/response_cache.py "What is a sluice?"
    .venv/bin/python examples/response_cache.py "What is a sluice?"

Runs offline: a scripted model answers. It says how often it was asked.
"""

import os
import sys

from sluiceway import Agent
from sluiceway.models import ScriptedModel
from sluiceway.processors import RedisCache, ResponseCache

model = ScriptedModel(["A gate that lets through as much water as you want."])
cache = RedisCache(os.environ.get("REDIS_URL", "redis://localhost:6379/0"))

agent = Agent(
    id="cached",
    instructions="Answer in one sentence.",
    model=model,
    input_processors=[ResponseCache(cache, ttl=600)],
)

if __name__ == "__main__":
    question = " ".join(sys.argv[1:]) or "What is a sluice?"
    print(agent.generate_sync(question).text)
    print(f"model calls: {len(model.calls)}")
