"""`EnsureFinalResponse`: the last step is an answer."""

from __future__ import annotations

import pytest

from sluiceway.models import Reply
from sluiceway.processors import EnsureFinalResponse
from tests.support.runs import Entry, by, calls_tool, each_entry, lines, make_agent, parts_of
from tests.support.storing import THREAD, new_memory, stored

pytestmark = pytest.mark.anyio


def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize(("option", "agents", "last"), [(None, 3, 3), (2, 5, 2), (9, 2, 2), (1, 4, 1)])
@each_entry
async def test_the_last_step_has_a_reminder_and_no_tools(
    entry: Entry, option: int | None, agents: int, last: int
) -> None:
    calls = [Reply(tool_calls=[calls_tool("look", id=f"c{n}")]) for n in range(last - 1)]
    memory = new_memory()
    agent, model = make_agent(
        *calls, "answer", tools=[look], memory=memory, input_processors=[EnsureFinalResponse(option)], max_steps=agents
    )

    ran = await by(entry, agent, "q", memory=THREAD)

    assert [call.tool_choice for call in model.calls] == [*[None] * (last - 1), "none"]
    reminded = ["<system-reminder>This is the last step" in lines(prompt)[-1] for prompt in model.prompts]
    assert reminded == [*[False] * (last - 1), True]
    assert ran.result.text == "answer"
    assert all("last step" not in str(part) for message in parts_of(ran.result) for part in message)
    assert all("last step" not in line for line in await stored(memory))
